"""The session over a measuring process that is only acted: one that dies, hangs, or reports a fault on cue."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attnkern.errors import FailedError
from attnkern.timing.measurement import Measurement, Times, to_dict
from attnkern.timing.session import Job, Session

# Acts by the job's case: "kill-direct" dies while it checks the direct form, and so on.
ACTOR = """
import json, os, sys, time
sys.path.insert(0, {checkout!r})
from attnkern.timing.measurement import Measurement, Times, to_dict

def say(line):
    print(json.dumps(line), flush=True)

open({starts!r}, "a").write("x")
say({first})
marks = {marks}
for line in sys.stdin:
    job = json.loads(line)
    act, _, whom = job["case"].partition("-")
    times = {{}}
    for formulation in ("direct", "transposed"):
        if formulation in job["skip"]:
            times[formulation] = Times(*job["skip"][formulation])
            continue
        say({{"phase": "check " + formulation}})
        if whom == formulation and act == "kill":
            os._exit(9)
        if whom == formulation and act == "hang":
            time.sleep(60)
        if whom == formulation and act == "fault":
            say({{"fault": [formulation, "fault", "an illegal memory access was encountered"]}})
            os._exit(1)
        times[formulation] = Times("ok", ms=1.0, samples_ms=[1.0])
    if act == "old":
        say({{"unusable": "driver 450 is too old"}})
        continue
    if act == "always":
        say({{"phase": "reference"}})
        os._exit(9)
    say({{"phase": "time"}})
    mark = marks.pop(0) if marks else []
    given = (job["case"], job["code"], job["inputs"])
    say({{"measurement": to_dict(Measurement("c" * 40, "3.2.0", "2025-01-22", *given, times, marks=mark))}})
"""


@pytest.fixture
def acted(tmp_path: Path):
    def make(first: str = '{"ready": {}}', marks: str = "[]", silence_s: float = 5.0) -> Session:
        from attnkern.home import CHECKOUT

        text = ACTOR.format(checkout=str(CHECKOUT), starts=str(tmp_path / "starts"), first=first, marks=marks)
        (tmp_path / "actor.py").write_text(text)
        return Session([sys.executable, str(tmp_path / "actor.py")], silence_s)

    return make


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "starts").read_text())


def statuses(measurement: Measurement) -> dict[str, str]:
    return {name: times.status for name, times in measurement.formulations.items()}


@pytest.mark.parametrize(
    ("case", "status", "message"),
    [
        ("kill-direct", "fault", "the measuring process died"),
        ("fault-direct", "fault", "an illegal memory access was encountered"),
        ("hang-direct", "timeout", "silent for 1 s"),
    ],
)
def test_a_fault_costs_one_formulation(acted, tmp_path: Path, case: str, status: str, message: str) -> None:
    with acted(silence_s=1.0) as session:
        measurement = session.measure(Job(tmp_path, case, "native"))
        after = session.measure(Job(tmp_path, "well", "native"))
    assert statuses(measurement) == {"direct": status, "transposed": "ok"}
    assert measurement.formulations["direct"].message == message
    assert statuses(after) == {"direct": "ok", "transposed": "ok"}
    assert starts(tmp_path) == 2


def test_one_process_for_all_jobs(acted, tmp_path: Path) -> None:
    with acted() as session:
        for _ in range(5):
            assert statuses(session.measure(Job(tmp_path, "well", "native"))) == {"direct": "ok", "transposed": "ok"}
    assert starts(tmp_path) == 1


def test_a_death_that_is_nobodys_fault_ends_the_session(acted, tmp_path: Path) -> None:
    with acted() as session, pytest.raises(FailedError, match=r"measuring failed at reference .*is the GPU healthy"):
        session.measure(Job(tmp_path, "always", "native"))


def test_a_driver_too_old_for_the_code(acted, tmp_path: Path) -> None:
    with acted() as session, pytest.raises(FailedError, match=r"^driver 450 is too old$"):
        session.measure(Job(tmp_path, "old", "native"))


@pytest.mark.parametrize(
    ("marks", "kept"),
    [('[["throttled"], []]', []), ('[["throttled"], ["shared"]]', ["shared"]), ("[[]]", [])],
)
def test_a_throttled_measurement_is_repeated_once(acted, tmp_path: Path, marks: str, kept: list[str]) -> None:
    with acted(marks=marks) as session:
        assert session.measure(Job(tmp_path, "well", "native")).marks == kept


def test_a_machine_that_cannot_measure(acted, tmp_path: Path) -> None:
    with acted(first='{"unusable": "no GPU here"}') as session, pytest.raises(FailedError, match=r"^no GPU here$"):
        session.measure(Job(tmp_path, "well", "native"))


def test_the_real_process_without_a_gpu(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with Session() as session, pytest.raises(FailedError, match=r"no GPU here .* timing does"):
        session.measure(Job(tmp_path, "seed", "native"))


def test_measurements_round_trip() -> None:
    from attnkern.timing.measurement import DeviceState, from_dict

    state = DeviceState(1980, 3201, 40, 300.5, ["power-cap"], 0)
    whole = Measurement(
        "c" * 40, "3.2.0", "2025-01-22", "seed", "ported", "normal", {"direct": Times("ok", ms=1.0)}, before=state
    )
    assert from_dict(to_dict(whole)) == whole
