"""`attnkern explain`: why two artifacts differ, for people, bug reports and programs."""

from __future__ import annotations

import functools
import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from attnkern import progress
from attnkern.cases import FORMULATIONS, Formulation, case_named
from attnkern.codegen import build
from attnkern.codegen.artifact import Key
from attnkern.codegen.compile import KERNEL
from attnkern.codegen.gpus import target_named
from attnkern.errors import FailedError, UserError
from attnkern.explain import explain, recorded, reports
from attnkern.explain.explanation import as_json
from attnkern.explain.neighbours import tried
from attnkern.explain.reproducer import reproducer
from attnkern.findings.recorded import RESULTS
from attnkern.findings.recorded import recorded as judged
from attnkern.findings.rules import SEVERITIES
from attnkern.options import split
from attnkern.revisions import history
from attnkern.revisions.history import Revision
from attnkern.revisions.select import select

explain_app = typer.Typer()


@explain_app.command("explain")
def explain_command(
    revisions: Annotated[
        list[str],
        typer.Argument(metavar="REV [REV]", help="One: its direct form beside its transposed one. Two: what changed."),
    ],
    case: Annotated[str, typer.Option("--case", help="A case, or a neighbour of one (seed+n64+r255).")] = "seed",
    target: Annotated[str, typer.Option("--target", help="sm_80, sm_90, …")] = "sm_80",
    formulation: Annotated[
        str, typer.Option("--formulation", help="Of two revisions: direct, transposed, or both.")
    ] = "both",
    assemblers: Annotated[
        str, typer.Option("--assemblers", metavar="REV…", help="More revisions' ptxas for the matrix, or all.")
    ] = "",
    launches: Annotated[
        bool, typer.Option("--launches", help="Compile neighbouring launch configurations, and list what helps.")
    ] = False,
    script: Annotated[
        bool, typer.Option("--reproducer", help="Print a script that shows it with nothing but that Triton.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="For a bug report.")] = False,
    html: Annotated[bool, typer.Option("--html", help="A page.")] = False,
    as_json_: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    recording: Annotated[
        bool, typer.Option("--record", help="Keep it beside the results, for the pages of findings.")
    ] = False,
) -> None:
    """Why is one artifact not as another: which stage, which pass, whose change, at what cost, and what helps."""
    if markdown + html + as_json_ + script > 1:
        raise UserError("--markdown, --html, --json and --reproducer are different outputs: choose one")
    known = history.revisions()
    chosen = [one_of(known, name) for name in revisions]
    if len(chosen) not in (1, 2):
        raise UserError("explain takes one revision or two")
    case_named(case)
    target = target_named(target)
    forms = formulations(formulation)
    pairs = (
        [((chosen[0], Key(case, "transposed", target)), (chosen[0], Key(case, "direct", target)))]
        if len(chosen) == 1
        else [tuple((revision, Key(case, form, target)) for revision in chosen) for form in forms]
    )
    if script:
        print(reproducer(chosen[-1].name, case, forms[0], target), end="")
        return
    others = select(known, [assemblers]) if assemblers else []
    make(chosen, case, target)
    found = [
        explain.explain(explain.subject(*before), explain.subject(*after), known, others, RESULTS)
        for before, after in pairs
    ]
    helping = (
        tried(chosen[-1], case, target, RESULTS, functools.partial(make_selection, chosen[-1:])) if launches else []
    )
    if recording:
        for one in found:
            recorded.write(one)
    if as_json_:
        data = [as_json(one) for one in found]
        print(
            json.dumps(
                {"format": 1, "explanations": data, "launches": [vars(one) for one in helping]},
                indent=1,
                allow_nan=False,
            )
        )
        return
    kernel = KERNEL.read_text().splitlines()
    texts = [reports.markdown(one, kernel, helping if one is found[-1] else ()) for one in found]
    show("\n".join(texts), markdown, html)


@explain_app.command("explain-findings")
def explain_findings_command(
    severity: Annotated[
        str, typer.Option("--severity", metavar="LIST", help="Of which severities.")
    ] = "critical,major",
) -> None:
    """Explain the findings that have no explanation yet, and keep each for the pages (about 10 s each)."""
    wanted = split(severity)
    if unknown := set(wanted) - set(SEVERITIES):
        raise UserError(f"unknown severity {', '.join(sorted(unknown))}: choose from {', '.join(SEVERITIES)}")
    known = history.revisions()
    by_commit = {revision.commit: revision for revision in known}
    found = [finding for finding in judged(known).findings if finding.severity in wanted]
    steps = dict.fromkeys(recorded.step_of(finding) for finding in found)
    lacking = [step for step in steps if not recorded.path_of(RESULTS, *step).exists()]
    for place, (since, commit, case, form, target) in enumerate(lacking, 1):
        before, after = by_commit[since], by_commit[commit]
        print(
            f"attnkern: {place} of {len(lacking)}: {before.name} to {after.name}, {case} {form} {target}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        make([before, after], case, target)
        key = Key(case, form, target)
        recorded.write(explain.explain(explain.subject(before, key), explain.subject(after, key), known, [], RESULTS))
    print(f"attnkern: {len(lacking)} explained, {len(steps) - len(lacking)} were before", file=sys.stderr)


def show(text: str, markdown: bool, html: bool) -> None:
    if markdown:
        print(text, end="")
    elif html:
        print(
            f'<!doctype html><meta charset="utf-8"><title>attnkern: explanation</title>\n{reports.html(text)}', end=""
        )
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(Markdown(text))


def one_of(known: list[Revision], name: str) -> Revision:
    found = select(known, [name])
    if len(found) != 1:
        raise UserError(f"explain takes one revision or two, and {name} is {len(found)}: name its ends")
    return found[0]


def formulations(name: str) -> list[Formulation]:
    if name == "both":
        return list(FORMULATIONS)
    if name not in FORMULATIONS:
        raise UserError(f"unknown formulation {name!r}: choose from {', '.join(FORMULATIONS)}, or both")
    return ["direct" if name == "direct" else "transposed"]


def make(revisions: list[Revision], case: str, target: str) -> None:
    make_selection(revisions, build.Selection((case_named(case),), (target,)))


def make_selection(revisions: list[Revision], selection: build.Selection) -> None:
    """Bring the store up to what is asked for; raises FailedError where a Triton can't be had."""
    with progress.shown() as listen:
        errors = build.build(revisions, selection, build.BuildOptions(), listen)
    for revision in revisions:
        if revision.commit in errors:
            raise FailedError(str(errors[revision.commit]))
