"""How fast the bundle that asv installed runs on this machine's GPU; n/a, with the reason, where there is none.

One measurement of each case per revision, in `setup_cache`; the benchmarks hand out its samples. ATTNKERN_CODES names
what is measured, "native" unless it says otherwise: "native,ported" adds the sm_80 code on a newer GPU.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnkern.codegen import bundle
from attnkern.errors import UserError
from attnkern.timing.measurement import Measurement
from attnkern.timing.series import CODES, SERIES, Series
from attnkern.timing.session import Job, Session

Cache = dict[tuple[str, str], Measurement | str]


def setup_cache() -> Cache:
    """Measurements by (case, code); under ("", "") why there are none."""
    spec = importlib.util.find_spec("attnkern_bundle")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    cases = sorted({outcome.key.case for outcome in bundle.read(package).outcomes})
    wanted = os.environ.get("ATTNKERN_CODES", "native").split(",")
    try:
        with Session() as session:
            return {
                (case, code): session.measure(Job(package, case, code))
                for code in CODES
                if code in wanted
                for case in cases
            }
    except UserError as error:
        return {("", ""): str(error)}


setup_cache.timeout = 3600


def setup(cache: Cache, *params: str) -> None:
    if ("", "") in cache:
        raise NotImplementedError(cache["", ""])
    if params[-2:] not in cache:
        raise NotImplementedError("not measured: not in this bundle, or not among ATTNKERN_CODES")


def benchmark(series: Series) -> Callable[..., Any]:
    def track(cache: Cache, *params: str) -> float | dict[str, Any]:
        *formulation, case, code = params
        measured = cache[case, code]
        assert isinstance(measured, Measurement)
        samples = series.samples(measured, *formulation or [""])
        if not samples:
            raise RuntimeError(
                "; ".join(f"{name}: {t.status} {t.message}" for name, t in measured.formulations.items())
            )
        return {"samples": samples, "number": 1} if len(samples) > 1 else samples[0]

    track.__name__, track.__doc__ = series.name, series.doc
    track.params, track.param_names = series.params, series.param_names
    track.unit, track.version, track.timeout = series.unit, "1", 60
    track.setup, track.setup_cache = setup, setup_cache
    return track


globals().update({series.name: benchmark(series) for series in SERIES})
