"""A measurement: what was timed of one (revision, case, code) on one GPU, as plain data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

Code = Literal["native", "ported"]
"""Machine code that the revision made for this GPU, or its sm_80 PTX assembled for it by the driver."""

PORTED_TARGET = "sm_80"


@dataclass(frozen=True)
class Times:
    """Of one formulation."""

    status: str
    """"ok", "not-compiled", "cannot-launch", "wrong-result", "fault", "timeout" or "out-of-memory"."""
    message: str = ""
    samples_ms: list[float] = field(default_factory=list)
    sm_clocks_mhz: list[int] = field(default_factory=list)
    """While each sample ran."""
    ms: float | None = None
    """Median of the samples."""
    ci_ms: float | None = None
    """Half the 95 % interval of the mean over blocks."""
    mcycles: float | None = None
    """Median of the samples in millions of clock cycles: a difference of times that is not one of clocks shows here."""
    error: float | None = None
    """The largest relative error among dq, dk and dv; None where the inputs can't be checked."""
    registers: int | None = None
    local_bytes_per_thread: int | None = None
    """As the driver reports for the loaded code."""
    anchor_ratio: float | None = None
    spill_floor_ms: float | None = None
    """Predicted for this GPU from the machine code in the bundle (for ported code: that for sm_80); None for a GPU
    that is not in the table."""


@dataclass(frozen=True)
class DeviceState:
    sm_clock_mhz: int
    memory_clock_mhz: int
    temperature_c: int
    power_w: float
    throttle: list[str]
    other_processes: int


@dataclass(frozen=True)
class Measurement:
    commit: str
    release: str
    released: str
    """ISO date of the revision."""
    case: str
    code: Code
    inputs: str
    """"normal" (checked) or "issue" (timing alone)."""
    formulations: dict[str, Times]
    gap_samples: list[float] = field(default_factory=list)
    """Direct over transposed time of each block of the rotation."""
    gap: float | None = None
    gap_ci: float | None = None
    """Half the 95 % interval."""
    anchor_ms: float | None = None
    anchor_samples_ms: list[float] = field(default_factory=list)
    yardstick_ms: dict[str, float] = field(default_factory=dict)
    """PyTorch's own backward on this shape, by its name ("flash", "cudnn")."""
    before: DeviceState | None = None
    after: DeviceState | None = None
    marks: list[str] = field(default_factory=list)
    """Why not to trust it: "throttled", "shared"."""
    wall_s: float = 0.0
    machine: dict[str, str] = field(default_factory=dict)
    """GPU, driver, torch, seed of the inputs."""


def to_dict(measurement: Measurement) -> dict[str, Any]:
    return dataclasses.asdict(measurement)


def from_dict(data: dict[str, Any]) -> Measurement:
    """The inverse of `to_dict`; raises TypeError or KeyError on anything else."""
    return Measurement(
        **data
        | {
            "formulations": {name: Times(**times) for name, times in data["formulations"].items()},
            "before": DeviceState(**data["before"]) if data["before"] else None,
            "after": DeviceState(**data["after"]) if data["after"] else None,
        }
    )
