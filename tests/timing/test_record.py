import json
from pathlib import Path

import pytest
from asv.results import Results

from attnkern.errors import FailedError, UserError
from attnkern.timing import record, report
from attnkern.timing.measurement import Measurement, Times


def measured(release: str = "3.2.0", gap: float = 1.2, gpu: str = "NVIDIA H200", **fields: object) -> Measurement:
    direct, transposed = [1.2 * gap, 1.21 * gap], [1.2, 1.21]
    return Measurement(
        commit=release.replace(".", "") * 13,
        release=release,
        released="2025-01-22T19:12:21+00:00",
        case="seed",
        code="native",
        inputs="normal",
        formulations={
            "direct": timed(direct, 3e-4, 1.5),
            "transposed": timed(transposed, 2e-4, 1.25),
        },
        gap_samples=[gap, gap],
        gap=gap,
        gap_ci=0.001,
        yardstick_ms={"flash": 0.6, "cudnn": 0.3},
        wall_s=1.0,
        machine={"gpu": gpu, "driver": "580"},
        **fields,  # type: ignore[arg-type]
    )


def timed(samples: list[float], error: float, anchor_ratio: float) -> Times:
    """At 1980 MHz, which is what an H200 runs at."""
    return Times(
        "ok", samples_ms=samples, sm_clocks_mhz=[1980, 1980], ms=samples[0], ci_ms=0.01, mcycles=1.98 * samples[0],
        error=error, registers=255, local_bytes_per_thread=0, anchor_ratio=anchor_ratio,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_asv_reads_what_is_recorded(results: Path) -> None:
    (path,) = record.record([measured()], "h200")
    loaded = Results.load(str(path), machine_name="h200")
    params = loaded.get_result_params("timing.track_gap")
    assert params[0][0] == "'seed'"
    assert loaded.get_result_value("timing.track_gap", params)[0] == pytest.approx(1.2)
    assert loaded.get_result_samples("timing.track_gap", params)[0] == [1.2, 1.2]
    params = loaded.get_result_params("timing.track_time_ms")
    values = loaded.get_result_value("timing.track_time_ms", params)
    assert values[0] == pytest.approx((1.2 * 1.2 + 1.21 * 1.2) / 2)
    tflops = loaded.get_result_value("timing.track_tflops", loaded.get_result_params("timing.track_tflops"))
    assert tflops[len(tflops) // 2] == pytest.approx(171_798_691_840 / 1.2e-3 / 1e12)
    assert json.loads((results / "h200" / "machine.json").read_text())["cpu"] == "NVIDIA H200"


def test_a_failure_is_asvs_failure_and_an_unmeasured_case_is_not() -> None:
    failed = measured(gap=1.2)
    failed = Measurement(**{**vars(failed), "formulations": {**failed.formulations, "direct": Times("wrong-result")}})
    (path,) = record.record([failed], "h200")
    times = json.loads(path.read_text())["results"]["timing.track_time_ms"][0]
    assert times[0] is None  # direct, seed, native
    assert times[1] != times[1]  # direct, seed, ported: NaN


def test_read_back_and_replaced() -> None:
    record.record([measured(gap=1.2)], "h200")
    record.record([measured(gap=1.3), measured("3.3.0", gap=1.1)], "h200")
    found = record.recorded("h200", "seed")
    assert [(m.release, m.gap) for m in found] == [("3.2.0", 1.3), ("3.3.0", 1.1)]
    rows = [row for m in found for row in report.as_json(m)]
    assert [(row["release"], row["formulation"], row["status"], row["samples"]) for row in rows[:2]] == [
        ("3.2.0", "direct", "ok", 2),
        ("3.2.0", "transposed", "ok", 2),
    ]
    assert (rows[0]["error"], rows[0]["sm_clock_mhz"]) == (3e-4, 1980)
    assert rows[1]["mcycles"] == pytest.approx(2.376)
    assert report.gap_in_cycles(found[0]) == pytest.approx(1.3)


def test_the_committed_recordings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    found = record.recorded("h200", "seed")
    assert {m.code for m in found} == {"native", "ported"}
    assert len({m.release for m in found}) == 18


def test_another_gpu_under_the_same_name(results: Path) -> None:
    record.record([measured()], "h200")
    before = sorted(results.rglob("*"))
    with pytest.raises(UserError, match="'h200' in results is a NVIDIA H200, this one is a NVIDIA A100: give another"):
        record.record([measured("3.3.0", gpu="NVIDIA A100")], "h200")
    assert sorted(results.rglob("*")) == before


def test_a_shared_gpu_is_not_recorded() -> None:
    with pytest.raises(FailedError, match=r"another process used this GPU during 1 of 2 .*nothing is recorded"):
        record.check_recordable([measured(), measured("3.3.0", marks=["shared"])])
    record.check_recordable([measured(marks=["throttled"])])


def test_an_unknown_machine() -> None:
    with pytest.raises(UserError, match="no recordings of a machine 'a100': there are none"):
        record.recorded("a100", "seed")
    record.record([measured()], "h200")
    with pytest.raises(UserError, match="there are h200"):
        record.recorded("a100", "seed")
