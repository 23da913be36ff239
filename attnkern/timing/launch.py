"""Launching an artifact without its Triton: its cubin (or PTX) loaded with cuda-core, on torch's current stream."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from cuda.bindings import driver
from cuda.core import Device, Kernel, LaunchConfig, ObjectCode, Stream, launch

from attnkern.cases import Case
from attnkern.codegen.artifact import Artifact
from attnkern.codegen.gpus import MAX_THREADS_PER_PROGRAM

SCRATCH_POINTERS = ("u64", "u64")
"""What later releases append to the kernel's own parameters: pointers to global and to profiling scratch, which this
kernel does not use."""


DEFAULT_SHARED_BYTES = 48 << 10  # what a launch gets without asking (CUDA C++ Programming Guide, "Shared Memory")


class CannotLaunch(Exception):
    """The GPU's limits, or an entry point of unknown shape, forbid the launch."""


class TorchStream:
    """torch's current stream, as cuda-core wants streams described."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, torch.cuda.current_stream().cuda_stream)


@dataclass
class LoadedKernel:
    kernel: Kernel
    config: LaunchConfig
    arguments: Sequence[ctypes._SimpleCData[int] | ctypes._SimpleCData[float]]
    stream: Stream

    @property
    def registers(self) -> int:
        return int(self.kernel.attributes.num_regs)

    @property
    def local_bytes_per_thread(self) -> int:
        return int(self.kernel.attributes.local_size_bytes)

    def __call__(self) -> None:
        """Put one launch onto the stream."""
        launch(self.stream, self.config, self.kernel, *self.arguments)


def load(
    artifact: Artifact, code: bytes, ported: bool, case: Case, values: dict[str, torch.Tensor | float | int]
) -> LoadedKernel:
    """Load code and bind it to its arguments.

    `values` are the kernel's arguments by name, as in `Case.arguments`.  Raises CannotLaunch where the
    GPU's limits forbid it, and whatever cuda-core raises where the driver refuses the code.
    """
    device = Device()
    device.set_current()
    properties = device.properties
    threads = 32 * artifact.num_warps
    granted = properties.max_shared_memory_per_block_optin
    if artifact.shared_bytes > granted:
        raise CannotLaunch(f"{artifact.shared_bytes} bytes of shared memory, this GPU grants {granted}")
    if threads > MAX_THREADS_PER_PROGRAM:
        raise CannotLaunch(f"{threads} threads, a program may have {MAX_THREADS_PER_PROGRAM}")
    arguments = bind(artifact.parameters, values)
    module = ObjectCode.from_ptx(code) if ported else ObjectCode.from_cubin(code)
    kernel = module.get_kernel(artifact.entry)
    if artifact.shared_bytes > DEFAULT_SHARED_BYTES:
        prefer_shared(kernel, device, granted - int(kernel.attributes.shared_size_bytes))
    config = LaunchConfig(grid=case.grid, block=threads, shmem_size=artifact.shared_bytes)
    return LoadedKernel(kernel, config, arguments, device.create_stream(TorchStream()))


def prefer_shared(kernel: Kernel, device: Device, dynamic_bytes: int) -> None:
    """Grant all dynamic shared memory and the largest carveout, as every Triton's own loader does.

    The carveout takes its room from the L1, which serves spills: without it the seed case of 3.6.0 ran 2 % faster
    than its JIT's launch of the same machine code (H200).
    """
    handle = driver.CUdevice(device.device_id)
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    statuses = [
        *driver.cuKernelSetCacheConfig(kernel.handle, driver.CUfunc_cache.CU_FUNC_CACHE_PREFER_SHARED, handle),
        *driver.cuKernelSetAttribute(attribute, dynamic_bytes, kernel.handle, handle),
    ]
    for status in statuses:
        if status != driver.CUresult.CUDA_SUCCESS:
            raise CannotLaunch(f"the driver refuses {dynamic_bytes} bytes of shared memory ({status.name})")


def bind(
    parameters: Sequence[str], values: dict[str, torch.Tensor | float | int]
) -> list[ctypes._SimpleCData[int] | ctypes._SimpleCData[float]]:
    """The launch's arguments for an entry point with these parameter types.

    Every JIT folds strides of 1 into the code; what follows the kernel's own arguments must be scratch pointers.
    """
    own: list[tuple[str, ctypes._SimpleCData[int] | ctypes._SimpleCData[float]]] = []
    for value in values.values():
        if isinstance(value, torch.Tensor):
            own.append(("u64", ctypes.c_uint64(value.data_ptr())))
        elif isinstance(value, float):
            own.append(("f32", ctypes.c_float(value)))
        elif value != 1:
            own.append(("u32", ctypes.c_int32(value)))
    types = tuple(kind for kind, _ in own)
    extra = tuple(parameters[len(types) :])
    if tuple(parameters[: len(types)]) != types or extra != SCRATCH_POINTERS[: len(extra)]:
        raise CannotLaunch(f"an entry point with {len(parameters)} parameters that are not the kernel's")
    return [argument for _, argument in own] + [ctypes.c_uint64(0) for _ in extra]
