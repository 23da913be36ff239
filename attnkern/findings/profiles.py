"""Findings from profiles, which are exact: what the compiler emitted, revision by revision. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from attnkern.cases import FORMULATIONS, Formulation
from attnkern.findings.finding import Evidence, Finding
from attnkern.findings.rules import PEAK_FLOPS_PER_S, RELEVANT_FLOOR, Kind, severity_of
from attnkern.findings.series import Broken, Built, CaseSeries, Figures, Moment

GapState = Literal["open", "closed", "inverted"]

UNCOLLAPSED_FACTOR = 1.0 + 1e-9
"""What a predicted cost counts for without a collapse: some, but never more than minor."""


@dataclass(frozen=True)
class Change:
    """What moved between two profiles."""

    evidence: tuple[Evidence, ...]
    direction: int
    """1 slower, -1 faster, 0 nothing relevant."""
    figure: Evidence
    """The one that decides the direction."""
    factor: float
    """By which the cost grew, for the severity."""


def find_in_profiles(moments: Sequence[Moment], series: CaseSeries) -> Iterator[Finding]:
    """A target's findings: of each form, and of the gap between them."""
    for formulation in FORMULATIONS:
        yield from of_form(moments, series, formulation)
    yield from of_gap(moments, series)


def of_form(moments: Sequence[Moment], series: CaseSeries, formulation: Formulation) -> Iterator[Finding]:
    worked: int | None = None
    failed: int | None = None
    failing: Kind | None = None
    states = series.built[formulation]

    def found(kind: Kind, place: int, since: int, change: Change | None, evidence: Sequence[Evidence]) -> Finding:
        figure = change.figure if change and not kind.startswith(("cannot", "recovered")) else None
        before = float(figure.before) if figure and isinstance(figure.before, int | float) else None
        after = float(figure.after) if figure and isinstance(figure.after, int | float) else None
        return Finding(
            kind, severity_of(kind, change.factor if change else 1.0), moments[place], moments[since], series.case,
            formulation, series.place, before, after, figure.unit if figure else "",
            after / before - 1 if before and after is not None else None, None, tuple(evidence),
        )  # fmt: skip

    for place, state in enumerate(states):
        if state is None:
            continue
        fault = fault_of(state)
        last = states[worked] if worked is not None else None
        change = (
            changed(last, state, series.flops) if isinstance(last, Figures) and isinstance(state, Figures) else None
        )
        moved = change.evidence if change else ()
        if fault is not None:
            if worked is not None and fault.kind != failing:
                yield found(fault.kind, place, worked, change, (Evidence("why", None, fault.message), *moved))
            failing, failed = fault.kind, place
            continue
        if failed is not None and failing is not None:
            why = Evidence("before", None, broken_message(states[failed]))
            yield found("recovered", place, failed, change, (why, *moved))
        if change and change.direction and (failing is None or change.direction > 0) and worked is not None:
            yield found(kind_of(formulation, change.direction), place, worked, change, moved)
        worked, failed, failing = place, None, None


def of_gap(moments: Sequence[Moment], series: CaseSeries) -> Iterator[Finding]:
    """The gap by which form has collapsed; whether either can launch is another matter."""
    last: int | None = None
    for place, (direct, transposed) in enumerate(zip(*(series.built[form] for form in FORMULATIONS), strict=True)):
        if not isinstance(direct, Figures) or not isinstance(transposed, Figures):
            continue
        if last is not None:
            before = tuple(series.built[form][last] for form in FORMULATIONS)
            assert isinstance(before[0], Figures) and isinstance(before[1], Figures)
            states = gap_state(before[0], before[1]), gap_state(direct, transposed)
            cause: Formulation = "direct" if before[0].collapsed != direct.collapsed else "transposed"
            kind = gap_kind(*states, cause)
            if kind is not None:
                mine, its = (before[0], direct) if cause == "direct" else (before[1], transposed)
                ratios = ratio(before[0], before[1]), ratio(direct, transposed)
                yield Finding(
                    kind, severity_of(kind, 2.0 if its.collapsed and not mine.collapsed else 1.0), moments[place],
                    moments[last], series.case, cause, series.place, *ratios, "×",
                    ratios[1] / ratios[0] - 1 if ratios[0] and ratios[1] is not None else None, None,
                    (
                        Evidence("direct spill floor", before[0].floor_ms, direct.floor_ms, "ms"),
                        Evidence("transposed spill floor", before[1].floor_ms, transposed.floor_ms, "ms"),
                        Evidence("direct registers", before[0].registers, direct.registers),
                        Evidence("transposed registers", before[1].registers, transposed.registers),
                    ),
                )  # fmt: skip
        last = place


