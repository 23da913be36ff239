"""The figures of scripts/detectors: false changes, small steps on the newest run, and four detectors side by side.

A series is 40 flat runs and a step, seen one run more at a time. A detector's delay is the number of runs after the
step's own that it needs until it tells a change within three runs of the true place; after ten it is missed.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from asv.step_detect import detect_steps
from otava.analysis import compute_change_points

from attnkern.findings.find import find
from attnkern.findings.judge import Noise, Run, Verdict, gauge, judge, run_of
from attnkern.findings.records import read_records
from attnkern.findings.series import Moment
from attnkern.home import CHECKOUT
from attnkern.revisions import history

FLAT, MORE, NEAR = 40, 10, 3
PAIRS = ((0.002, 0.02), (0.005, 0.03), (0.01, 0.03), (0.01, 0.05))
"""Relative noise of a run and size of the step."""
UNKNOWN = Noise(0.0, 0)

Detector = Callable[[Sequence[float]], list[int]]


def ours(values: Sequence[float]) -> list[int]:
    judged = judge([run_of([value]) for value in values], [False] * len(values), UNKNOWN, 1)
    return [place for place, judgement in judged.items() if judgement.verdict is Verdict.CHANGED]


def asv(values: Sequence[float]) -> list[int]:
    return [int(step[0]) for step in detect_steps(list(values))[1:]]


def otava(values: Sequence[float]) -> list[int]:
    return [point.index for point in compute_change_points(list(values))[0]]


def careful_otava(values: Sequence[float]) -> list[int]:
    """With its p value lowered until it tells about as few false changes as attnkern does."""
    return [point.index for point in compute_change_points(list(values), max_pvalue=1e-4)[0]]


def rustc_perf(values: Sequence[float]) -> list[int]:
    """Its significance rule: a change beyond Q3 + 3 IQR of the series' last 30 absolute relative changes."""
    changes = [abs(after / before - 1) for before, after in itertools.pairwise(values)]
    found = []
    for place in range(10, len(changes)):
        low, _, high = statistics.quantiles(changes[max(0, place - 30) : place], n=4)
        if changes[place] > high + 3 * (high - low):
            found.append(place + 1)
    return found


DETECTORS: dict[str, Detector] = {
    "attnkern": ours,
    "asv": asv,
    "Otava": otava,
    "Otava, p 1e-4": careful_otava,
    "rustc-perf": rustc_perf,
}


def delay(detector: Detector, values: Sequence[float]) -> int | None:
    for more in range(MORE + 1):
        if any(abs(place - FLAT) <= NEAR for place in detector(values[: FLAT + 1 + more])):
            return more
    return None


def side_by_side(rng: np.random.Generator, trials: int) -> None:
    print(
        f"\n{trials} series each, one value a run; delay in runs after the step's own (median, mean), missed in {MORE}"
    )
    print(f"{'noise':>6} {'step':>5}  " + "  ".join(f"{name:>19}" for name in DETECTORS))
    for noise, step in PAIRS:
        found: dict[str, list[int | None]] = {name: [] for name in DETECTORS}
        for _ in range(trials):
            values = 1 + rng.normal(0, noise, FLAT + 1 + MORE)
            values[FLAT:] += step
            for name, detector in DETECTORS.items():
                found[name].append(delay(detector, list(values)))
        cells = []
        for delays in found.values():
            seen = [one for one in delays if one is not None]
            # A miss is later than any delay, so it counts in the median and not in the mean.
            median = statistics.median([MORE + 1 if one is None else one for one in delays])
            told = "never" if median > MORE else f"{median:.0f}"
            mean = f"{statistics.mean(seen):.2f}" if seen else "–"
            cells.append(f"{told:>5} {mean:>5} {1 - len(seen) / trials:>6.1%}")
        print(f"{noise:>6.1%} {step:>5.0%}  " + "  ".join(f"{cell:>19}" for cell in cells))


