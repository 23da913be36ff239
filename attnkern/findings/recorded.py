"""All that is recorded, judged: what the gate and the pages start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnkern.findings import acknowledge
from attnkern.findings.find import Report, find
from attnkern.findings.finding import Finding
from attnkern.findings.records import read_records
from attnkern.findings.series import Moment
from attnkern.home import CHECKOUT
from attnkern.revisions.history import Revision

RESULTS = CHECKOUT / "results"


@dataclass(frozen=True)
class Recorded:
    report: Report
    findings: tuple[Finding, ...]
    """The report's, the acknowledged ones marked."""
    notes: tuple[str, ...]
    """Of acknowledgements: stale ones, and findings that came back."""
    warnings: tuple[str, ...]
    """What could not be read."""


def recorded(revisions: Sequence[Revision], results: Path = RESULTS) -> Recorded:
    """What the rules find of these revisions (oldest first); raises UserError for a wrong findings.toml."""
    moments = [Moment(revision.commit, revision.name, revision.release.uploaded.isoformat()) for revision in revisions]
    records = read_records(results, moments)
    report = find(records.moments, records.series)
    known = acknowledge.apply(report.findings, acknowledge.read(results / acknowledge.FILE))
    return Recorded(report, known.findings, known.notes, tuple(records.warnings))
