"""`attnkern findings`: the gate. Options in, files read, a table or a feed out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from attnkern.errors import FailedError, UserError
from attnkern.findings import reports
from attnkern.findings.find import Coverage, Report
from attnkern.findings.finding import Finding
from attnkern.findings.recorded import recorded
from attnkern.findings.rules import KINDS
from attnkern.revisions import history
from attnkern.revisions.select import position

GATE_FAILED = 3

findings_app = typer.Typer()


@findings_app.command("findings")
def findings_command(
    since: Annotated[str | None, typer.Option("--since", metavar="REV", help="Only after this revision.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="For a pull request or a job's summary.")] = False,
    junit: Annotated[bool, typer.Option("--junit", help="JUnit's XML: the gate's findings as failures.")] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on", metavar="KIND", help="Exit with 3 for a finding of this kind (repeat, or commas; `all-bad`)."
        ),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="What makes a finding, in words.")] = False,
) -> None:
    """What changed between revisions, worst first, from the recorded results."""
    if rules:
        print(reports.rules())
        return
    if as_json + markdown + junit > 1:
        raise UserError("--json, --markdown and --junit are three outputs: choose one")
    gate = kinds_of(fail_on or [])
    revisions = history.revisions()
    known = recorded(revisions)
    report = known.report
    for said in (*known.warnings, *known.notes):
        print(f"attnkern: {said}", file=sys.stderr)
    later = revisions if since is None else revisions[position(revisions, since) + 1 :]
    if not later:
        print(f"attnkern: no revision is newer than {since}: nothing to judge", file=sys.stderr)
    commits = {revision.commit for revision in later}
    shown = [finding for finding in known.findings if finding.moment.commit in commits]
    coverage = report.coverage(commits)
    failing = [finding for finding in shown if finding.kind in gate and not finding.acknowledged]
    if as_json:
        print(reports.to_json(report, shown, coverage, known.notes), end="")
    elif markdown:
        print(reports.markdown(shown, coverage, known.notes), end="")
    elif junit:
        print(reports.junit(report, shown, failing), end="")
    else:
        print_table(shown, report, coverage)
    if later and not coverage.judged and gate:
        raise FailedError("nothing could be judged, so the gate has nothing to stand on: record results first")
    if failing:
        print(f"attnkern: {len(failing)} findings of {', '.join(sorted({f.kind for f in failing}))}", file=sys.stderr)
        raise typer.Exit(GATE_FAILED)


def print_table(findings: Sequence[Finding], report: Report, coverage: Coverage) -> None:
    console = Console(width=None if sys.stdout.isatty() else 200)
    if findings:
        console.print(reports.table(findings))
    if not coverage.judged:
        print("nothing could be judged: nothing is recorded there (scripts/bench records the compiler's figures)")
        return
    print(f"{len(findings)} findings; {coverage}")
    if not coverage.exact:
        print("no compiler's figures are recorded here, so causes and identical code are unknown: run scripts/bench")
    for place, gauge in report.gauges.items():
        if not gauge.times.pairs:
            print(f"noise of {place.label}: unknown, no two neighbouring runs are known to be of identical code")
            continue
        print(
            f"noise of {place.label}: times {gauge.times.relative:.3%} ({gauge.times.pairs} pairs of runs of identical"
            f" code), gaps {gauge.gaps.relative:.3%} ({gauge.gaps.pairs})"
        )


def kinds_of(names: Sequence[str]) -> set[str]:
    """The kinds that a gate fails on; raises UserError for an unknown one."""
    chosen: set[str] = set()
    for name in [part.strip() for given in names for part in given.split(",") if part.strip()]:
        if name == "all-bad":
            chosen |= {kind for kind, meaning in KINDS.items() if not meaning.good}
        elif name in KINDS:
            chosen.add(name)
        else:
            raise UserError(f"unknown kind {name!r}: choose from {reports.kinds()}, or all-bad")
    if names and not chosen:
        raise UserError("--fail-on names no kind: leave it out, or name one")
    return chosen
