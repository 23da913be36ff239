"""A session on the GPU: one measuring process after another, so that a fault costs one formulation only.

The process is watched: one that dies or goes silent is ended, the formulation that it was at is
marked, and a fresh one takes up the rest.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from attnkern.cases import FORMULATIONS
from attnkern.errors import FailedError
from attnkern.home import CHECKOUT
from attnkern.timing.measurement import Code, Measurement, from_dict

WORKER = (sys.executable, "-m", "attnkern.timing.worker")
SILENCE_S = 60.0
"""How long the process may say nothing: loading PTX takes seconds, a launch of the slowest artifact 0.1 s."""
UNUSABLE = "nothing can be timed here: it takes a GPU, and torch, cuda-core and nvidia-ml-py beside attnkern"
TROUBLED = ("throttled", "shared")


@dataclass(frozen=True)
class Job:
    bundle: Path
    """An unpacked bundle's package folder."""
    case: str
    code: Code
    inputs: str = "normal"
    budget_s: float = 3.0


class Session:
    """Measures jobs; a context that ends its process."""

    def __init__(self, command: Sequence[str] = WORKER, silence_s: float = SILENCE_S):
        self.command, self.silence_s = command, silence_s
        self.process: subprocess.Popen[bytes] | None = None
        self.unread = b""

    def measure(self, job: Job) -> Measurement:
        """One measurement; one that was throttled or shared is repeated once, and marked if it is so again.

        Raises FailedError where this machine can't measure at all.
        """
        first = self.attempt(job)
        if set(first.marks) & set(TROUBLED):
            return self.attempt(job)
        return first

    def attempt(self, job: Job) -> Measurement:
        skip: dict[str, tuple[str, str]] = {}
        while True:
            self.start()
            answer, phase = self.ask(
                {
                    "bundle": str(job.bundle),
                    "case": job.case,
                    "code": job.code,
                    "inputs": job.inputs,
                    "budget_s": job.budget_s,
                    "skip": skip,
                }
            )
            if answer is not None and "measurement" in answer:
                return from_dict(answer["measurement"])
            if answer is not None and "unusable" in answer:
                raise FailedError(answer["unusable"])
            silent = self.end()
            if answer is not None:
                formulation, status, message = answer["fault"]
                blamed = {formulation}
            else:
                blamed = culprits(phase)
                status = "timeout" if silent else "fault"
                message = f"silent for {self.silence_s:g} s" if silent else "the measuring process died"
            new = {name: (status, message) for name in blamed if name not in skip}
            if not new:
                raise FailedError(f"measuring failed at {phase or 'the start'} ({message}): is the GPU healthy?")
            skip.update(new)

    def start(self) -> None:
        if self.process is not None:
            return
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
            start_new_session=True,
        )
        self.unread = b""
        first = self.line()
        if first is None or "ready" not in first:
            self.end()
            reason = first["unusable"] if first else UNUSABLE
            raise FailedError(reason)

    def ask(self, job: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
        """(the answer or None where the process died or fell silent, the last phase it told)."""
        assert self.process is not None and self.process.stdin is not None
        phase = ""
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None, phase
        while (line := self.line()) is not None:
            if "phase" not in line:
                return line, phase
            phase = line["phase"]
        return None, phase

    def line(self) -> dict[str, Any] | None:
        """The process's next line, or None when it died or said nothing for too long."""
        assert self.process is not None and self.process.stdout is not None
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], self.silence_s)
            chunk = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not chunk:
                return None
            self.unread += chunk
        text, _, self.unread = self.unread.partition(b"\n")
        line: dict[str, Any] = json.loads(text)
        return line

    def end(self) -> bool:
        """End the process; returns whether it was still running."""
        process, self.process = self.process, None
        if process is None:
            return False
        try:
            process.wait(0.5)
            running = False
        except subprocess.TimeoutExpired:
            running = True
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
        return running

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.stdin:
            self.process.stdin.close()  # the process ends at the end of its input
        self.end()


def culprits(phase: str) -> set[str]:
    """Which formulations to leave out after a death in that phase; none where it is nobody's fault."""
    if phase.startswith("check "):
        return {phase.removeprefix("check ")}
    return set(FORMULATIONS) if phase == "time" else set()
