"""The rotation over a simulated GPU: noise, drift and steps whose truth is known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from attnkern.timing import rotation
from attnkern.timing.rotation import ANCHOR, by_name, gap_of, half_interval, measure, order


class SimulatedGpu:
    """Launches take what `truth` says, with relative noise, and a clock that drifts by the launch."""

    def __init__(self, truth: dict[str, float], noise: float = 0.0, drift: float = 0.0):
        self.truth, self.noise, self.drift = truth, noise, drift
        self.random = random.Random(1)
        self.launches = 0

    def run(self, names: Sequence[str]) -> list[float]:
        times = []
        for name in names:
            self.launches += 1
            slower = 1 + self.drift * self.launches
            times.append(self.truth[name] * slower * self.random.gauss(1, self.noise))
        return times


@pytest.fixture(autouse=True)
def _short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "WARM_UP_S", 0.002)


BOTH = ("direct", "transposed")
TRUTH = {"direct": 25.1, "transposed": 4.2, ANCHOR: 1.5}


def test_order_is_mirrored() -> None:
    assert order(BOTH) == ["direct", "transposed", "transposed", "direct", ANCHOR]
    assert order(["transposed"]) == ["transposed", "transposed", ANCHOR]


def test_a_linear_drift_cancels_in_the_gap() -> None:
    gpu = SimulatedGpu(TRUTH, drift=0.001)
    samples = measure(gpu.run, BOTH, budget_s=0.2)
    assert all(gap == pytest.approx(25.1 / 4.2, rel=1e-12) for gap in samples.gaps)
    assert samples.times_ms["direct"][-1] > samples.times_ms["direct"][0]


def test_it_stops_when_the_gap_is_known() -> None:
    samples = measure(SimulatedGpu(TRUTH, noise=0.001).run, BOTH, budget_s=60)
    assert samples.blocks == rotation.LEAST_BLOCKS
    assert len(samples.times_ms["direct"]) == 2 * samples.blocks
    assert len(samples.times_ms[ANCHOR]) == samples.blocks


def test_a_noisy_gpu_takes_longer_and_ends_within_the_tolerance() -> None:
    samples = measure(SimulatedGpu(TRUTH, noise=0.02).run, BOTH, budget_s=60)
    assert samples.blocks > 2 * rotation.LEAST_BLOCKS
    mean = sum(samples.gaps) / len(samples.gaps)
    assert half_interval(samples.gaps) <= 0.0025 * mean
    assert mean == pytest.approx(25.1 / 4.2, rel=0.01)


def test_the_budget_ends_what_noise_would_not() -> None:
    samples = measure(SimulatedGpu(TRUTH, noise=0.3).run, BOTH, budget_s=0.05)
    assert samples.blocks >= 1
    assert half_interval(samples.gaps) > 0.0025


def test_one_formulation_alone() -> None:
    samples = measure(SimulatedGpu(TRUTH, noise=0.001).run, ["transposed"], budget_s=60)
    assert samples.gaps == []
    assert len(samples.times_ms["transposed"]) == 2 * rotation.LEAST_BLOCKS


def test_gap_of_a_block() -> None:
    assert gap_of([10.0, 2.0, 3.0, 15.0, 99.0]) == 5.0


def test_half_interval() -> None:
    # Student's t at 97.5 % with 3 degrees of freedom is 3.1824; the standard error of 1, 2, 3, 4 is 0.6455.
    assert half_interval([1.0, 2.0, 3.0, 4.0]) == pytest.approx(3.1824 * 0.6455, rel=1e-4)
    assert half_interval([1.0]) == math.inf


def test_clocks_are_gathered_by_what_ran() -> None:
    forms = ["direct", "transposed"]  # a block is d, t, t, d, anchor
    assert by_name([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], forms) == {
        "direct": [1, 4, 6, 9],
        "transposed": [2, 3, 7, 8],
        ANCHOR: [5, 10],
    }
