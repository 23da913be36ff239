"""An explanation: two artifacts side by side, where they part, whose change it is, and what it costs. Plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnkern.cases import Formulation
from attnkern.explain.assemble import Cell, Verdict
from attnkern.explain.live import Pressure
from attnkern.explain.passes import Buffer, PassDifference
from attnkern.explain.stages import StageDifference


@dataclass(frozen=True)
class Side:
    """One of the two artifacts."""

    release: str
    commit: str
    formulation: Formulation
    failure: str | None
    """Why it did not compile, and in which pass; then all below is nothing."""
    ptxas: str = ""
    registers: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0
    shared_bytes: int = 0
    buffers: tuple[Buffer, ...] = ()
    obstacle: str | None = None
    """Why the target's reference GPU can't launch it."""
    local_bytes_per_iteration: int = 0
    """Of a thread."""
    local_bytes_per_launch: int = 0
    floors_ms: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Predicted, by GPU."""
    measured_ms: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """By machine, with the code that ran there."""
    pressure: Pressure | None = None
    uncapped: Pressure | None = None
    """Where the code collapsed: what the assembler makes of the same PTX under a cap of 255 registers."""

    @property
    def name(self) -> str:
        return f"{self.release} {self.formulation}"


@dataclass(frozen=True)
class Assembled:
    """A cell of the matrix: whose PTX, by whose assembler."""

    ptx: str
    assembler: str
    ptxas: str
    cell: Cell


@dataclass(frozen=True)
class Explanation:
    case: str
    target: str
    gpu: str
    before: Side
    after: Side
    stages: tuple[StageDifference, ...]
    passes: tuple[PassDifference, ...]
    matrix: tuple[Assembled, ...]
    verdict: Verdict

    @property
    def stage(self) -> str | None:
        """The first stage whose operations differ, or failing that the first that differs at all."""
        changed = [one for one in self.stages if not one.same]
        return next((one.stage for one in changed if one.operations), changed[0].stage if changed else None)

    @property
    def pass_name(self) -> str | None:
        """The first pass that the two part in, in the compile after."""
        return self.passes[0].after_pass if self.passes else None

    def extra_buffers(self) -> list[Buffer]:
        """What lies in the shared memory of the one after and has no like in the one before, by source and size."""
        if self.after.shared_bytes <= self.before.shared_bytes:
            return []
        before = [(buffer.line, buffer.bytes) for buffer in self.before.buffers]
        extra = []
        for buffer in self.after.buffers:
            if (buffer.line, buffer.bytes) in before:
                before.remove((buffer.line, buffer.bytes))
            else:
                extra.append(buffer)
        return extra


def as_json(explanation: Explanation) -> dict[str, Any]:
    return {
        "format": 1,
        "stage": explanation.stage,
        "pass": explanation.pass_name,
        "verdict": explanation.verdict,
        "extra_buffers": [dataclasses.asdict(buffer) for buffer in explanation.extra_buffers()],
        "evidence": dataclasses.asdict(explanation),
    }
