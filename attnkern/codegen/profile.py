"""The profile: an artifact's static figures, and what they mean on a GPU. Pure; the store keeps what it reads."""

from __future__ import annotations

from dataclasses import dataclass

from attnkern.cases import Case
from attnkern.codegen.artifact import Artifact
from attnkern.codegen.gpus import (
    MAX_THREADS_PER_PROGRAM,
    REGISTER_UNIT,
    REGISTERS_PER_SM,
    RESERVED_SHARED_BYTES,
    Gpu,
)
from attnkern.codegen.sass import SassFigures

L2_SHARE = 0.75
"""The part of an L2 that stacks may fill and still be served from it: the kernel's own tensors, 170 MB in the case
`seed`, stream through the same cache."""


@dataclass(frozen=True)
class Fit:
    """How an artifact sits on one GPU."""

    gpu: str
    launchable: bool
    obstacle: str | None
    """Why it can't launch."""
    programs_per_sm: int
    occupancy: float
    """Resident warps over the most a multiprocessor holds."""
    spill_floor_ms: float
    """The least time that the loop's stack traffic takes: a prediction, and a floor only."""
    spill_floor_level: str
    """Where that traffic is served from: "memory" or "l2"."""


@dataclass(frozen=True)
class Profile:
    artifact: Artifact
    sass: SassFigures
    local_bytes_per_launch: int
    """Bytes that all threads move to and from their stacks in the loop, in one launch."""


def profile(artifact: Artifact, sass: SassFigures, case: Case) -> Profile:
    per_thread = (sass.loop_local_load_bytes + sass.loop_local_store_bytes) * case.loop_trips
    return Profile(artifact, sass, per_thread * case.threads * case.programs)


def fit(profile: Profile, gpu: Gpu) -> Fit:
    """Launchability, occupancy and spill floor of an artifact on a GPU that runs its target."""
    artifact = profile.artifact
    obstacle = launch_obstacle(artifact, gpu)
    resident = 0 if obstacle else programs_per_sm(artifact, gpu)
    threads = 32 * artifact.num_warps
    # Where it can't launch, the floor is that of one program per multiprocessor, had it the shared memory.
    stacks = gpu.multiprocessors * max(resident, 1) * threads * artifact.ptxas.stack_bytes
    level = "l2" if stacks <= L2_SHARE * gpu.l2_bytes else "memory"
    bandwidth = gpu.l2_bytes_per_s if level == "l2" else gpu.memory_bytes_per_s
    return Fit(
        gpu=gpu.name,
        launchable=obstacle is None,
        obstacle=obstacle,
        programs_per_sm=resident,
        occupancy=resident * threads / gpu.threads_per_sm,
        spill_floor_ms=1e3 * profile.local_bytes_per_launch / bandwidth,
        spill_floor_level=level,
    )


def launch_obstacle(artifact: Artifact, gpu: Gpu) -> str | None:
    threads = 32 * artifact.num_warps
    if artifact.shared_bytes > gpu.shared_bytes_per_program:
        return f"{artifact.shared_bytes} bytes of shared memory, {gpu.name} grants {gpu.shared_bytes_per_program}"
    if threads > MAX_THREADS_PER_PROGRAM:
        return f"{threads} threads, a program may have {MAX_THREADS_PER_PROGRAM}"
    if registers_per_warp(artifact) * artifact.num_warps > REGISTERS_PER_SM:
        return f"{artifact.ptxas.registers} registers in {threads} threads, a multiprocessor has {REGISTERS_PER_SM}"
    return None


def programs_per_sm(artifact: Artifact, gpu: Gpu) -> int:
    """Resident programs: the least of the limits by threads, programs, registers and shared memory."""
    shared = artifact.shared_bytes + RESERVED_SHARED_BYTES
    return min(
        gpu.threads_per_sm // (32 * artifact.num_warps),
        gpu.programs_per_sm,
        REGISTERS_PER_SM // (registers_per_warp(artifact) * artifact.num_warps),
        gpu.shared_bytes_per_sm // shared,
    )


def registers_per_warp(artifact: Artifact) -> int:
    needed = 32 * artifact.ptxas.registers
    return -(-needed // REGISTER_UNIT) * REGISTER_UNIT
