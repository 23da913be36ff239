"""Explanations kept beside the results, for the pages: Markdown by what it explains."""

from __future__ import annotations

from pathlib import Path

from attnkern.cases import Formulation
from attnkern.codegen.compile import KERNEL
from attnkern.explain import reports
from attnkern.explain.explanation import Explanation
from attnkern.findings.finding import Finding
from attnkern.findings.recorded import RESULTS
from attnkern.findings.records import target_of
from attnkern.home import write_file
from attnkern.timing.measurement import PORTED_TARGET


def write(explanation: Explanation) -> Path:
    path = path_of(
        RESULTS, explanation.before.commit, explanation.after.commit, explanation.case,
        explanation.after.formulation, explanation.target,
    )  # fmt: skip
    write_file(path, reports.markdown(explanation, KERNEL.read_text().splitlines()).encode())
    return path


def of_finding(results: Path, finding: Finding) -> str | None:
    """The Markdown kept for a finding's artifact and step, if there is any."""
    path = path_of(results, *step_of(finding))
    return path.read_text() if path.exists() else None


def step_of(finding: Finding) -> tuple[str, str, str, Formulation, str]:
    """(commit before, commit after, case, formulation, target): what there is to explain about a finding."""
    place = finding.place
    target = place.name
    if place.measured:
        target = PORTED_TARGET if place.code == "ported" else target_of(place.gpu)
    return finding.since.commit, finding.moment.commit, finding.case, finding.formulation, target


def path_of(results: Path, since: str, commit: str, case: str, formulation: str, target: str) -> Path:
    folder = results / "compiler" / "explanations"
    return folder / f"{since[:8]}-{commit[:8]}-{case}-{formulation}-{target}.md"
