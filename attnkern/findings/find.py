"""All findings of all series, in the order in which a person should read them. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from attnkern.findings.finding import Finding, order
from attnkern.findings.judge import Judgement, Noise, Verdict
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

    def add(self, judged: Mapping[int, Judgement], wanted: set[int]) -> None:
        """Count the answers at those places."""
        found = [judgement for place, judgement in judged.items() if place in wanted]
        self.changed += sum(one.verdict is Verdict.CHANGED for one in found)
        self.unchanged += sum(one.verdict is Verdict.UNCHANGED for one in found)
        self.cannot_tell += sum(one.verdict is Verdict.CANNOT_TELL for one in found)
        self.same_code += sum(one.same_code for one in found)
        self.absent += len(wanted) - len(found)

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

    def coverage(self, commits: Container[str] | None = None) -> Coverage:
        """Of the steps to all revisions, or to those commits."""
        wanted = {
            place
            for place, moment in enumerate(self.moments)
            if place and (commits is None or moment.commit in commits)
        }
        counts = Coverage()
        for series in self.series:
            if series.place.measured:
                for judged in self.judgements[series.case, series.place].values():
                    counts.add(judged, wanted)
            else:
                for states in series.built.values():
                    known = [place for place, state in enumerate(states) if state is not None]
                    exact = len(wanted.intersection(known[1:]))
                    counts.exact += exact
                    counts.absent += len(wanted) - exact
        return counts


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
        tuple(moments), tuple(series), tuple(sorted(findings, key=order)), judgements, gauges
    )  # fmt: skip


def by_place(series: Iterable[CaseSeries]) -> list[tuple[Place, list[CaseSeries]]]:
    ordered = sorted(series, key=lambda one: one.place)
    return [(place, list(some)) for place, some in itertools.groupby(ordered, key=lambda one: one.place)]
