"""The commands that time: `measure` on a GPU machine, `results` anywhere, `anchor` where Triton compiles."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from attnkern.cases import CASES
from attnkern.codegen import build, store
from attnkern.codegen.artifact import Artifact, Key
from attnkern.codegen.gpus import SUITE_TARGETS
from attnkern.errors import FailedError, UserError
from attnkern.options import AsJson, Cases, selected, split
from attnkern.revisions import history
from attnkern.revisions.history import Revision
from attnkern.revisions.select import select
from attnkern.timing import anchor, bundles, record, report
from attnkern.timing.measurement import Measurement
from attnkern.timing.series import CODES
from attnkern.timing.session import Job, Session

timing_app = typer.Typer()

Bundles = Annotated[
    Path | None,
    typer.Option("--bundles", help="A folder of bundles, in place of the store: all that a GPU machine needs."),
]
INPUTS = ("normal", "issue")


@timing_app.command("measure")
def measure_command(
    revisions: Annotated[list[str], typer.Argument(metavar="REV…", help="A release, A..B, a commit, or all.")],
    cases: Cases = "seed",
    codes: Annotated[str, typer.Option("--codes", "--code", help="native, or ported (sm_80 PTX), or both.")] = "native",
    bundle_folder: Bundles = None,
    inputs: Annotated[
        str, typer.Option(help="normal (checked), or issue: the issue's own, for timing alone.")
    ] = "normal",
    budget: Annotated[float, typer.Option("--budget", min=0.05, help="Seconds of sampling at most, per case.")] = 3.0,
    recording: Annotated[bool, typer.Option("--record", help="Write asv results for these commits.")] = False,
    machine: Annotated[str, typer.Option("--machine", help="The name to record under.")] = "",
    check_jit: Annotated[
        bool, typer.Option("--check-jit", help="Compare with an installed Triton's own JIT, and with do_bench.")
    ] = False,
    processes: Annotated[int, typer.Option("--processes", min=1, help="Fresh processes of --check-jit.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Time revisions' code on this machine's GPU, each result checked against float64 first."""
    if inputs not in INPUTS:
        raise UserError(f"unknown inputs {inputs!r}: choose from {', '.join(INPUTS)}")
    if unknown := set(split(codes)) - set(CODES):
        raise UserError(f"unknown code {', '.join(sorted(unknown))}: choose from {', '.join(CODES)}")
    if recording and not machine:
        raise UserError("--record needs a name to record under: give --machine")
    selection = selected(cases, ",".join(SUITE_TARGETS))
    if recording and (others := [case.name for case in selection.cases if case.name not in CASES]):
        raise UserError(f"only the suite's own cases are recorded, not {others[0]}: leave --record out")
    with chosen(revisions, bundle_folder, selection) as (picked, packages):
        if check_jit:
            compare_with_jit(packages, picked, processes)
            return
        jobs = [
            Job(packages[revision.commit], case.name, code, inputs, budget)  # type: ignore[arg-type]
            for case in selection.cases
            for code in CODES
            if code in split(codes)
            for revision in picked
        ]
        found = measure(jobs, machine if recording else None)
    if recording:
        record.check_recordable(found)
        written = record.record(found, machine)
        print(f"attnkern: recorded {len(found)} measurements in {len(written)} result files", file=sys.stderr)
    show(found, as_json)


def measure(jobs: list[Job], machine: str | None) -> list[Measurement]:
    """Measure all; a name to record under is checked after the first, before anything is written."""
    found = []
    with Session() as session:
        for place, job in enumerate(jobs, 1):
            measured = session.measure(job)
            found.append(measured)
            if machine and place == 1:
                record.check_machine(machine, measured.machine["gpu"])
            print(f"attnkern: {place} of {len(jobs)}: {report.line(measured)}", file=sys.stderr, flush=True)
    return found


@contextlib.contextmanager
def chosen(
    revisions: list[str], folder: Path | None, selection: build.Selection
) -> Iterator[tuple[list[Revision], dict[str, Path]]]:
    """(revisions, their packages) from a folder of bundles, or from the store."""
    if folder is not None:
        with bundles.in_folder(folder) as (known, packages):
            yield select(known, revisions), packages
    else:
        picked = select(history.revisions(), revisions)
        with bundles.from_store(picked, selection) as packages:
            yield picked, packages


@timing_app.command("results")
def results_command(
    machine: Annotated[str, typer.Option("--machine", help="Whose recordings.")],
    cases: Cases = "seed",
    as_json: AsJson = False,
) -> None:
    """What was recorded on a machine, by release and formulation."""
    found = [m for case in selected(cases, "sm_80").cases for m in record.recorded(machine, case.name)]
    show(found, as_json)


@timing_app.command("anchor", hidden=True)
def anchor_command() -> None:
    """Write the anchor's artifacts into the package, from the store."""
    revision = select(history.revisions(), [anchor.RELEASE])[0]
    for target in SUITE_TARGETS:
        outcome = store.load(revision.commit, Key(anchor.CASE, "transposed", target))
        if not isinstance(outcome, Artifact):
            raise FailedError(f"the store lacks the anchor: `attnkern bundle {anchor.RELEASE}` first")
        anchor.write(outcome, store.read(revision.commit, outcome, "kernel.cubin"))


def show(measurements: list[Measurement], as_json: bool) -> None:
    if as_json:
        print(json.dumps([entry for m in measurements for entry in report.as_json(m)], indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else 170)
    for case in dict.fromkeys(m.case for m in measurements):
        for code in CODES:
            some = [m for m in measurements if (m.case, m.code) == (case, code)]
            if some:
                console.print(report.table(some))


def compare_with_jit(packages: dict[str, Path], revisions: list[Revision], processes: int) -> None:
    """Both comparisons for the one revision whose Triton is installed here."""
    if len(revisions) != 1:
        raise UserError("--check-jit takes one revision: that of the Triton which is installed here")
    package = packages[revisions[0].commit]
    compared = jit_process(package, "compare")
    if compared["triton"] != compared["bundle"]:
        raise UserError(f"Triton {compared['triton']} is installed here, not {compared['bundle']}: name that one")
    print(report.jit_comparison(compared))
    spreads = {mode: [jit_process(package, mode) for _ in range(processes)] for mode in ("do_bench", "bundle")}
    print(report.spread_table(spreads))


def jit_process(package: Path, mode: str) -> dict[str, float | str | dict[str, float]]:
    answer = subprocess.run(
        [sys.executable, "-m", "attnkern.timing.jit", package, mode], stdout=subprocess.PIPE, text=True, check=False
    )
    if answer.returncode != 0:
        raise FailedError(f"the comparison with the JIT failed in its step {mode!r}: see above")
    found: dict[str, float | str | dict[str, float]] = json.loads(answer.stdout.splitlines()[-1])
    return found
