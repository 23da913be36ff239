"""The asv suite's timing half, as asv calls it: the cache pickled, then `setup` and `track_…` for each combination."""

import pickle
import sys
from types import ModuleType

import pytest

from attnkern.home import CHECKOUT
from attnkern.timing.measurement import Times
from tests.timing.test_record import measured


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(CHECKOUT), *sys.path])
    from benchmarks import timing

    return timing


def test_samples_of_each_series(suite: ModuleType) -> None:
    cache = pickle.loads(pickle.dumps({("seed", "native"): measured(gap=1.2)}))
    suite.setup(cache, "seed", "native")
    assert suite.track_gap(cache, "seed", "native") == {"samples": [1.2, 1.2], "number": 1}
    assert suite.track_gap_reciprocal(cache, "seed", "native")["samples"] == [1 / 1.2, 1 / 1.2]
    assert suite.track_time_ms(cache, "transposed", "seed", "native") == {"samples": [1.2, 1.21], "number": 1}
    assert suite.track_over_yardstick(cache, "transposed", "seed", "native") == pytest.approx(1.2 / 0.3)
    assert suite.track_anchor_ratio(cache, "direct", "seed", "native") == 1.5


def test_without_a_gpu_the_reason_is_told(suite: ModuleType) -> None:
    with pytest.raises(NotImplementedError, match=r"^no GPU here$"):
        suite.setup({("", ""): "no GPU here"}, "direct", "seed", "native")


def test_what_was_not_measured(suite: ModuleType) -> None:
    cache = {("seed", "native"): measured()}
    with pytest.raises(NotImplementedError, match="not measured"):
        suite.setup(cache, "direct", "seed", "ported")


def test_a_failure_is_told(suite: ModuleType) -> None:
    failed = measured()
    failed.formulations["direct"] = Times("wrong-result", "relative error 1.4")
    with pytest.raises(RuntimeError, match=r"direct: wrong-result relative error 1\.4"):
        suite.track_time_ms({("seed", "native"): failed}, "direct", "seed", "native")
