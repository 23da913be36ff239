"""The statistics: did a series of times change at a revision? Changed, unchanged, or can't tell.

A run's value is the logarithm of a trimmed mean over its blocks, with the standard error that goes with it (Yuen,
"The two-sample trimmed t for unequal population variances", Biometrika 61, 1974). Blocks of one run agree better than
runs do, so the test's variance is that between runs, or a run's own standard error squared where that is more. The
variance between runs is pooled, in proportion to their degrees of freedom (as in Smyth, "Linear models and empirical
Bayes methods", 2004, section 4), from the gauge (pairs of runs of identical machine code) and the spread of the series'
own levels beside the step; a prior makes the first verdicts on an unknown machine careful.

A level is the mean of all runs since the last change. Each new run is compared with it, alone and together with the
runs before it (`LAGS`), so that a small step which one run can't prove is found once a few agree, and is then told at
the revision where it happened.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import stats

from attnkern.findings.rules import (
    CONFIDENCE,
    FALSE_PER_REVISION,
    FALSE_PER_STEP,
    GAUGE_LEFT_OUT,
    LAGS,
    LEVEL_RUNS,
    PRIOR_NOISE,
    PRIOR_PAIRS,
    RELEVANT_TIME,
    TRIM,
)


class Verdict(Enum):
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    CANNOT_TELL = "can't tell"


@dataclass(frozen=True)
class Run:
    """One revision's value in a series."""

    log: float
    """Logarithm of the value (milliseconds, or a ratio)."""
    error: float
    """Standard error of `log`; 0 where the run left one value and no samples."""

    @property
    def value(self) -> float:
        return math.exp(self.log)


@dataclass(frozen=True)
class Noise:
    """Variance between runs, of logarithms, and the number of pairs that it was measured on."""

    variance: float
    pairs: int

    @property
    def relative(self) -> float:
        """As a share of the value: 0.001 is 0.1 %."""
        return math.sqrt(self.variance)


@dataclass(frozen=True)
class Judgement:
    """What is known of the step from the runs before a revision to it."""

    verdict: Verdict
    effect: float
    """Relative change: 0.1 is 10 % more. 0 where the machine code is the same."""
    interval: tuple[float, float]
    """95 % of `effect`."""
    before: float
    after: float
    """The two levels, in the series' unit."""
    seen_after: int = 0
    """How many more runs it took to prove the change; 0 when the revision's own sufficed."""
    same_code: bool = False
    """Unchanged by definition."""

    @property
    def relevant(self) -> bool:
        """Whether a person would care, given that it is so."""
        return abs(self.effect) >= RELEVANT_TIME


def run_of(blocks: Sequence[float]) -> Run:
    """The run's value from its blocks (all positive; at least one)."""
    logs = np.sort(np.log(np.asarray(blocks, dtype=float)))
    count = len(logs)
    if count < 4:
        error = float(np.std(logs, ddof=1) / math.sqrt(count)) if count > 1 else 0.0
        return Run(float(np.mean(logs)), error)
    cut = int(TRIM * count)
    kept = count - 2 * cut
    winsorized = np.clip(logs, logs[cut], logs[count - cut - 1])
    spread = float(np.var(winsorized, ddof=1)) * (count - 1)
    return Run(float(np.mean(logs[cut : count - cut])), math.sqrt(spread / (kept * (kept - 1))))


def gauge(pairs: Iterable[tuple[Run, Run]]) -> Noise:
    """The noise between runs, from pairs of runs of identical machine code: half the mean squared difference.

    The greatest few are left out, so that one bad hour does not blunt the gauge.
    """
    squares = sorted((first.log - second.log) ** 2 for first, second in pairs)
    kept = squares[: len(squares) - int(GAUGE_LEFT_OUT * len(squares))]
    return Noise(sum(kept) / (2 * len(kept)) if kept else 0.0, len(kept))


