"""All findings of all series, in the order in which a person should read them. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from attnkern.cases import FORMULATIONS
from attnkern.findings.finding import Finding, order
from attnkern.findings.judge import Noise, Verdict
from attnkern.findings.profiles import find_in_profiles
from attnkern.findings.series import CaseSeries, Moment, Place
from attnkern.findings.times import Judgements, find_in_times, gauge_of, judge_times


@dataclass(frozen=True)
class Gauge:
    """A machine's noise between runs of identical code."""

    times: Noise
    gaps: Noise


@dataclass
class Coverage:
    """How many series-steps were looked at, and with what answer."""

    exact: int = 0
    """Of profiles, which leave no doubt."""
    changed: int = 0
    unchanged: int = 0
    same_code: int = 0
    """Among the unchanged: by definition."""
    cannot_tell: int = 0
    absent: int = 0
    """Not judged: nothing recorded, or nothing before it."""

    @property
    def judged(self) -> int:
        return self.exact + self.changed + self.unchanged + self.cannot_tell

    def __str__(self) -> str:
        if not self.judged:
            return "nothing could be judged"
        parts = [f"{self.exact} steps of profiles (exact)"] if self.exact else []
        if timed := self.changed + self.unchanged + self.cannot_tell:
            parts.append(
                f"{timed} steps of times: {self.changed} changed, {self.unchanged} unchanged"
                f" ({self.same_code} the same machine code), {self.cannot_tell} can't tell"
            )
        return "judged " + "; ".join(parts) + f"; not judged {self.absent}"


@dataclass(frozen=True)
class Report:
    moments: tuple[Moment, ...]
    series: tuple[CaseSeries, ...]
    findings: tuple[Finding, ...]
    judgements: Mapping[tuple[str, Place], Judgements]
    """Of a machine's series, by case and place."""
    gauges: Mapping[Place, Gauge]
    coverage: Coverage = field(default_factory=Coverage)


def find(moments: Sequence[Moment], series: Sequence[CaseSeries]) -> Report:
    findings: list[Finding] = []
    judgements: dict[tuple[str, Place], Judgements] = {}
    gauges: dict[Place, Gauge] = {}
    for place, some in by_place(series):
        if not place.measured:
            for one in some:
                findings += find_in_profiles(moments, one)
            continue
        # Ported and native code ran on one machine, whose noise is one; the gaps' is smaller, since they are of pairs.
        times, gaps = gauge_of(some), gauge_of(some, gap=True)
        gauges[place] = Gauge(times, gaps if gaps.pairs else times)
        for one in some:
            judged = judge_times(one, times, gauges[place].gaps, together=3 * len(some))
            judgements[one.case, place] = judged
            findings += find_in_times(moments, one, judged)
    return Report(
        tuple(moments), tuple(series), tuple(sorted(findings, key=order)), judgements, gauges,
        coverage(len(moments), series, judgements),
    )  # fmt: skip


def by_place(series: Iterable[CaseSeries]) -> list[tuple[Place, list[CaseSeries]]]:
    ordered = sorted(series, key=lambda one: one.place)
    return [(place, list(some)) for place, some in itertools.groupby(ordered, key=lambda one: one.place)]


def coverage(
    moments: int, series: Sequence[CaseSeries], judgements: Mapping[tuple[str, Place], Judgements]
) -> Coverage:
    counts = Coverage()
    for one in series:
        if not one.place.measured:
            for form in FORMULATIONS:
                recorded = sum(state is not None for state in one.built[form])
                counts.exact += max(recorded - 1, 0)
                counts.absent += moments - recorded
            continue
        for judged in judgements[one.case, one.place].values():
            for judgement in judged.values():
                counts.changed += judgement.verdict is Verdict.CHANGED
                counts.unchanged += judgement.verdict is Verdict.UNCHANGED
                counts.cannot_tell += judgement.verdict is Verdict.CANNOT_TELL
                counts.same_code += judgement.same_code
            counts.absent += moments - 1 - len(judged)
    return counts
