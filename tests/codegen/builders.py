"""One builder for the artifacts that tests need: a seed's, with what the test is about changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attnkern.codegen.artifact import Artifact, File, Key
from attnkern.codegen.ptxas import PtxasReport
from attnkern.codegen.sass import SassFigures

FILES = {f"kernel.{stage}": f"this is {stage}".encode() for stage in ("ttir", "ttgir", "llir", "ptx", "cubin")}


def artifact(
    registers: int = 255, stack_bytes: int = 0, shared_bytes: int = 163840, num_warps: int = 8, **fields: Any
) -> Artifact:
    made = Artifact(
        key=Key("seed", "direct", "sm_80"),
        entry="attention_backward",
        parameters=("u64",) * 35,
        num_warps=num_warps,
        shared_bytes=shared_bytes,
        ptxas=PtxasReport(registers, stack_bytes, 0, 0, ("-v", "--gpu-name=sm_80"), "ptxas 12.4.99"),
        how="warmup",
        layout_conversions=4,
        files={name: File.of(data) for name, data in FILES.items()},
    )
    return replace(made, **fields)


def figures(loaded: int = 0, stored: int = 0) -> SassFigures:
    return SassFigures(
        code_sha256="c0de",
        code_bytes=160,
        mix={"other": 10},
        loop_mix={"other": 5},
        loop_instructions=5,
        loop_local_load_bytes=loaded,
        loop_local_store_bytes=stored,
    )
