"""The command line, thin: options in, a call, a table or JSON out.

Exit codes: 0 done (a compile that failed is data), 1 something needed could not be had (network, disk, a
damaged file), 2 the request itself is wrong, 3 the gate of `findings --fail-on` found something, 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from attnkern import progress, report, suite
from attnkern.codegen import build, record, store
from attnkern.codegen.artifact import Artifact
from attnkern.codegen.compile import Limits
from attnkern.codegen.gpus import GPUS, REFERENCE, SUITE_TARGETS, gpu_named
from attnkern.errors import FailedError, UserError
from attnkern.explain.commands import explain_app
from attnkern.findings.commands import findings_app
from attnkern.home import CHECKOUT, write_file
from attnkern.options import (
    CORES,
    AsJson,
    Cases,
    Jobs,
    Keep,
    Memory,
    Retry,
    Revisions,
    Targets,
    Timeout,
    limits,
    selected,
)
from attnkern.revisions import history, index
from attnkern.revisions.history import Revision
from attnkern.revisions.release import NoWheelError
from attnkern.revisions.select import select
from attnkern.timing.commands import timing_app

app = typer.Typer(
    help="Which Triton made this kernel slow, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(timing_app)
app.add_typer(findings_app)
app.add_typer(explain_app)
history_app = typer.Typer(help="Triton's revisions, as the repository that asv walks.", no_args_is_help=True)
app.add_typer(history_app, name="history")

INTERRUPTED = 130
SUITE = ",".join(SUITE_TARGETS)


def main() -> None:
    try:
        app()
    except UserError as error:
        print(f"attnkern: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer's own answer to a Ctrl-C, without a word
            print("attnkern: stopped; what was finished is kept", file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)  # without waiting for a thread that waits for the network
        raise
    except OSError as error:
        print(f"attnkern: {error}", file=sys.stderr)
        sys.exit(1)


@history_app.command("sync")
def history_sync(
    offline: Annotated[bool, typer.Option("--offline", help="Use the committed lock file alone.")] = False,
) -> None:
    """Bring history.git up to date with the package index."""
    done = history.sync(offline)
    if done.index_failure:
        print(f"attnkern: from the lock file, not the index: {done.index_failure}", file=sys.stderr)
    newest = done.revisions[-1]
    print(f"{len(done.revisions)} releases, {len(done.new)} new, newest {newest.name} ({newest.commit[:12]})")


@history_app.command("list")
def history_list(
    revisions: Annotated[list[str] | None, typer.Argument(metavar="[REV…]")] = None, as_json: AsJson = False
) -> None:
    """The revisions, oldest first."""
    chosen = select(history.revisions(), revisions or ["all"])
    if as_json:
        entries = [{"commit": r.commit, "release": r.name, "uploaded": r.release.uploaded.isoformat()} for r in chosen]
        print(json.dumps(entries, indent=1))
        return
    for revision in chosen:
        print(f"{revision.commit}  {revision.release.uploaded:%Y-%m-%d}  {revision.name}")


@history_app.command("lock")
def history_lock() -> None:
    """Write the lock file anew: what is in it, and the releases that the index has beyond it."""
    releases = [revision.release for revision in history.sync().revisions]
    path = CHECKOUT / "attnkern" / "revisions" / index.LOCK
    write_file(path, index.lock_text(releases).encode())
    print(f"{len(releases)} releases in {path.relative_to(CHECKOUT)}")


@app.command("bundle")
def bundle_command(
    revisions: Revisions,
    cases: Cases = "all",
    targets: Targets = SUITE,
    jobs: Jobs = CORES,
    keep: Keep = False,
    retry_failures: Retry = False,
    timeout: Timeout = Limits.timeout_s,
    memory: Memory = Limits.memory_bytes / 2**30,
    out: Annotated[Path | None, typer.Option("--out", help="Write each bundle there as a wheel.")] = None,
) -> None:
    """Compile what is missing of these revisions' bundles."""
    chosen = select(history.revisions(), revisions)
    selection = selected(cases, targets)
    options = build.BuildOptions(jobs, keep, retry_failures, limits(timeout, memory))
    complain(chosen, make(chosen, selection, options))
    if out is not None:
        for revision in chosen:
            print(build.write_bundle(revision, selection, out / revision.name))


