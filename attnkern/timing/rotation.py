"""The order of launches, and when to stop. Pure: `run` launches a name and gives the device's milliseconds for it.

A block is direct, transposed, transposed, direct, anchor: a drift that is linear over the block cancels in the gap.
Whoever launches a block puts one untimed launch before it: the first launch after a pause also waits for
the host, which made it 4 % slower (measured on an H200, 1.4 ms launches).
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from scipy import stats

ANCHOR = "anchor"
CONFIDENCE = 0.95
GAP_TOLERANCE = 0.0025
"""Half the interval of the gap at which there is enough, as a part of it."""
BUDGET_S = 3.0
LEAST_BLOCKS = 50
WARM_UP_S = 0.4
WARM_UP_STEADY = 0.001
"""Warm when the means of two runs of blocks differ by less, or after three times WARM_UP_S."""


@dataclass
class Samples:
    times_ms: dict[str, list[float]] = field(default_factory=dict)
    gaps: list[float] = field(default_factory=list)
    blocks: int = 0


RunBlock = Callable[[Sequence[str]], list[float]]
"""Launches the names in order and returns the milliseconds of each."""


def order(formulations: Sequence[str]) -> list[str]:
    """The launches of a block: every name twice, mirrored, then the anchor once."""
    return [*formulations, *reversed(formulations), ANCHOR]


T = TypeVar("T")


def by_name(blocks: Sequence[Sequence[T]], formulations: Sequence[str]) -> dict[str, list[T]]:
    """What was noted of each launch, block by block, gathered by what was launched."""
    found: dict[str, list[T]] = {name: [] for name in (*formulations, ANCHOR)}
    for block in blocks:
        for name, noted in zip(order(formulations), block, strict=True):
            found[name].append(noted)
    return found


def measure(run: RunBlock, formulations: Sequence[str], budget_s: float = BUDGET_S) -> Samples:
    """Warm up, then run blocks until the gap is known well enough or the budget is spent."""
    block = order(formulations)
    warm_up(lambda: sum(run(block)))
    samples = Samples({name: [] for name in dict.fromkeys(block)})
    started = time.monotonic()
    while True:
        times = run(block)
        for name, ms in zip(block, times, strict=True):
            samples.times_ms[name].append(ms)
        samples.blocks += 1
        if len(formulations) == 2:
            samples.gaps.append(gap_of(times))
        spent = time.monotonic() - started
        if spent >= budget_s or (samples.blocks >= LEAST_BLOCKS and enough(samples)):
            return samples


def warm_up(block: Callable[[], float]) -> None:
    """Run blocks until their time is steady, since clocks and temperatures settle over tenths of a second."""
    started = time.monotonic()
    previous = math.inf
    while time.monotonic() - started < 3 * WARM_UP_S:
        window = time.monotonic()
        times: list[float] = []
        while time.monotonic() - window < WARM_UP_S / 2 or len(times) < 2:
            times.append(block())
        mean = statistics.mean(times)
        if abs(mean - previous) < WARM_UP_STEADY * mean and time.monotonic() - started >= WARM_UP_S:
            return
        previous = mean


def gap_of(times: Sequence[float]) -> float:
    """Direct over transposed time of a block d, t, t, d."""
    first, second, third, fourth = times[:4]
    return (first + fourth) / (second + third)


def enough(samples: Samples) -> bool:
    series = samples.gaps or per_block(next(iter(samples.times_ms.values())))
    return half_interval(series) <= GAP_TOLERANCE * statistics.mean(series)


def per_block(times: Sequence[float]) -> list[float]:
    """Block means of a formulation's samples, two to a block."""
    return [(first + second) / 2 for first, second in zip(times[::2], times[1::2], strict=False)]


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95 % confidence interval of the mean (Student's t); infinite for fewer than two values."""
    if len(values) < 2:
        return math.inf
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return quantile * statistics.stdev(values) / math.sqrt(len(values))
