"""What people and programs read of profiles: rows, the table in a terminal, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from attnkern.codegen.artifact import Artifact, Costs, Failure, Outcome
from attnkern.codegen.gpus import GPUS, Gpu
from attnkern.codegen.profile import Profile, fit
from attnkern.revisions.history import Revision


@dataclass(frozen=True)
class Row:
    """One outcome of one revision; `profile` is there for an artifact, `costs` for both."""

    revision: Revision
    outcome: Outcome
    profile: Profile | None
    costs: Costs
    gpu: Gpu


def as_json(row: Row) -> dict[str, Any]:
    """The object that `attnkern profile --json` prints; every key is there for a failure too, as null."""
    outcome = row.outcome
    data: dict[str, Any] = {
        "release": row.revision.name,
        "commit": row.revision.commit,
        "case": outcome.key.case,
        "formulation": outcome.key.formulation,
        "target": outcome.key.target,
        "status": outcome.stage if isinstance(outcome, Failure) else "ok",
        "failure": {"kind": outcome.kind, "message": outcome.message} if isinstance(outcome, Failure) else None,
        "compile_seconds": row.costs.wall_s,
        "compile_cpu_seconds": row.costs.cpu_s,
        "compile_peak_bytes": row.costs.peak_bytes,
    }
    return data | artifact_figures(row.profile, row.gpu)


def artifact_figures(profile: Profile | None, gpu: Gpu) -> dict[str, Any]:
    if profile is None:
        return dict.fromkeys(ARTIFACT_KEYS)
    artifact, sass, here = profile.artifact, profile.sass, fit(profile, gpu)
    figures = {
        "registers": artifact.ptxas.registers,
        "stack_bytes": artifact.ptxas.stack_bytes,
        "spill_store_bytes": artifact.ptxas.spill_store_bytes,
        "spill_load_bytes": artifact.ptxas.spill_load_bytes,
        "shared_bytes": artifact.shared_bytes,
        "code_bytes": sass.code_bytes,
        "layout_conversions": artifact.layout_conversions,
        "loop_local_load_bytes": sass.loop_local_load_bytes,
        "loop_local_store_bytes": sass.loop_local_store_bytes,
        "local_bytes_per_launch": profile.local_bytes_per_launch,
        "instructions": sass.mix,
        "loop_instructions": sass.loop_mix,
        "ptxas": artifact.ptxas.version,
        "gpu": gpu.name,
        "launchable": here.launchable,
        "launch_obstacle": here.obstacle,
        "programs_per_sm": here.programs_per_sm,
        "occupancy": here.occupancy,
        "spill_floor_ms": here.spill_floor_ms,
        "spill_floor_level": here.spill_floor_level,
        "gpus": {
            other.name: {
                "launchable": there.launchable,
                "programs_per_sm": there.programs_per_sm,
                "occupancy": there.occupancy,
                "spill_floor_ms": there.spill_floor_ms,
                "spill_floor_level": there.spill_floor_level,
            }
            for other in GPUS.values()
            if other.runs(artifact.key.target)
            for there in [fit(profile, other)]
        },
    }
    assert tuple(figures) == ARTIFACT_KEYS
    return figures


ARTIFACT_KEYS = (
    "registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "shared_bytes", "code_bytes",
    "layout_conversions", "loop_local_load_bytes", "loop_local_store_bytes", "local_bytes_per_launch",
    "instructions", "loop_instructions", "ptxas", "gpu", "launchable", "launch_obstacle", "programs_per_sm",
    "occupancy", "spill_floor_ms", "spill_floor_level", "gpus",
)  # fmt: skip


def table(rows: Sequence[Row], title: str) -> Table:
    """One line per revision and formulation; a failure says its stage and message across the figures."""
    printed = Table(title=title, title_justify="left", caption_justify="left", caption=CAPTION)
    for name, justify in COLUMNS:
        last = name == COLUMNS[-1][0]  # the only one that may fold; a cut figure would be another figure
        printed.add_column(name, justify=justify, no_wrap=not last, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        printed.add_row(*cells(row))
    return printed


COLUMNS = (
    ("release", "left"), ("formulation", "left"), ("registers", "right"), ("stack B", "right"), ("shared B", "right"),
    ("local GB/launch", "right"), ("floor ms", "right"), ("conversions", "right"), ("launches", "left"),
)  # fmt: skip

CAPTION = (
    "floor: what the loop's spill traffic alone takes on that GPU;"
    " predicted, and close only where registers collapse to 32"
)


def cells(row: Row) -> list[Text | str]:
    outcome = row.outcome
    if not isinstance(outcome, Artifact) or row.profile is None:
        assert isinstance(outcome, Failure)
        said = Text(f"{outcome.kind} before {outcome.stage}: {outcome.message}", style="red", overflow="fold")
        return [row.revision.name, outcome.key.formulation, *[Text("–", style="red")] * 6, said]
    here = fit(row.profile, row.gpu)
    collapsed = "bold red" if outcome.ptxas.registers == 32 else ""
    return [
        row.revision.name,
        outcome.key.formulation,
        Text(str(outcome.ptxas.registers), style=collapsed),
        f"{outcome.ptxas.stack_bytes:,}",
        Text(f"{outcome.shared_bytes:,}", style="" if here.launchable else "bold red"),
        f"{row.profile.local_bytes_per_launch / 1e9:.1f}",
        Text(f"{here.spill_floor_ms:.1f}", style=collapsed),
        str(outcome.layout_conversions),
        "yes" if here.launchable else Text(f"no: {here.obstacle}", style="red"),
    ]
