"""Findings from measured times: what a machine's GPU took, revision by revision. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from attnkern.cases import FORMULATIONS, Formulation
from attnkern.findings.finding import Evidence, Finding
from attnkern.findings.judge import Judgement, Noise, Run, Verdict, gauge, judge
from attnkern.findings.profiles import GapState, changed, fault_of, gap_kind, kind_of
from attnkern.findings.rules import OPEN_GAP, RELEVANT_GAP, Kind, severity_of
from attnkern.findings.series import Broken, CaseSeries, Figures, Moment, Timed

Subject = Formulation | str
"""What a machine's series is of: a formulation, or "gap"."""
Judgements = Mapping[str, Mapping[int, Judgement]]
"""By subject and place in the moments."""


def judge_times(series: CaseSeries, noise: Noise, gap_noise: Noise, together: int) -> Judgements:
    """A judgement of each step of both forms' times and of their gap; `together` is how many series are looked at."""
    judged: dict[str, Mapping[int, Judgement]] = {
        form: judge(runs_of(series.times[form]), same_code(series, (form,)), noise, together) for form in FORMULATIONS
    }
    judged["gap"] = judge(series.gaps, same_code(series, FORMULATIONS), gap_noise, together)
    return judged


def gauge_of(all_series: Sequence[CaseSeries], gap: bool = False) -> Noise:
    """A machine's noise, from its neighbouring runs of identical machine code."""
    return gauge(
        (runs[last], runs[place])  # type: ignore[misc]
        for series in all_series
        for forms, runs in (
            [(FORMULATIONS, series.gaps)] if gap else [((form,), runs_of(series.times[form])) for form in FORMULATIONS]
        )
        for last, place, same in steps(runs, series, forms)
        if same
    )


def find_in_times(moments: Sequence[Moment], series: CaseSeries, judgements: Judgements) -> Iterator[Finding]:
    for form in FORMULATIONS:
        yield from of_faults(moments, series, form)
        yield from of_form(moments, series, form, judgements[form])
    yield from of_gap(moments, series, judgements["gap"])


def of_form(
    moments: Sequence[Moment], series: CaseSeries, form: Formulation, judgements: Mapping[int, Judgement]
) -> Iterator[Finding]:
    runs = runs_of(series.times[form])
    for last, place, _ in steps(runs, series, (form,)):
        judgement = judgements[place]
        if judgement.verdict is not Verdict.CHANGED or not judgement.relevant:
            continue
        kind = kind_of(form, 1 if judgement.effect > 0 else -1)
        yield Finding(
            kind, severity_of(kind, 1 + judgement.effect), moments[place], moments[last], series.case, form,
            series.place, judgement.before, judgement.after, "ms", judgement.effect, judgement.interval,
            (Evidence("time", judgement.before, judgement.after, "ms"), *code_evidence(series, form, last, place)),
            judgement.seen_after,
        )  # fmt: skip


def of_gap(moments: Sequence[Moment], series: CaseSeries, judgements: Mapping[int, Judgement]) -> Iterator[Finding]:
    for last, place, _ in steps(series.gaps, series, FORMULATIONS):
        judgement = judgements[place]
        if judgement.verdict is not Verdict.CHANGED or abs(judgement.effect) < RELEVANT_GAP:
            continue
        moves: dict[Formulation, float] = {}
        for form in FORMULATIONS:
            before, after = series.times[form][last], series.times[form][place]
            if isinstance(before, Run) and isinstance(after, Run):
                moves[form] = after.log - before.log
        if len(moves) < 2:
            continue
        # What each form did to the gap, in the direction in which the gap went.
        sign = math.copysign(1, judgement.effect)
        cause: Formulation = "direct" if sign * moves["direct"] >= -sign * moves["transposed"] else "transposed"
        kind = gap_kind(state_of(judgement.before), state_of(judgement.after), cause)
        if kind is None:
            continue
        yield Finding(
            kind, severity_of(kind, math.exp(moves[cause])), moments[place], moments[last], series.case, cause,
            series.place, judgement.before, judgement.after, "×", judgement.effect, judgement.interval,
            (
                *(
                    Evidence(f"{form} time", before.value, after.value, "ms")
                    for form in FORMULATIONS
                    for before, after in [(series.times[form][last], series.times[form][place])]
                    if isinstance(before, Run) and isinstance(after, Run)
                ),
                *code_evidence(series, cause, last, place),
            ),
            judgement.seen_after,
        )  # fmt: skip


