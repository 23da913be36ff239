from pathlib import Path

import pytest

from attnkern.codegen import store
from attnkern.codegen.artifact import Costs
from attnkern.errors import FailedError
from attnkern.home import scratch, sweep
from tests.codegen.builders import FILES, artifact

COMMIT = "a" * 40
COSTS = Costs(2.0, 1.9, 10**8, 120.0, 2**33)


def put(registers: int = 255) -> None:
    with scratch("test") as folder:
        made = folder / "made"
        made.mkdir()
        for name, data in FILES.items():
            (made / name).write_bytes(data)
        store.put(COMMIT, artifact(registers), COSTS, made)


def test_put_and_load(home: Path) -> None:
    assert store.load(COMMIT, artifact().key) is None
    put()
    assert store.load(COMMIT, artifact().key) == artifact()
    assert store.costs(COMMIT, artifact().key) == COSTS
    assert store.read(COMMIT, artifact(), "kernel.ptx") == b"this is ptx"


def test_whoever_is_first_stays(home: Path) -> None:
    put(255)
    put(32)
    assert store.load(COMMIT, artifact().key) == artifact(255)


def test_forget(home: Path) -> None:
    put()
    store.forget(COMMIT, artifact().key)
    assert store.load(COMMIT, artifact().key) is None
    put(32)
    assert store.load(COMMIT, artifact().key) == artifact(32)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"status": "ok"}', '{"status": "ok", "key": {"case": "seed"}}'])
def test_a_damaged_record(home: Path, text: str) -> None:
    put()
    (store.entry(COMMIT, artifact().key) / "outcome.json").write_text(text)
    with pytest.raises(FailedError, match="is damaged: delete that folder and run the command again"):
        store.load(COMMIT, artifact().key)


def test_a_damaged_file(home: Path) -> None:
    put()
    (store.entry(COMMIT, artifact().key) / "kernel.cubin").write_bytes(b"something else")
    with pytest.raises(FailedError, match="is damaged"):
        store.read(COMMIT, artifact(), "kernel.cubin")


def test_sweep_leaves_the_living_alone(home: Path) -> None:
    dead = home / "tmp" / "999999999-triton"
    dead.mkdir(parents=True)
    with scratch("mine") as mine:
        sweep()
        assert mine.exists()
        assert not dead.exists()
