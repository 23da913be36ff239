"""The proof that a bundle is what the JIT makes: a Triton that is installed beside torch launches the seed case itself.

Run as `python -m attnkern.timing.jit PACKAGE MODE`, a process each time; prints one JSON object.  MODE `compare`
times the JIT's launch and the bundle's in one rotation and compares what the driver says of both; `do_bench`
times the JIT's launches the way Triton's users do, and `bundle` ours, for the spread between processes.
"""

from __future__ import annotations

import functools
import json
import statistics
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import triton
import triton.testing

from attnkern.cases import CASES, FORMULATIONS
from attnkern.codegen import bundle
from attnkern.codegen.artifact import Artifact, Key
from attnkern.kernel import attention_backward
from attnkern.timing import rotation
from attnkern.timing.device import Gpu
from attnkern.timing.launch import load
from attnkern.timing.problem import Problem, make
from attnkern.timing.worker import Bench

CASE = CASES["seed"]


def main(package: Path, mode: str) -> None:
    started = time.monotonic()
    measured = {"compare": compare, "do_bench": do_bench, "bundle": ours}[mode](package)
    print(json.dumps({**measured, "wall_s": time.monotonic() - started}))


def jit_launch(problem: Problem, formulation: str) -> Any:
    """One launch by the JIT; returns its compiled kernel."""
    options = {"num_warps": CASE.num_warps, "num_stages": CASE.num_stages}
    constants = CASE.constants("transposed" if formulation == "transposed" else "direct")
    return attention_backward[CASE.grid](*problem.values.values(), **constants, **options)


def compare(package: Path) -> dict[str, Any]:
    bench = Bench(Gpu(), lambda phase: None)
    made = bundle.read(package)
    found: dict[str, Any] = {"triton": triton.__version__, "bundle": made.version, "machine": bench.machine}
    for formulation in FORMULATIONS:
        problem = bench.problem(CASE.name, "normal")
        artifact = made.outcome(Key(CASE.name, formulation, bench.target))
        assert isinstance(artifact, Artifact)
        kernel = load(artifact, bundle.read_file(package, artifact, "kernel.cubin"), False, CASE, problem.values)
        compiled = jit_launch(problem, formulation)
        samples = alternate(bench, problem, functools.partial(jit_launch, problem, formulation), kernel)
        jit_ms, bundle_ms = (statistics.median(samples.times_ms[name]) for name in ("direct", "transposed"))
        found[formulation] = {
            "jit": {"registers": compiled.n_regs, "shared_bytes": compiled.metadata.shared, "ms": jit_ms},
            "bundle": {"registers": kernel.registers, "shared_bytes": artifact.shared_bytes, "ms": bundle_ms},
            "spills_jit": compiled.n_spills,
            "spills_bundle": kernel.local_bytes_per_thread // 4,
            "same_code": machine_code(compiled.asm["cubin"])
            == machine_code(bundle.read_file(package, artifact, "kernel.cubin")),
            "ratio": statistics.mean(samples.gaps),
            "ratio_ci": rotation.half_interval(samples.gaps),
        }
    return found


def machine_code(cubin: bytes) -> bytes:
    """The kernel's instructions: the contents of the ELF's .text sections (the line tables hold paths)."""
    (headers_at,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, headers_at + place * size) for place in range(count)]
    names_at = headers[names][4]
    return b"".join(
        cubin[offset : offset + length]
        for name, _, _, _, offset, length in headers
        if cubin[names_at + name :].startswith(b".text.")
    )


def alternate(
    bench: Bench, problem: Problem, jit: Callable[[], object], kernel: Callable[[], object]
) -> rotation.Samples:
    """The rotation, with the JIT's launch in the direct form's place and the bundle's in the other's."""
    launches = {"direct": jit, "transposed": kernel, rotation.ANCHOR: kernel}

    def run_block(names: Sequence[str]) -> list[float]:
        bench.lead()
        events = [bench.timed(launches[name], problem) for name in names]
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]

    return rotation.measure(run_block, FORMULATIONS)


def do_bench(package: Path) -> dict[str, Any]:
    """One formulation after the other, medians, as Triton's own examples do."""
    problem = make(CASE, "normal", 0)
    started = time.monotonic()
    times: dict[str, float] = {
        formulation: triton.testing.do_bench(functools.partial(jit_launch, problem, formulation), return_mode="median")
        for formulation in FORMULATIONS
    }
    return {**times, "gap": times["direct"] / times["transposed"], "measuring_s": time.monotonic() - started}


def ours(package: Path) -> dict[str, Any]:
    bench = Bench(Gpu(), lambda phase: None)
    job = {"bundle": str(package), "case": CASE.name, "code": "native", "inputs": "normal", "skip": {}, "budget_s": 3.0}
    bench.problem(CASE.name, "normal")
    bench.anchor()
    bench.yardsticks(CASE.name)
    started = time.monotonic()
    measured = bench.measure(job)
    return {
        **{name: times.ms for name, times in measured.formulations.items()},
        "gap": measured.gap,
        "measuring_s": time.monotonic() - started,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
