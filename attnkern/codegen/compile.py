"""Compiling: one worker process per Triton, and what its compiler left behind read into an artifact or a failure."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from attnkern.cases import Case
from attnkern.codegen import ptxas
from attnkern.codegen.artifact import STAGES, Artifact, Costs, Failure, File, Key, Outcome
from attnkern.errors import FailedError

WORKER = Path(__file__).with_name("worker.py")
KERNEL = Path(__file__).parents[1] / "kernel.py"
KERNEL_NAME = "attention_backward"

SWITCHES = {
    "TRITON_DEFAULT_FP_FUSION": "1",  # 3.9 announces another default for 3.10
    "PYTHONHASHSEED": "0",  # Triton 2 walks over sets on its way to the IR
}
"""The environment switches that change code generation, as fixed here. A worker sees these, PATH, and folders of its
own; every other TRITON_*, MLIR_*, LLVM_*, PTXAS_* or CUDA_* variable is unset, so it has that release's default."""

KILLS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""Signals that come from outside, a person's or the kernel's when memory is short: no finding about a compiler."""

LOCAL_PATHS = re.compile(r"(/[\w.+-]+)+/(?=[\w.+-]+)")
TELLING = re.compile(r"error|assert|unsupported|unreachable|fatal|not supported|failed|bad_alloc|exception", re.I)
OUT_OF_MEMORY = re.compile(r"bad_alloc|MemoryError|out of memory|cannot allocate memory", re.I)


@dataclass(frozen=True)
class Limits:
    """What one compile may take before it counts as a failure; one public report has 13-minute compiles."""

    timeout_s: float = 120.0
    memory_bytes: int = 8 << 30
    """Of address space."""


class CompileWorker:
    """A running worker; `compile` is for one thread at a time."""

    def __init__(self, triton: Path, folder: Path, limits: Limits, extra: Mapping[str, str] | None = None):
        """`triton`: an importable Triton; `folder`: an empty folder of this worker's own; `extra`: more variables."""
        self.folder, self.limits = folder, limits
        self.loaded = False
        self.ptxas_versions = ptxas.versions(triton)
        self.log = folder / "worker.log"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            **SWITCHES,
            **(extra or {}),
            **ptxas.install_wrappers(triton, folder),
        }
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-sSP", WORKER, triton, KERNEL, KERNEL_NAME],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd=folder,
                text=True,
                start_new_session=True,  # a Ctrl-C is for the parent, which closes its workers in order
            )

    def compile(self, key: Key, case: Case, folder: Path) -> tuple[Outcome, Costs]:
        """Compile one launch; its files are then in `folder` (made here) as `kernel.<stage>`."""
        job_folder = self.folder / "job"
        shutil.rmtree(job_folder, ignore_errors=True)
        job_folder.mkdir()
        folder.mkdir()
        answer = self.ask(
            {
                "dir": str(job_folder),
                "target": key.capability,
                "arguments": case.arguments,
                "constants": case.constants(key.formulation),
                "options": case.options,
                "grid": case.grid,
                "timeout_s": self.limits.timeout_s,
                "memory_bytes": self.limits.memory_bytes,
            }
        )
        if answer is None:
            return self.import_failure(key), Costs(0, 0, 0, self.limits.timeout_s, self.limits.memory_bytes)
        self.loaded = True
        if answer.get("signal") in KILLS:
            raise FailedError(f"the compile of {key.name} was killed ({answer['signal']}): is there enough memory?")
        limits = self.limits
        costs = Costs(answer["wall_s"], answer["cpu_s"], answer["peak_bytes"], limits.timeout_s, limits.memory_bytes)
        return read_outcome(key, case, answer, job_folder, folder, self.ptxas_versions), costs

    def ask(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The worker's answer, or None when it died."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def import_failure(self, key: Key) -> Failure:
        """Of a worker that died before its first answer; one that was killed from outside is no finding."""
        code = self.process.wait()
        if self.loaded or (code < 0 and signal.Signals(-code).name in KILLS):
            raise FailedError(f"the compile worker was killed at {key.name}: is there enough memory? run it again")
        return Failure(key, "import", "raised" if code > 0 else "aborted", last_line(read_text(self.log)))

    def __enter__(self) -> CompileWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the worker; it ends the compile it is at."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # a job that a dead worker never read
                    pipe.close()


def read_outcome(
    key: Key, case: Case, answer: dict[str, Any], job_folder: Path, folder: Path, ptxas_versions: dict[str, str]
) -> Outcome:
    """What the compiler left in the job's folder; the artifact's files go to `folder`."""
    made = {path.suffix[1:]: path for path in sorted(job_folder.glob(f"cache/*/{KERNEL_NAME}*.*"))}
    stage = next((stage for stage in STAGES if stage not in made), STAGES[-1])
    if answer["status"] != "ok":
        return failure(key, stage, answer, read_text(job_folder / "log"))
    try:
        files = {stage: made[stage].read_bytes() for stage in STAGES}
        metadata = json.loads(made["json"].read_text())
        report = ptxas.read_report(read_text(job_folder / "ptxas.log"), ptxas_versions)
        entry, parameters = entry_point(files["ptx"].decode())
        if case.max_registers is not None and b".maxnreg" not in files["ptx"]:
            # Triton 2 takes any option without a word.
            return Failure(key, "ptx", "raised", "this Triton knows no launch option maxnreg: it came with 3.0")
    except (KeyError, ValueError) as error:
        return Failure(key, stage, "raised", f"the compiler left no complete artifact: {error}")
    for stage, data in files.items():
        (folder / f"kernel.{stage}").write_bytes(data)
    return Artifact(
        key=key,
        entry=entry,
        parameters=parameters,
        num_warps=metadata.get("num_warps", case.num_warps),
        shared_bytes=metadata["shared"],
        ptxas=report,
        how=answer["how"],
        layout_conversions=len(re.findall(rb"= (?:triton_gpu|ttg)\.convert_layout\b", files["ttgir"])),
        files={f"kernel.{stage}": File.of(data) for stage, data in files.items()},
    )


def failure(key: Key, stage: str, answer: dict[str, Any], log: str) -> Failure:
    status, said = answer["status"], answer["message"]
    kind = {"died": "aborted", "timeout": "timeout"}.get(status, "raised")
    if kind != "timeout" and OUT_OF_MEMORY.search(said + log):
        kind = "out-of-memory"
    message = f"{one_line(log, '')} ({said})" if status == "died" and log.strip() else one_line(said, said)
    return Failure(key, stage, kind, message)


def one_line(text: str, otherwise: str) -> str:
    """The line of a compiler's output that tells the most, without the folders of the machine it was built on."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if TELLING.search(line)]
    if not lines:
        return otherwise
    line = telling[0] if telling else lines[-1]
    if assertion := re.search(r"Assertion `(.*)' failed", line):
        # C++ asserts are written `false && "what is wrong"`.
        line = "assertion failed: " + assertion[1].removeprefix("false && ")
    return LOCAL_PATHS.sub("", line)[:300]


def last_line(text: str) -> str:
    """A traceback's last line."""
    return LOCAL_PATHS.sub("", (text.strip().splitlines() or ["this Triton can't be loaded"])[-1])[:300]


def read_text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def entry_point(ptx: str) -> tuple[str, tuple[str, ...]]:
    """(name, parameter types) of a PTX module's only kernel; raises ValueError where there is none."""
    match = re.search(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx)
    if match is None:
        raise ValueError("the PTX has no entry point")
    return match[1], tuple(re.findall(r"\.param\s+\.(\w+)", match[2]))
