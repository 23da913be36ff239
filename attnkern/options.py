"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from attnkern.cases import CASES, case_named
from attnkern.codegen import build
from attnkern.codegen.compile import Limits
from attnkern.codegen.gpus import target_named
from attnkern.errors import UserError

Revisions = Annotated[
    list[str], typer.Argument(metavar="REV…", help="A release, A..B, a commit of the history, or all.")
]
Cases = Annotated[str, typer.Option("--cases", "--case", help=f"Comma-separated, or all: {', '.join(CASES)}.")]
Targets = Annotated[str, typer.Option("--targets", "--target", help="Comma-separated: sm_80, sm_90, …")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Compiles at the same time.")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the unpacked Tritons for the next time (up to 0.7 GB each).")]
Retry = Annotated[bool, typer.Option("--retry-failures", help="Compile again what failed before.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds after which a compile counts as hung.")]
Memory = Annotated[
    float, typer.Option("--memory", min=0.1, max=65536, help="GiB of address space that a compile may take.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable.")]

CORES = os.cpu_count() or 1


def selected(cases: str, targets: str) -> build.Selection:
    names = list(CASES) if cases == "all" else split(cases)
    return build.Selection(
        tuple(dict.fromkeys(case_named(name) for name in names)),
        tuple(dict.fromkeys(target_named(name) for name in split(targets))),
    )


def split(names: str) -> list[str]:
    """A comma-separated list; raises UserError for an empty one."""
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise UserError("an empty list of cases or targets: name at least one")
    return found


def limits(timeout_s: float, memory_gib: float) -> Limits:
    return Limits(timeout_s, int(memory_gib * 2**30))