@app.command("profile")
def profile_command(
    revisions: Revisions,
    cases: Cases = "seed",
    targets: Targets = "sm_80",
    gpu: Annotated[str | None, typer.Option("--gpu", help=f"Whose limits and bandwidth: {', '.join(GPUS)}.")] = None,
    jobs: Jobs = CORES,
    keep: Keep = False,
    timeout: Timeout = Limits.timeout_s,
    memory: Memory = Limits.memory_bytes / 2**30,
    as_json: AsJson = False,
) -> None:
    """What the compilers emitted: registers, spills, the floor that they set, and whether it launches."""
    chosen = select(history.revisions(), revisions)
    selection = selected(cases, targets)
    if gpu is not None:
        for target in selection.targets:
            if not gpu_named(gpu).runs(target):
                raise UserError(f"{gpu} does not run code for {target}: leave --gpu out, or choose another target")
    options = build.BuildOptions(jobs, keep, limits=limits(timeout, memory))
    errors = make(chosen, selection, options)
    rows = [row for revision in chosen for row in rows_of(revision, selection, gpu)]
    if as_json:
        print(json.dumps([report.as_json(row) for row in rows], indent=1))
    else:
        print_tables(rows, selection)
    complain(chosen, errors)


@app.command("bench")
def bench_command(
    releases: Annotated[str, typer.Option("--releases", help="Like 3.2.0..3.4.0, or all.")] = "all",
    cases: Cases = "seed",
    targets: Targets = SUITE,
    jobs: Jobs = CORES,
    keep: Keep = False,
    retry_failures: Retry = False,
    timeout: Timeout = Limits.timeout_s,
    memory: Memory = Limits.memory_bytes / 2**30,
) -> None:
    """Compile, record with `asv run`, publish with `asv publish`, and print the first case as a table."""
    selection = selected(cases, targets)
    suite.check(selection)
    synced = history.sync()
    if synced.index_failure:
        print(f"attnkern: releases from the lock file, not the index: {synced.index_failure}", file=sys.stderr)
    chosen = select(synced.revisions, [releases])
    options = build.BuildOptions(jobs, keep, retry_failures, limits(timeout, memory))
    errors = make(chosen, selection, options)
    suite.record([revision for revision in chosen if revision.commit not in errors], selection, jobs)
    suite.publish()
    first = build.Selection(selection.cases[:1], selection.targets)
    print_tables([row for revision in chosen for row in rows_of(revision, first, None)], first)
    print(f"findings and graphs: open {suite.PAGES.relative_to(CHECKOUT)}/findings/index.html")
    complain(chosen, errors)


@app.command("asv-build", hidden=True)
def asv_build(commit: str, folder: Path) -> None:
    """asv's build step: the bundle of a commit, as the only wheel in that folder."""
    revision = select(history.revisions(), [commit])[0]
    selection = selected(os.environ.get("ATTNKERN_CASES", "all"), os.environ.get("ATTNKERN_TARGETS", SUITE))
    complain([revision], make([revision], selection, build.BuildOptions(jobs_wanted())))
    build.write_bundle(revision, selection, folder)
    record.record(revision, selection, suite.RESULTS)


def make(revisions: list[Revision], selection: build.Selection, options: build.BuildOptions) -> dict[str, UserError]:
    """Build with progress on standard error; returns why a Triton could not be had, for `complain`."""
    with progress.shown() as listen:
        return build.build(revisions, selection, options, listen)


def complain(revisions: list[Revision], errors: dict[str, UserError]) -> None:
    """Say why each Triton that is missing could not be had, and fail.

    A range that holds a few releases which have no wheel for this Python is no failure.
    """
    missing = [revision for revision in revisions if revision.commit in errors]
    for revision in missing:
        said = str(errors[revision.commit]).removeprefix(f"Triton {revision.name} ")
        print(f"attnkern: Triton {revision.name}: {said}", file=sys.stderr)
    beyond_this_python = [isinstance(errors[revision.commit], NoWheelError) for revision in missing]
    if missing and not (all(beyond_this_python) and len(missing) < len(revisions)):
        raise FailedError(f"{len(missing)} of {len(revisions)} revisions could not be compiled")


def jobs_wanted() -> int:
    """$ATTNKERN_JOBS, or the cores."""
    given = os.environ.get("ATTNKERN_JOBS", str(CORES))
    if not given.isdigit() or int(given) < 1:
        raise UserError(f"ATTNKERN_JOBS is {given!r}: set it to a number of compiles at the same time")
    return int(given)


def print_tables(rows: list[report.Row], selection: build.Selection) -> None:
    """One table per case and target."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    for case in selection.cases:
        for target in selection.targets:
            some = [row for row in rows if (row.outcome.key.case, row.outcome.key.target) == (case.name, target)]
            if some:
                console.print(report.table(some, f"case {case.name}, code for {target}, on {some[0].gpu.name}"))


def rows_of(revision: Revision, selection: build.Selection, gpu: str | None) -> list[report.Row]:
    return [
        report.Row(
            revision,
            outcome,
            build.profiled(revision, outcome) if isinstance(outcome, Artifact) else None,
            store.costs(revision.commit, outcome.key),
            gpu_named(gpu or REFERENCE[outcome.key.target]),
        )
        for outcome in build.outcomes(revision, selection)
    ]