def of_faults(moments: Sequence[Moment], series: CaseSeries, form: Formulation) -> Iterator[Finding]:
    """What did not run on the machine. What did not compile is the target's finding, where the target is known."""
    worked: int | None = None
    failed: tuple[int, Kind] | None = None
    for place, state in enumerate(series.times[form]):
        if isinstance(state, Broken):
            known = bool(series.built) and fault_of(series.built[form][place]) is not None
            if worked is not None and not known and (failed is None or failed[1] != state.kind):
                yield fault(moments, series, form, state.kind, place, worked, state.message)
            failed = None if known else (place, state.kind)
        elif isinstance(state, Run):
            if failed is not None:
                before = series.times[form][failed[0]]
                assert isinstance(before, Broken)
                yield fault(moments, series, form, "recovered", place, failed[0], before.message)
            worked, failed = place, None


def fault(
    moments: Sequence[Moment], series: CaseSeries, form: Formulation, kind: Kind, place: int, since: int, message: str
) -> Finding:
    why = Evidence("before" if kind == "recovered" else "why", None, message)
    return Finding(
        kind, severity_of(kind, 1.0), moments[place], moments[since], series.case, form, series.place, None, None, "",
        None, None, (why, *code_evidence(series, form, since, place)),
    )  # fmt: skip


def code_evidence(series: CaseSeries, form: Formulation, last: int, place: int) -> tuple[Evidence, ...]:
    """What was different about the code in between: as the driver has it, and as the compiler made it.

    Ported code has the driver's registers and stack, not those of the release's own ptxas.
    """
    evidence = []
    built = series.built[form] if series.built else ()
    before, after = (built[last], built[place]) if built else (None, None)
    known = isinstance(before, Figures) and isinstance(after, Figures)
    if series.loaded and not (known and series.place.code == "native"):
        had, has = series.loaded[form][last], series.loaded[form][place]
        if had is not None and has is not None:
            evidence.append(Evidence("registers as loaded", had.registers, has.registers))
            stacks = had.local_bytes_per_thread, has.local_bytes_per_thread
            evidence.append(Evidence("stack as loaded", *stacks, "bytes a thread"))
    if isinstance(before, Figures) and isinstance(after, Figures):
        if series.place.code == "ported":
            evidence.append(Evidence("layout conversions", before.layout_conversions, after.layout_conversions))
        else:
            evidence += changed(before, after, series.flops).evidence
    return tuple(one for one in evidence if one.before != one.after)


def state_of(gap: float) -> GapState:
    if gap >= OPEN_GAP:
        return "open"
    return "inverted" if gap <= 1 / OPEN_GAP else "closed"


def runs_of(states: Sequence[Timed]) -> list[Run | None]:
    return [state if isinstance(state, Run) else None for state in states]


def steps(
    runs: Sequence[Run | None], series: CaseSeries, forms: Sequence[Formulation]
) -> Iterator[tuple[int, int, bool]]:
    """(place of the last run, place of the next one, whether they ran the same machine code)."""
    last: int | None = None
    for place, run in enumerate(runs):
        if run is None:
            continue
        if last is not None:
            codes = [(series.code_of(form, last), series.code_of(form, place)) for form in forms]
            yield last, place, all(before is not None and before == after for before, after in codes)
        last = place


def same_code(series: CaseSeries, forms: Sequence[Formulation]) -> list[bool]:
    """At each moment: whether the code there equals that of the last run before it."""
    runs = series.gaps if len(forms) > 1 else runs_of(series.times[forms[0]])
    same = [False] * len(runs)
    for _, place, equal in steps(runs, series, forms):
        same[place] = equal
    return same
