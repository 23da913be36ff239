"""What would help: the same problem at neighbouring launch configurations, compiled, the best first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attnkern.cases import CASES, FORMULATIONS, Case, Formulation, case_named
from attnkern.codegen import build
from attnkern.codegen.artifact import Artifact
from attnkern.codegen.gpus import GPUS, REFERENCE
from attnkern.codegen.profile import fit
from attnkern.explain.measured import measured
from attnkern.findings.rules import collapsed
from attnkern.revisions.history import Revision

TILES = (128, 64)
WARPS = (8, 4)
STAGES = (1, 2)
CAPS = (None, 255)
"""Without a cap, and with one at what a thread can have: it makes ptxas spill a little where it would give up."""


@dataclass(frozen=True)
class Tried:
    """One formulation at one launch configuration, compiled."""

    case: str
    formulation: Formulation
    registers: int | None
    """None where it did not compile."""
    spill_bytes: int
    shared_bytes: int
    floor_ms: float | None
    launchable: bool
    message: str = ""
    measured_ms: Mapping[str, float] = field(default_factory=dict)
    """By machine; nothing where it was compiled and never timed."""

    @property
    def collapsed(self) -> bool:
        return self.registers is not None and collapsed(self.registers, self.spill_bytes)

    @property
    def helps(self) -> bool:
        return self.registers is not None and self.launchable and not self.collapsed


def neighbours(case: str) -> list[Case]:
    """The case at other tiles, warps, stages and caps, the case itself among them."""
    base = CASES[case.partition("+")[0]]
    found = []
    for m, n, warps, stages, cap in itertools.product(TILES, TILES, WARPS, STAGES, CAPS):
        changes = [
            f"+{letter}{value}"
            for letter, value, own in (
                ("m", m, base.block_m), ("n", n, base.block_n), ("w", warps, base.num_warps),
                ("s", stages, base.num_stages), ("r", cap, base.max_registers),
            )
            if value != own
        ]  # fmt: skip
        found.append(case_named(base.name + "".join(changes)))
    return found


def tried(
    revision: Revision, case: str, target: str, recordings: Path, make: Callable[[build.Selection], None]
) -> list[Tried]:
    """Every neighbour in both formulations, those that avoid the collapse and launch first, best floor first."""
    selection = build.Selection(tuple(neighbours(case)), (target,))
    make(selection)
    return sorted(results(revision, selection, target, recordings), key=order)


def order(one: Tried) -> tuple[bool, float, str]:
    return not one.helps, math.inf if one.floor_ms is None else one.floor_ms, one.case


def results(revision: Revision, selection: build.Selection, target: str, recordings: Path) -> Iterator[Tried]:
    for outcome in build.outcomes(revision, selection):
        key = outcome.key
        if not isinstance(outcome, Artifact):
            message = f"{outcome.kind} before {outcome.stage}: {outcome.message}"
            yield Tried(key.case, key.formulation, None, 0, 0, None, False, message)
            continue
        here = fit(build.profiled(revision, outcome), GPUS[REFERENCE[target]])
        yield Tried(
            key.case, key.formulation, outcome.ptxas.registers,
            outcome.ptxas.spill_bytes, outcome.shared_bytes,
            here.spill_floor_ms, here.launchable, here.obstacle or "", measured(revision, key, recordings),
        )  # fmt: skip


def in_both(found: Sequence[Tried]) -> list[str]:
    """The configurations in which neither form collapses and both launch, in order."""
    good = {(one.case, one.formulation) for one in found if one.helps}
    return [
        case for case in dict.fromkeys(one.case for one in found) if all((case, form) in good for form in FORMULATIONS)
    ]
