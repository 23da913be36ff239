"""What the rules find in the recorded releases, against lists written by hand from the figures before the rules ran."""

from __future__ import annotations

import pytest

from attnkern.cases import CASES
from attnkern.findings.find import Report, find
from attnkern.findings.finding import Finding
from attnkern.findings.records import read_records
from tests.findings.builders import moments, write_results

# Read off figures.tsv: (release, kind, compared with). Every case's transposed form first compiles for sm_80 in 2.1.0,
# and everything first compiles for sm_90 there.
FIRST_TRANSPOSED = ("2.1.0", "recovered", "transposed", "2.0.0")
FIRST_OF_SM_90 = {("2.1.0", "recovered", "direct", "2.0.0"), FIRST_TRANSPOSED}

COLLAPSED_TOGETHER = {  # seed and bf16 on sm_80: the issue's own story
    FIRST_TRANSPOSED,
    ("3.3.0", "cannot-launch", "direct", "3.2.0"),  # 163840 to 196608 bytes of shared memory, an A100 grants 166912
    ("3.3.0", "transposed-regressed", "transposed", "3.2.0"),  # 255 to 32 registers, floor 2.5 to 55.1 ms
    ("3.3.0", "gap-closed-by-transposed", "transposed", "3.2.0"),
}

EXPECTED = {
    ("seed", "sm_80"): COLLAPSED_TOGETHER,
    ("bf16", "sm_80"): {
        *COLLAPSED_TOGETHER,
        ("2.1.0", "direct-regressed", "direct", "2.0.0"),  # 255 to 32 registers, floor 2.9 to 50.5 ms
    },
    # The direct form collapses (2.1.0), recovers (3.2.0) and collapses again (3.3.0).
    ("tile-128x64", "sm_80"): {
        FIRST_TRANSPOSED,
        ("2.1.0", "direct-regressed", "direct", "2.0.0"),  # 255 to 32, floor 0.7 to 77.5
        ("2.2.0", "transposed-improved", "transposed", "2.1.0"),  # floor 5.4 to 0.8
        ("3.2.0", "direct-improved", "direct", "3.1.0"),  # 32 to 255, floor 73.2 to 0.8
        ("3.2.0", "gap-closed-by-direct", "direct", "3.1.0"),
        ("3.3.0", "direct-regressed", "direct", "3.2.0"),  # 255 to 32, floor 0.8 to 81.3
        ("3.3.0", "gap-opened", "direct", "3.2.0"),
        ("3.3.0", "transposed-regressed", "transposed", "3.2.0"),  # floor 0.4 to 4.4, registers stay 255
        ("3.4.0", "transposed-improved", "transposed", "3.3.1"),  # floor 4.4 to 3.5
        ("3.5.0", "transposed-improved", "transposed", "3.4.0"),  # floor 3.5 to 0.4
    },
    # The gap inverts in 3.3 and 3.4: the transposed form alone collapses; 3.5.0 repairs it.
    ("tile-64x128", "sm_80"): {
        FIRST_TRANSPOSED,
        ("2.1.0", "direct-improved", "direct", "2.0.0"),  # floor 7.2 to 4.1, registers 128 to 255
        ("2.2.0", "direct-regressed", "direct", "2.1.0"),  # floor 4.1 to 6.1, registers 255 to 128
        ("3.0.0", "transposed-regressed", "transposed", "2.3.1"),  # floor 6.4 to 7.4
        ("3.3.0", "transposed-regressed", "transposed", "3.2.0"),  # 128 to 32, floor 7.3 to 67.1
        ("3.3.0", "gap-inverted", "transposed", "3.2.0"),
        ("3.5.0", "direct-improved", "direct", "3.4.0"),  # 128 to 255, floor 6.9 to 0.2
        ("3.5.0", "transposed-improved", "transposed", "3.4.0"),  # 32 to 255, floor 67.5 to 0.5
    },
    ("tile-64x64", "sm_80"): {
        FIRST_TRANSPOSED,
        ("2.1.0", "direct-regressed", "direct", "2.0.0"),  # floor 0.1 to 14.0, though two programs fit instead of one
        ("2.2.0", "direct-improved", "direct", "2.1.0"),
        ("2.2.0", "transposed-improved", "transposed", "2.1.0"),  # floor 13.2 to 0.05
    },
    ("tile-64x64-w4", "sm_80"): {
        FIRST_TRANSPOSED,
        ("2.1.0", "direct-improved", "direct", "2.0.0"),  # 32 to 168, floor 53.3 to 7.8
        ("2.2.0", "direct-regressed", "direct", "2.1.0"),  # 168 to 32, floor 7.8 to 56.3
        ("2.2.0", "transposed-regressed", "transposed", "2.1.0"),  # 255 to 32, floor 5.3 to 56.8
        ("3.3.0", "direct-regressed", "direct", "3.2.0"),  # shared 73728 to 90112: one program fits instead of two
        ("3.5.0", "transposed-improved", "transposed", "3.4.0"),  # floor 55.1 to 48.6, 12 %, still collapsed
        ("3.8.0", "direct-improved", "direct", "3.7.1"),  # 32 to 255, floor 49.0 to 0.2
        ("3.8.0", "transposed-improved", "transposed", "3.7.1"),
    },  # and no finding on the gap of 2.1.0, for 2.0.0 has no transposed form
    ("d64", "sm_80"): {FIRST_TRANSPOSED},  # never a floor over 0.3 ms
    ("seed", "sm_90"): {
        *FIRST_OF_SM_90,
        ("2.2.0", "direct-improved", "direct", "2.1.0"),  # floor 1.3 to 0.3: the stacks fit into the L2
        ("3.0.0", "direct-regressed", "direct", "2.3.1"),  # floor 0.3 to 1.6: they don't any more
        ("3.0.0", "transposed-regressed", "transposed", "2.3.1"),
        ("3.2.0", "direct-improved", "direct", "3.1.0"),
        ("3.2.0", "transposed-improved", "transposed", "3.1.0"),
    },
    ("bf16", "sm_90"): {
        *FIRST_OF_SM_90,
        ("3.0.0", "direct-regressed", "direct", "2.3.1"),
        ("3.0.0", "transposed-regressed", "transposed", "2.3.1"),
        ("3.2.0", "direct-improved", "direct", "3.1.0"),
        ("3.2.0", "transposed-improved", "transposed", "3.1.0"),
    },
    ("tile-128x64", "sm_90"): FIRST_OF_SM_90,
    ("tile-64x128", "sm_90"): {
        *FIRST_OF_SM_90,
        ("3.3.0", "cannot-compile", "transposed", "3.2.0"),
        ("3.4.0", "recovered", "transposed", "3.3.1"),
    },
    ("tile-64x64", "sm_90"): {
        *FIRST_OF_SM_90,
        ("2.2.0", "direct-improved", "direct", "2.1.0"),  # floor 6.2 to 0.4
        ("3.2.0", "cannot-compile", "direct", "3.1.0"),
        ("3.2.0", "cannot-compile", "transposed", "3.1.0"),
        ("3.3.0", "recovered", "direct", "3.2.0"),
        ("3.4.0", "recovered", "transposed", "3.3.1"),
    },
    ("tile-64x64-w4", "sm_90"): FIRST_OF_SM_90,
    ("d64", "sm_90"): FIRST_OF_SM_90,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNKERN_HOME", str(tmp_path_factory.mktemp("home")))
        releases = moments()
    records = read_records(write_results(tmp_path_factory.mktemp("results"), releases), releases)
    assert records.warnings == []
    return find(records.moments, records.series)


@pytest.mark.parametrize(("case", "target"), EXPECTED, ids="-".join)
def test_the_compilers_figures_give_the_list_written_by_hand(report: Report, case: str, target: str) -> None:
    found = [f for f in report.findings if (f.case, f.place.name) == (case, target)]
    assert {brief(f) for f in found} == EXPECTED[case, target]
    assert len(found) == len(EXPECTED[case, target])  # one event, one finding


def test_every_case_has_a_list() -> None:
    assert {case for case, _ in EXPECTED} == set(CASES)


def test_the_issues_own_story_comes_first(report: Report) -> None:
    first, second, third = (f for f in report.findings[:3])
    assert [brief(f) for f in (first, second, third)] == [
        ("3.3.0", "cannot-launch", "direct", "3.2.0"),
        ("3.3.0", "transposed-regressed", "transposed", "3.2.0"),
        ("3.3.0", "gap-closed-by-transposed", "transposed", "3.2.0"),
    ]
    assert {f.case for f in (first, second, third)} == {"seed"}
    assert first.evidence[0].after == "196608 bytes of shared memory, A100 grants 166912"
    moved = {e.figure: (e.before, e.after) for e in second.evidence}
    assert moved["registers"] == (255, 32)
    assert moved["stack"] == (1488, 16616)
    assert second.before == pytest.approx(2.5, abs=0.06)
    assert second.after == pytest.approx(55.1, abs=0.06)
    assert third.before == pytest.approx(51.8 / 2.55, rel=0.01)


def on_h200(report: Report, code: str = "native", case: str = "seed") -> dict[tuple[str, str], Finding]:
    return {
        (f.moment.release, f.kind): f
        for f in report.findings
        if (f.place.name, f.place.code, f.case) == ("h200", code, case)
    }


def test_the_recorded_h200_shows_its_regressions_and_improvements(report: Report) -> None:
    found = on_h200(report)
    # Medians of the recording: direct 1.343 to 1.559 ms, transposed 1.198 to 1.343 ms.
    assert found["3.4.0", "direct-regressed"].effect == pytest.approx(1.5585 / 1.3427 - 1, abs=0.003)
    assert found["3.4.0", "transposed-regressed"].effect == pytest.approx(1.3433 / 1.1976 - 1, abs=0.003)
    for release in ("3.2.0", "3.3.0"):
        for form in ("direct", "transposed"):
            improved = found[release, f"{form}-improved"]
            assert improved.effect is not None and improved.effect < -0.15
            assert improved.interval is not None and improved.interval[1] < 0


def test_the_h200s_gap_closed_by_3_6_because_the_transposed_form_became_slower(report: Report) -> None:
    closed = on_h200(report)["3.6.0", "gap-closed-by-transposed"]
    assert (closed.before, closed.after) == (pytest.approx(1.076, abs=0.001), pytest.approx(1.026, abs=0.001))
    moved = {e.figure: (e.before, e.after) for e in closed.evidence}
    assert moved["transposed time"] == (pytest.approx(1.2845, rel=1e-3), pytest.approx(1.3972, rel=1e-3))
    assert moved["direct time"] == (pytest.approx(1.3822, rel=1e-3), pytest.approx(1.4344, rel=1e-3))


def test_wrong_code_is_told_once_with_what_was_wrong(report: Report) -> None:
    """Native tile-64x128: 3.0.0 and 3.1.0 fault, 3.2.0 computes something else, 3.3.0 is right again."""
    mine = [f for f in report.findings if f.case == "tile-64x128" and f.place.slug == "h200"]
    wrong = [brief(f) for f in mine if f.kind == "wrong-result"]
    assert sorted(wrong) == [
        ("3.0.0", "wrong-result", "direct", "2.3.1"),
        ("3.0.0", "wrong-result", "transposed", "2.3.1"),
    ]
    assert ("3.3.0", "recovered", "direct", "3.2.0") in {brief(f) for f in mine}


def test_releases_with_the_same_machine_code_have_no_time_finding_and_gauge_the_noise(report: Report) -> None:
    same = {"2.3.0", "2.3.1", "3.1.0", "3.3.1", "3.5.1", "3.7.1"}
    assert not [f.title for f in report.findings if f.moment.release in same]
    gauge = next(g for place, g in report.gauges.items() if place.slug == "h200")
    assert gauge.times.pairs > 70
    # The recording's own repeats: five processes of one artifact spread by 0.03 % to 0.14 %.
    assert 0.0002 < gauge.times.relative < 0.001


def brief(finding: Finding) -> tuple[str, str, str, str]:
    return finding.moment.release, finding.kind, finding.formulation, finding.since.release
