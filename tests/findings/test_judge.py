"""The statistics, against what was put into the series."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attnkern.findings.find import find
from attnkern.findings.judge import Judgement, Noise, Run, Verdict, gauge, judge, run_of
from tests.findings.builders import line, machine, sampled

QUIET = Noise(0.001**2, 100)
"""0.1 % between runs, well known."""


def judged(
    runs: Sequence[Run | None], same: Sequence[bool] | None = None, noise: Noise = QUIET
) -> dict[int, Judgement]:
    return judge(runs, same or [False] * len(runs), noise, series=1)


def test_a_run_is_yuens_trimmed_mean() -> None:
    blocks = [1.01, 0.99, 1.0, 1.02, 0.98, 1.03, 0.97, 1.0, 5.0, 1.005]
    run = run_of(blocks)
    logs = np.log(blocks)
    assert run.value == pytest.approx(math.exp(stats.trim_mean(logs, 0.2)))
    # Yuen 1974: the winsorized sum of squares over h (h - 1), here with scipy's own winsorizing.
    winsorized = stats.mstats.winsorize(logs, (0.2, 0.2))
    assert run.error == pytest.approx(math.sqrt(np.var(winsorized, ddof=1) * 9 / (6 * 5)))
    assert run.error < 0.02  # the block of 5.0 has no part in it


def test_a_step_is_told_at_its_place_with_its_size() -> None:
    rng = np.random.default_rng(1806)
    found = judged(sampled(rng, [1.5] * 10 + [1.53] * 10, 0.003, between=0.001))
    changed = [place for place, judgement in found.items() if judgement.verdict is Verdict.CHANGED]
    assert changed == [10]
    assert found[10].effect == pytest.approx(0.02, abs=0.002)
    assert found[10].interval[0] < 0.02 < found[10].interval[1]


def test_the_newest_revision_is_judged_by_itself() -> None:
    """FACTS: no other tool can say anything of the last point; 1 % at 0.3 % noise of blocks."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(200):
        found = judged(sampled(rng, [2.0] * 12 + [2.02], 0.003, blocks=25, between=0.001))
        hits += found[12].verdict is Verdict.CHANGED and found[12].effect > 0.005
    assert hits >= 190


def test_an_unchanged_series_is_said_to_be_so_and_yields_next_to_nothing() -> None:
    rng = np.random.default_rng(11)

    def unchanged(count: int) -> list[Run]:
        return sampled(rng, [1.0] * count, 0.003, between=0.001)

    noise = gauge(zip(unchanged(200), unchanged(200), strict=True))
    judgements = [one for _ in range(200) for one in judged(unchanged(40), noise=noise).values()]
    assert len(judgements) == 7800
    false = [one for one in judgements if one.verdict is Verdict.CHANGED and one.relevant]
    assert len(false) <= 7.8  # 1 in 1000
    # The newest run alone has an error of 0.14 %, so its interval lies within 0.5 % in at most 87 % of cases.
    assert 0.75 < sum(one.verdict is Verdict.UNCHANGED for one in judgements) / 7800 < 0.9


def test_a_machine_of_which_nothing_is_known_is_judged_with_care() -> None:
    """Two runs 1 % apart prove nothing where the noise is not known; twice the time does."""
    assert judged([Run(0.0, 1e-5), Run(0.01, 1e-5)], noise=Noise(0.0, 0))[1].verdict is Verdict.CANNOT_TELL
    assert judged([Run(0.0, 1e-5), Run(math.log(2), 1e-5)], noise=Noise(0.0, 0))[1].verdict is Verdict.CHANGED


@given(
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=30),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_the_same_machine_code_never_changes(means: list[float], seed: int) -> None:
    runs = sampled(np.random.default_rng(seed), means, 0.003)
    found = judged(runs, [False] + [True] * (len(runs) - 1))
    assert {judgement.verdict for judgement in found.values()} == {Verdict.UNCHANGED}
    assert all(judgement.same_code and judgement.effect == 0 for judgement in found.values())


@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=20), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_no_finding_on_times_where_the_code_is_the_same(codes: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    means = list(np.exp(rng.normal(0, 0.3, len(codes))))
    series = machine(sampled(rng, means, 0.01), sampled(rng, means[::-1], 0.01), codes)
    for finding in find(line(len(codes)), [series]).findings:
        place = int(finding.moment.commit, 16)
        assert codes[place] != codes[place - 1], finding.title


@given(st.floats(1e-6, 1e6), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_unit_has_no_part_in_a_verdict(factor: float, seed: int) -> None:
    runs = sampled(np.random.default_rng(seed), [1.0] * 6 + [1.05] * 6, 0.003)
    scaled = [Run(run.log + math.log(factor), run.error) for run in runs]
    plain, other = judged(runs), judged(scaled)
    assert {p: j.verdict for p, j in plain.items()} == {p: j.verdict for p, j in other.items()}
    for place, judgement in plain.items():
        assert other[place].effect == pytest.approx(judgement.effect, abs=1e-9)
        assert other[place].after == pytest.approx(judgement.after * factor, rel=1e-6)


@given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), max_size=25))
@settings(max_examples=80, deadline=None)
def test_every_run_after_the_first_has_an_answer_and_nothing_else_has(logs: list[float | None]) -> None:
    runs = [None if log is None else Run(log, 1e-4) for log in logs]
    known = [place for place, run in enumerate(runs) if run is not None]
    assert sorted(judged(runs)) == known[1:]


def test_a_step_that_more_runs_place_elsewhere_is_told_once() -> None:
    """One wild run looks like a step; the runs after it show that there was none, and there is no finding left."""
    level = [Run(0.0005 * (-1) ** place, 1e-4) for place in range(12)]
    assert judged([*level, Run(0.03, 1e-4)])[12].verdict is Verdict.CHANGED
    after = judged([*level, Run(0.03, 1e-4), *level])
    assert [place for place, one in after.items() if one.verdict is Verdict.CHANGED and one.relevant] in ([], [12, 13])


def test_the_gauge_is_the_spread_between_runs() -> None:
    rng = np.random.default_rng(3)
    pairs = [(Run(a, 0.0), Run(b, 0.0)) for a, b in rng.normal(0, 0.004, (20000, 2))]
    # The widest 2 % are left out, which takes 14 % off the variance of a normal distribution.
    kept = stats.chi2.expect(lambda x: x, args=(1,), ub=stats.chi2.ppf(0.98, 1)) / 0.98
    assert gauge(pairs).variance == pytest.approx(0.004**2 * kept, rel=0.03)
    assert gauge([]) == Noise(0.0, 0)