def changed(before: Figures, after: Figures, flops: int) -> Change:
    """What moved, and which way it counts: a collapse before the floor, the floor before the occupancy."""
    figures = (
        Evidence("registers", before.registers, after.registers),
        Evidence("spill floor", before.floor_ms, after.floor_ms, "ms"),
        Evidence("spills", before.spill_bytes, after.spill_bytes, "bytes"),
        Evidence("stack", before.stack_bytes, after.stack_bytes, "bytes a thread"),
        Evidence("shared memory", before.shared_bytes, after.shared_bytes, "bytes"),
        Evidence("programs per multiprocessor", before.programs_per_sm, after.programs_per_sm),
        Evidence("layout conversions", before.layout_conversions, after.layout_conversions),
        Evidence("code", before.code_bytes, after.code_bytes, "bytes"),
        Evidence("ptxas", before.ptxas, after.ptxas),
    )
    moved = tuple(evidence for evidence in figures if evidence.before != evidence.after)
    floor, programs = figures[1], figures[5]
    slower = after.floor_ms - before.floor_ms
    least_ms = 1e3 * flops / PEAK_FLOPS_PER_S
    relevant = abs(slower) >= least_ms and abs(slower) >= RELEVANT_FLOOR * before.floor_ms
    if before.collapsed != after.collapsed:
        factor = 2.0 if after.collapsed else 0.5  # a collapse is critical whatever the floor before it was
        return Change(moved, 1 if after.collapsed else -1, floor, factor)
    if relevant:
        return Change(moved, 1 if slower > 0 else -1, floor, UNCOLLAPSED_FACTOR if slower > 0 else 0.5)
    if before.programs_per_sm != after.programs_per_sm and before.obstacle is None and after.obstacle is None:
        fewer = after.programs_per_sm < before.programs_per_sm
        return Change(moved, 1 if fewer else -1, programs, UNCOLLAPSED_FACTOR if fewer else 0.5)
    return Change(moved, 0, floor, 1.0)


def gap_state(direct: Figures, transposed: Figures) -> GapState:
    if direct.collapsed == transposed.collapsed:
        return "closed"
    return "open" if direct.collapsed else "inverted"


def gap_kind(before: GapState, after: GapState, cause: Formulation) -> Kind | None:
    """What to call a gap's step; None where there is none to speak of, or an inversion that ended."""
    if before == after:
        return None
    if after == "inverted":
        return "gap-inverted"
    if after == "open":
        return "gap-opened"
    if before == "open":
        return "gap-closed-by-direct" if cause == "direct" else "gap-closed-by-transposed"
    return None


def ratio(direct: Figures, transposed: Figures) -> float | None:
    return direct.floor_ms / transposed.floor_ms if transposed.floor_ms else None


def kind_of(formulation: Formulation, direction: int) -> Kind:
    if formulation == "direct":
        return "direct-regressed" if direction > 0 else "direct-improved"
    return "transposed-regressed" if direction > 0 else "transposed-improved"


def fault_of(state: Built) -> Broken | None:
    if isinstance(state, Figures) and state.obstacle is not None:
        return Broken("cannot-launch", state.obstacle)
    return state if isinstance(state, Broken) else None


def broken_message(state: Built) -> str:
    fault = fault_of(state)
    return fault.message if fault else ""
