"""The GPUs that a profile is held against: limits and bandwidths, each with its source.

Limits per compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
Multiprocessors, L2, memory bandwidth and boost clock: NVIDIA's architecture whitepapers and datasheets, named
at each GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attnkern.errors import UserError

REGISTERS_PER_SM = 65536
MAX_THREADS_PER_PROGRAM = 1024
REGISTER_UNIT = 256  # a warp's registers are allotted in units of 256, for all capabilities from 5.0 on
RESERVED_SHARED_BYTES = 1024  # the system's own share per program, from capability 8.0 on
L2_BYTES_PER_SM_CLOCK = 64
"""Width of a multiprocessor's path to the L2 (Ampere whitepaper: 5120 bytes a clock for the whole A100, which is less).
An upper bound, so that a floor computed from it stays a floor."""


@dataclass(frozen=True)
class Gpu:
    name: str
    capability: int
    multiprocessors: int
    shared_bytes_per_program: int
    """The most that a launch can ask for."""
    shared_bytes_per_sm: int
    threads_per_sm: int
    programs_per_sm: int
    l2_bytes: int
    memory_bytes_per_s: float
    clock_hz: float
    """Boost clock."""
    source: str

    @property
    def l2_bytes_per_s(self) -> float:
        return self.multiprocessors * L2_BYTES_PER_SM_CLOCK * self.clock_hz

    def runs(self, target: str) -> bool:
        """Whether machine code for `target` runs here: the same major capability, no newer minor one.

        CUDA C++ Programming Guide, "Binary Compatibility".
        """
        number = int(target.removeprefix("sm_"))
        return number // 10 == self.capability // 10 and number <= self.capability


KIB, MIB = 1 << 10, 1 << 20

GPUS: Mapping[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        Gpu("A100", 80, 108, 163 * KIB, 164 * KIB, 2048, 32, 40 * MIB, 2.04e12, 1.410e9,
            "NVIDIA A100 80GB SXM datasheet; Ampere whitepaper"),
        Gpu("H100", 90, 132, 227 * KIB, 228 * KIB, 2048, 32, 50 * MIB, 3.35e12, 1.980e9,
            "NVIDIA H100 SXM datasheet; Hopper whitepaper"),
        Gpu("H200", 90, 132, 227 * KIB, 228 * KIB, 2048, 32, 60 * MIB, 4.8e12, 1.980e9,
            "NVIDIA H200 SXM datasheet; L2 as the driver reports it"),
        Gpu("A10G", 86, 80, 99 * KIB, 100 * KIB, 1536, 16, 6 * MIB, 600e9, 1.710e9,
            "NVIDIA A10G datasheet; GA102 whitepaper"),
        Gpu("L4", 89, 58, 99 * KIB, 100 * KIB, 1536, 24, 48 * MIB, 300e9, 2.040e9,
            "NVIDIA L4 datasheet; Ada whitepaper"),
        Gpu("B200", 100, 148, 227 * KIB, 228 * KIB, 2048, 32, 126 * MIB, 8.0e12, 1.965e9,
            "NVIDIA B200 datasheet; Blackwell architecture brief"),
        Gpu("RTX 5090", 120, 170, 99 * KIB, 100 * KIB, 1536, 24, 96 * MIB, 1.792e12, 2.407e9,
            "NVIDIA RTX Blackwell whitepaper"),
    )
}  # fmt: skip

REFERENCE = {"sm_80": "A100", "sm_86": "A10G", "sm_89": "L4", "sm_90": "H200", "sm_100": "B200", "sm_120": "RTX 5090"}
"""The GPU whose figures stand for a target where one is wanted: the nightly job's A100, the recordings' H200."""

TARGETS = tuple(REFERENCE)

SUITE_TARGETS = ("sm_80", "sm_90")
"""What bundles hold by default, the suite records and the anchor is made for; the others are for `attnkern profile`."""


def gpu_named(name: str) -> Gpu:
    for gpu in GPUS.values():
        if gpu.name.lower().replace(" ", "") == name.lower().replace(" ", "").replace("-", ""):
            return gpu
    raise UserError(f"unknown GPU {name!r}: choose from {', '.join(GPUS)}")


def known_model(driver_name: str) -> Gpu | None:
    """The GPU of the table that a driver calls "NVIDIA H200" or "NVIDIA A100-SXM4-80GB", if it is in it."""
    words = driver_name.replace("-", " ").split()
    return next((gpu for gpu in GPUS.values() if set(gpu.name.split()) <= set(words)), None)


def target_named(name: str) -> str:
    if name in TARGETS:
        return name
    raise UserError(f"unknown target {name!r}: choose from {', '.join(TARGETS)}")
