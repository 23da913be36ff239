"""The measuring process: reads jobs as JSON lines, answers each with a line. `python -m attnkern.timing.worker`

A job is `{"bundle": package folder, "case", "code", "inputs", "budget_s", "skip": {formulation: [status, message]}}`.
Before the answer `{"measurement": …}` come lines `{"phase": "check direct"}`, from which the parent knows the culprit
when this process dies or hangs.  After an error that leaves the CUDA context dead the answer is
`{"fault": [formulation, status, message]}`, and the process ends.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import secrets
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attnkern.cases import FORMULATIONS, Case, case_named
from attnkern.codegen import bundle
from attnkern.codegen.artifact import Artifact, Key
from attnkern.codegen.gpus import known_model
from attnkern.codegen.profile import Profile, fit, profile
from attnkern.errors import FailedError
from attnkern.reference import TOLERANCE
from attnkern.timing import anchor, rotation
from attnkern.timing.device import Gpu
from attnkern.timing.launch import CannotLaunch, LoadedKernel, load
from attnkern.timing.measurement import PORTED_TARGET, Measurement, Times, to_dict
from attnkern.timing.problem import Problem, make

YARDSTICKS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
YARDSTICK_LAUNCHES = 20
TOO_OLD = ("UNSUPPORTED_PTX_VERSION", "SYSTEM_DRIVER_MISMATCH")
"""In an error's text: the driver knows neither this PTX nor this cubin's format (CUDA driver API, CUresult)."""


class Fault(Exception):
    """A formulation left the CUDA context dead."""

    def __init__(self, formulation: str, status: str, message: str):
        super().__init__(message)
        self.formulation, self.status = formulation, status


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    try:
        gpu = Gpu()
        if not torch.cuda.is_available():
            raise FailedError("torch sees no GPU: install a torch built with CUDA, and a driver that it accepts")
        bench = Bench(gpu, lambda phase: say({"phase": phase}))
    except FailedError as error:
        say({"unusable": str(error)})
        return
    say({"ready": bench.machine})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            say({"measurement": to_dict(bench.measure(job))})
        except FailedError as error:
            say({"unusable": str(error)})
        except Fault as fault:
            say({"fault": [fault.formulation, fault.status, str(fault)]})
            os._exit(1)  # the context is dead, and tearing it down can hang


class Bench:
    """The GPU with what is made once: problems and yardsticks by case, the anchor, the buffer that flushes the L2."""

    def __init__(self, gpu: Gpu, phase: Callable[[str], None]):
        self.gpu, self.phase = gpu, phase
        torch.cuda.init()
        properties = torch.cuda.get_device_properties(0)
        self.target = f"sm_{properties.major}{properties.minor}"
        self.flush = torch.empty(max(256 << 20, 2 * properties.L2_cache_size), dtype=torch.int8, device="cuda")
        self.seed = secrets.randbits(32)
        self.machine = {**gpu.facts(), "torch": torch.__version__, "target": self.target, "seed": str(self.seed)}

    def measure(self, job: dict[str, Any]) -> Measurement:
        started = time.monotonic()
        package, case = Path(job["bundle"]), case_named(job["case"])
        made = bundle.read(package)
        problem = self.problem(case.name, job["inputs"])
        problems: dict[str, Problem] = {}
        kernels: dict[str, LoadedKernel] = {}
        times: dict[str, Times] = {}
        for formulation in FORMULATIONS:
            if formulation in job["skip"]:
                times[formulation] = Times(*job["skip"][formulation])
                continue
            checked = self.check(
                package, made, Key(case.name, formulation, self.code_target(job["code"])), case, problem
            )
            times[formulation], kernel = checked
            if kernel is not None:
                kernels[formulation], problems[formulation] = kernel, problem
        marks: list[str] = []
        samples, before, after = rotation.Samples(), None, None
        clocks: dict[str, list[int]] = {}
        if kernels:
            self.phase("time")
            before = self.gpu.state(own_context=True)
            samples, clocks, throttles = self.time(kernels, problems, job["budget_s"])
            after = self.gpu.state(own_context=True)
            marks += ["throttled"] if throttles else []
            marks += ["shared"] if self.gpu.company or before.other_processes or after.other_processes else []
        anchor_samples = samples.times_ms.pop(rotation.ANCHOR, [])
        anchor_ms = statistics.median(anchor_samples) if anchor_samples else None
        measured = {
            name: with_samples(times[name], samples.times_ms.get(name, []), clocks.get(name, []), anchor_ms)
            for name in times
        }
        return Measurement(
            commit=made.commit,
            release=made.version,
            released=made.released,
            case=case.name,
            code=job["code"],
            inputs=job["inputs"],
            formulations=measured,
            gap_samples=rounded(samples.gaps),
            gap=statistics.mean(samples.gaps) if samples.gaps else None,
            gap_ci=rotation.half_interval(samples.gaps) if samples.gaps else None,
            anchor_ms=anchor_ms,
            anchor_samples_ms=rounded(anchor_samples),
            yardstick_ms=self.yardsticks(case.name),
            before=before,
            after=after,
            marks=marks,
            wall_s=time.monotonic() - started,
            machine=self.machine,
        )

    def code_target(self, code: str) -> str:
        return PORTED_TARGET if code == "ported" else self.target

    def check(
        self, package: Path, made: bundle.Bundle, key: Key, case: Case, problem: Problem
    ) -> tuple[Times, LoadedKernel | None]:
        """Load one formulation, launch it once on poisoned outputs, and compare with the reference."""
        outcome = made.outcome(key)
        if outcome is None:
            return Times("not-compiled", f"the bundle has nothing for {key.target}"), None
        if not isinstance(outcome, Artifact):
            return Times("not-compiled", f"{outcome.kind} before {outcome.stage}: {outcome.message}"), None
        ported = key.target != self.target
        self.phase(f"check {key.formulation}")
        code = bundle.read_file(package, outcome, "kernel.ptx" if ported else "kernel.cubin")
        try:
            kernel = load(outcome, code, ported, case, problem.values)
            problem.reset(poison=True)
            kernel()
            torch.cuda.synchronize()
            error = problem.error()
        except CannotLaunch as obstacle:
            return Times("cannot-launch", str(obstacle)), None
        except torch.OutOfMemoryError as full:
            return Times("out-of-memory", first_line(full)), None
        except Exception as failure:
            if any(sign in str(failure) for sign in TOO_OLD):
                driver = self.machine["driver"]
                raise FailedError(
                    f"driver {driver} is too old for the code of {made.version} ({first_line(failure)}): update it"
                ) from failure
            return self.failed(key.formulation, failure), None
        found = Times(
            "ok",
            error=error,
            registers=kernel.registers,
            local_bytes_per_thread=kernel.local_bytes_per_thread,
            spill_floor_ms=self.spill_floor_ms(profile(outcome, made.figures[key.name], case)),
        )
        if error is not None and not error <= TOLERANCE[case.dtype]:
            return replace(found, status="wrong-result", message=f"relative error {error:.2g}"), None
        return found, kernel

    def spill_floor_ms(self, known: Profile) -> float | None:
        model = known_model(self.machine["gpu"])
        return fit(known, model).spill_floor_ms if model else None

    def failed(self, formulation: str, failure: Exception) -> Times:
        """A refusal by the driver, if the context is still alive; raises Fault otherwise."""
        try:
            torch.cuda.synchronize()
        except Exception as dead:
            raise Fault(formulation, "fault", first_line(dead)) from failure
        return Times("cannot-launch", first_line(failure))

    def time(
        self, kernels: dict[str, LoadedKernel], problems: dict[str, Problem], budget_s: float
    ) -> tuple[rotation.Samples, dict[str, list[int]], set[str]]:
        """(samples, the SM clock while each of them ran, reasons of throttling seen)."""
        known = {**kernels, rotation.ANCHOR: self.anchor()[0]}
        tensors = {**problems, rotation.ANCHOR: self.anchor()[1]}
        clocks: list[list[int]] = []
        throttles: set[str] = set()

        def run_block(names: Sequence[str]) -> list[float]:
            self.lead()
            events = [self.timed(known[name], tensors[name]) for name in names]
            try:
                clocks.append([self.clock_after(start) for start, _ in events])
                throttles.update(self.gpu.throttle())
                torch.cuda.synchronize()
            except RuntimeError as dead:
                raise Fault(names[0], "fault", first_line(dead)) from dead
            return [start.elapsed_time(end) for start, end in events]

        gc.disable()  # a collection between two launches would leave the GPU waiting
        try:
            samples = rotation.measure(run_block, list(kernels), budget_s)
        finally:
            gc.enable()
        return samples, rotation.by_name(clocks[-samples.blocks :], list(kernels)), throttles

    def clock_after(self, start: torch.cuda.Event) -> int:
        """The SM clock once the GPU has come to that event, MHz: read while the launch behind it runs."""
        start.synchronize()
        return self.gpu.sm_clock_mhz()

    def lead(self) -> None:
        """An untimed launch of the anchor, during which the host gets ahead of the GPU."""
        self.anchor()[0]()

    def timed(self, launch: Callable[[], object], problem: Problem) -> tuple[torch.cuda.Event, torch.cuda.Event]:
        """Queue a launch between two events, dq zeroed and the L2 flushed before the first."""
        problem.reset()
        self.flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        launch()
        end.record()
        return start, end

    @functools.cache  # noqa: B019 (one Bench lives as long as its process)
    def problem(self, case: str, inputs: str) -> Problem:
        self.phase("reference")
        return make(case_named(case), inputs, self.seed)

    @functools.cache  # noqa: B019
    def anchor(self) -> tuple[LoadedKernel, Problem]:
        artifact, cubin = anchor.for_target(self.target)
        problem = make(case_named(artifact.key.case), "normal", self.seed)
        return load(artifact, cubin, False, case_named(artifact.key.case), problem.values), problem

    @functools.cache  # noqa: B019
    def yardsticks(self, case_name: str) -> dict[str, float]:
        """Median ms of PyTorch's own backward for each library that takes this shape."""
        self.phase("yardstick")
        problem = self.problem(case_name, "normal")
        q, k, v = (problem.tensor(name).detach().requires_grad_() for name in ("Q", "K", "V"))
        found = {}
        for name, backend in YARDSTICKS.items():
            try:
                with sdpa_kernel(backend):
                    out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            except RuntimeError:
                continue  # this build of torch has no such backward for this shape
            found[name] = self.median_of_backward(out, q, k, v, problem.tensor("DO"))
        return found

    def median_of_backward(
        self, out: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor
    ) -> float:
        times: list[float] = []
        for _ in range(YARDSTICK_LAUNCHES):
            self.lead()
            self.flush.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            torch.autograd.grad(out, (q, k, v), do, retain_graph=True)
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
        return statistics.median(times)


def with_samples(times: Times, samples_ms: list[float], clocks_mhz: list[int], anchor_ms: float | None) -> Times:
    if not samples_ms:
        return times
    ms = statistics.median(samples_ms)
    return replace(
        times,
        samples_ms=rounded(samples_ms),
        sm_clocks_mhz=clocks_mhz,
        mcycles=statistics.median(sample * clock / 1e3 for sample, clock in zip(samples_ms, clocks_mhz, strict=True)),
        ms=ms,
        ci_ms=rotation.half_interval(rotation.per_block(samples_ms)),
        anchor_ratio=ms / anchor_ms if anchor_ms else None,
    )


def rounded(values: Sequence[float]) -> list[float]:
    """Six digits: an event's resolution is half a microsecond."""
    return [float(f"{value:.6g}") for value in values]


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


if __name__ == "__main__":
    main()