def false_changes(rng: np.random.Generator, trials: int) -> None:
    few = max(trials // 4, 1)
    print(f"false changes per 1000 steps of flat series of 100 runs: told of the whole series ({trials} of them), and")
    print(f"told at some time while it grew run by run ({few} of them)")
    print(" noise  " + "  ".join(f"{name:>14}" for name in DETECTORS))
    for noise in (0.002, 0.005, 0.01):
        series = [list(1 + rng.normal(0, noise, 100)) for _ in range(trials)]
        cells = []
        for detector in DETECTORS.values():
            whole = sum(len(detector(one)) for one in series) / (0.099 * trials)
            told = sum(len({p for end in range(11, 101) for p in detector(one[:end])}) for one in series[:few])
            cells.append(f"{whole:.2f}, {told / (0.099 * few):.2f}")
        print(f"{noise:>6.1%}  " + "  ".join(f"{cell:>14}" for cell in cells))


def newest_run(rng: np.random.Generator, trials: int) -> None:
    # What a gauge would be: blocks' noise of ten, trimmed, and that between runs.
    pairs = [tuple(sampled(rng, [1.0, 1.0])) for _ in range(20)]
    noise = gauge((first, second) for first, second in pairs)
    print("\n1 % steps at 0.3 % noise of a block (10 blocks a run, 0.05 % between runs), 50 series together:")
    for flat in (5, 20, 40):
        hits = 0
        for _ in range(trials):
            runs = sampled(rng, [1.0] * flat + [1.01])
            judgement = judge(runs, [False] * (flat + 1), noise, 50)[flat]
            hits += judgement.verdict is Verdict.CHANGED and judgement.relevant
        print(f"  on the newest of {flat + 1} runs: found {hits / trials:.1%}")
    false = steps = 0
    for _ in range(trials):
        runs = sampled(rng, [1.0] * 100)
        judged = judge(runs, [False] * 100, noise, 1)
        false += sum(one.verdict is Verdict.CHANGED for one in judged.values())
        steps += len(judged)
    print(f"  and when nothing changed: {1000 * false / steps:.2f} false per 1000 steps, of one series looked at alone")


def sampled(rng: np.random.Generator, means: Sequence[float]) -> list[Run]:
    return [run_of(mean * (1 + rng.normal(0, 0.0005) + rng.normal(0, 0.003, 10))) for mean in means]


def resampled(rng: np.random.Generator, trials: int) -> None:
    """Flat series out of the recorded H200: each run is a bootstrap of one recorded run's blocks, shifted as far as
    two recorded runs of the same code differ."""
    moments = [
        Moment(revision.commit, revision.name, revision.release.uploaded.isoformat())
        for revision in history.revisions()
    ]
    report = find(moments, read_records(CHECKOUT / "results", moments).series)
    machine = [one for one in report.series if one.place.measured]
    runs = [run for one in machine for states in one.times.values() for run in states if isinstance(run, Run)]
    if not runs:
        print("\nno recordings to resample")
        return
    noise = next(iter(report.gauges.values())).times
    between = noise.relative if noise.pairs else 0.0005
    false = steps = hits = 0
    for _ in range(trials):
        base = runs[rng.integers(len(runs))]
        series = [
            Run(base.log + rng.normal(0, base.error) + rng.standard_t(4) * between / np.sqrt(2), base.error)
            for _ in range(41)
        ]
        judged = judge(series[:40], [False] * 40, noise, 50)
        false += sum(one.verdict is Verdict.CHANGED and one.relevant for one in judged.values())
        steps += len(judged)
        series[40] = Run(series[40].log + np.log(1.01), series[40].error)
        newest = judge(series, [False] * 41, noise, 50)[40]
        hits += newest.verdict is Verdict.CHANGED and newest.relevant
    print(f"\nresampled from {len(runs)} recorded runs (noise between runs {between:.3%}, tails of Student's t4):")
    print(
        f"  {1000 * false / steps:.2f} false findings per 1000 steps; 1 % on the newest run found {hits / trials:.1%}"
    )


def scale() -> None:
    rng = np.random.default_rng(3)
    runs = [sampled(rng, [1.0] * 2000) for _ in range(50)]
    started = time.monotonic()
    for one in runs:
        judge(one, [False] * 2000, UNKNOWN, 50)
    print(f"\n2000 revisions × 50 series judged in {time.monotonic() - started:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--trials", type=int, default=200)
    trials = parser.parse_args().trials
    rng = np.random.default_rng(1806)
    false_changes(rng, trials)
    newest_run(rng, trials)
    resampled(rng, trials)
    scale()
    side_by_side(rng, trials)


if __name__ == "__main__":
    main()
