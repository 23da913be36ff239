"""The timing benchmarks: which series a measurement feeds, in one list for the asv suite and for `measure --record`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnkern.cases import CASES, FORMULATIONS, case_named
from attnkern.timing.measurement import Measurement

CODES = ("native", "ported")


@dataclass(frozen=True)
class Series:
    """One benchmark over (case, code), or over (formulation, case, code) when `of_formulation`.

    `samples` gives a measurement's values, for a formulation where it has one; none where there is nothing.
    """

    name: str
    unit: str
    doc: str
    of_formulation: bool
    samples: Callable[[Measurement, str], list[float]]

    @property
    def param_names(self) -> list[str]:
        return [*(["formulation"] if self.of_formulation else []), "case", "code"]

    @property
    def params(self) -> list[list[str]]:
        formulations: list[list[str]] = [list(FORMULATIONS)] if self.of_formulation else []
        return [*formulations, list(CASES), list(CODES)]


def scalar(value: float | None) -> list[float]:
    return [] if value is None else [value]


def tflops(measurement: Measurement, formulation: str) -> list[float]:
    ms = measurement.formulations[formulation].ms
    return scalar(case_named(measurement.case).flops / ms / 1e9 if ms else None)


def over_yardstick(measurement: Measurement, formulation: str) -> list[float]:
    ms = measurement.formulations[formulation].ms
    best = min(measurement.yardstick_ms.values(), default=None)
    return scalar(ms / best if ms and best else None)


SERIES = (
    Series("track_time_ms", "ms", "Device time of one launch.", True,
           lambda measurement, formulation: measurement.formulations[formulation].samples_ms),
    Series("track_gap", "x", "Direct over transposed time, of alternating launches.", False,
           lambda measurement, _: measurement.gap_samples),
    Series("track_gap_reciprocal", "x", "Transposed over direct time: rises when the gap closes.", False,
           lambda measurement, _: [1 / gap for gap in measurement.gap_samples]),
    Series("track_anchor_ratio", "x", "Time over that of the fixed anchor artifact.", True,
           lambda measurement, formulation: scalar(measurement.formulations[formulation].anchor_ratio)),
    Series("track_tflops", "TFLOP/s", "The five products' operations over the time.", True, tflops),
    Series("track_over_yardstick", "x", "Time over the faster of PyTorch's own backwards.", True, over_yardstick),
    Series("track_error", "1", "Largest relative error of dq, dk, dv against float64.", True,
           lambda measurement, formulation: scalar(measurement.formulations[formulation].error)),
)  # fmt: skip