def judge(runs: Sequence[Run | None], same_code: Sequence[bool], noise: Noise, series: int) -> dict[int, Judgement]:
    """A judgement at each place that has a run and one before it.

    `same_code[i]` says that the machine code at i equals that of the last run before it; `series` is the number of
    series that are looked at together.
    """
    places = [place for place, run in enumerate(runs) if run is not None]
    movable = [not same_code[place] for place in places]
    sums = Sums.of([run for run in runs if run is not None])
    false_per_test = min(FALSE_PER_STEP, FALSE_PER_REVISION / max(series, 1)) / len(LAGS)
    found: dict[int, Judgement] = {}
    levels = [0]  # where each level begins, the present one last
    for newest in range(1, len(places)):
        first = max(levels[-1], newest - LEVEL_RUNS)
        at = [step for step in (newest - lag for lag in LAGS) if step > first and movable[step]]
        judged = {step: compare(sums, first, step, newest + 1, noise, false_per_test) for step in at}
        found[newest] = judged.get(newest) or same(sums, first, newest)
        if any(judgement.verdict is Verdict.CHANGED for judgement in judged.values()):
            step = clearest(sums, first, newest, movable)
            levels.append(step)
            found[step] = compare(sums, first, step, newest + 1, noise, false_per_test)
        elif len(levels) > 1 and newest - levels[-1] <= LAGS[-1]:
            # More runs may show that it happened a few revisions sooner or later than it seemed, or not at all.
            told = levels.pop()
            first = max(levels[-1], newest - LAGS[-1] - LEVEL_RUNS)
            step = clearest(sums, first, newest, movable)
            judgement = compare(sums, first, step, newest + 1, noise, false_per_test)
            if step != told:
                found[told] = dataclasses.replace(found[told], verdict=Verdict.CANNOT_TELL)
            else:
                judgement = dataclasses.replace(judgement, seen_after=found[told].seen_after)
            found[step] = judgement
            if judgement.verdict is Verdict.CHANGED:
                levels.append(step)
    return {places[step]: judgement for step, judgement in found.items()}


@dataclass(frozen=True)
class Sums:
    """Sums over the first i runs, so that a level's mean and spread take no loop: of the logarithms less the first
    one, of their squares, and of the squared standard errors."""

    origin: float
    logs: list[float]
    squares: list[float]
    errors: list[float]

    @staticmethod
    def of(runs: Sequence[Run]) -> Sums:
        origin = runs[0].log if runs else 0.0
        return Sums(
            origin,
            list(itertools.accumulate((run.log - origin for run in runs), initial=0.0)),
            list(itertools.accumulate(((run.log - origin) ** 2 for run in runs), initial=0.0)),
            list(itertools.accumulate((run.error**2 for run in runs), initial=0.0)),
        )

    def mean(self, start: int, end: int) -> float:
        return (self.logs[end] - self.logs[start]) / (end - start)

    def around(self, start: int, end: int) -> float:
        """Sum of squared deviations from the mean."""
        total = self.logs[end] - self.logs[start]
        return max(self.squares[end] - self.squares[start] - total * total / (end - start), 0.0)

    def error(self, start: int, end: int) -> float:
        """Squared standard error of the mean, as far as it comes from within the runs."""
        return float(self.errors[end] - self.errors[start]) / (end - start) ** 2


def compare(sums: Sums, first: int, step: int, end: int, noise: Noise, false_per_test: float) -> Judgement:
    """Runs first to step against step to end."""
    effect = sums.mean(step, end) - sums.mean(first, step)
    known = end - first - 2 + noise.pairs
    lacking = max(PRIOR_PAIRS - known, 0)
    freedom = known + lacking
    between = sums.around(first, step) + sums.around(step, end)
    between = (between + noise.variance * noise.pairs + PRIOR_NOISE**2 * lacking) / freedom
    deviation = math.sqrt(
        max(between / (step - first), sums.error(first, step)) + max(between / (end - step), sums.error(step, end))
    )
    shown = quantile(1 - CONFIDENCE, freedom) * deviation
    if abs(effect) > quantile(false_per_test, freedom) * deviation:
        verdict = Verdict.CHANGED
    elif math.log1p(-RELEVANT_TIME) < effect - shown and effect + shown < math.log1p(RELEVANT_TIME):
        verdict = Verdict.UNCHANGED
    else:
        verdict = Verdict.CANNOT_TELL
    before = math.exp(sums.origin + sums.mean(first, step))
    return Judgement(
        verdict,
        math.expm1(effect),
        (math.expm1(effect - shown), math.expm1(effect + shown)),
        before,
        before * math.exp(effect),
        seen_after=end - 1 - step,
    )


def same(sums: Sums, first: int, newest: int) -> Judgement:
    before = math.exp(sums.origin + sums.mean(first, newest))
    after = math.exp(sums.origin + sums.mean(newest, newest + 1))
    return Judgement(Verdict.UNCHANGED, 0.0, (0.0, 0.0), before, after, same_code=True)


def clearest(sums: Sums, first: int, newest: int, movable: Sequence[bool]) -> int:
    """Where the step most likely is: the greatest t statistic, but for the noise, which is the same for all."""

    def sureness(step: int) -> float:
        left, right = step - first, newest + 1 - step
        return abs(sums.mean(step, newest + 1) - sums.mean(first, step)) * math.sqrt(left * right / (left + right))

    return max((step for step in range(first + 1, newest + 1) if movable[step]), key=sureness)


@functools.lru_cache(maxsize=65536)
def quantile(false_rate: float, freedom: float) -> float:
    """The two-sided Student quantile that is exceeded at that rate by chance."""
    return float(stats.t.isf(false_rate / 2, freedom))
