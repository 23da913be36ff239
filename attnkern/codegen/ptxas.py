"""ptxas: the stand-in through which a Triton calls it, so that its report is kept, and the reading of that report."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

# A Triton runs `ptxas -v` and throws the report away. The wrapper runs the same binary with the same arguments, and
# keeps what it said, with the arguments, in the file that the job names.
WRAPPER = """#!/bin/sh
case "$*" in *--version*) exec {real} "$@";; esac
{real} "$@" 2>"$ATTNKERN_PTXAS_LOG"
code=$?
cat "$ATTNKERN_PTXAS_LOG" >&2
printf 'attnkern-argument: %s\\n' {name} "$@" >>"$ATTNKERN_PTXAS_LOG"
exit $code
"""


@dataclass(frozen=True)
class PtxasReport:
    """What `ptxas -v` says of a kernel, a thread each."""

    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    """Static bytes: each spilling instruction counts once, however often it runs."""
    options: tuple[str, ...]
    """The options it was run with, files left out."""
    version: str

    @property
    def spill_bytes(self) -> int:
        """Stores and loads together."""
        return self.spill_store_bytes + self.spill_load_bytes


def install_wrappers(triton: Path, folder: Path) -> dict[str, str]:
    """Write a wrapper for each ptxas of this Triton; returns the variables that make the Triton call them."""
    variables = {}
    for real in sorted(triton.glob("triton/**/bin/ptxas*")):
        wrapper = folder / real.name
        wrapper.write_text(WRAPPER.format(real=shlex.quote(str(real)), name=shlex.quote(real.name)))
        os.chmod(wrapper, 0o755)
        variables[f"TRITON_{real.name.upper().replace('-', '_')}_PATH"] = str(wrapper)
    return variables


def versions(triton: Path) -> dict[str, str]:
    """The release of each ptxas of this Triton, as "12.4.99", by the binary's name."""
    found = {}
    for real in sorted(triton.glob("triton/**/bin/ptxas*")):
        answer = subprocess.run([real, "--version"], capture_output=True, text=True, check=False).stdout
        match = re.search(r"\bV(\d+\.\d+\.\d+)", answer)
        found[real.name] = match[1] if match else "unknown"
    return found


def read_report(log: str, ptxas_versions: dict[str, str]) -> PtxasReport:
    """The figures in what a wrapper kept; raises ValueError where the report is not that of a finished kernel.

    A kernel that spills nothing has a line of zeros, one with no stack too.
    """
    frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    registers = re.search(r"Used (\d+) registers", log)
    arguments = re.findall(r"^attnkern-argument: (.*)$", log, re.MULTILINE)
    if not (frame and registers and arguments):
        raise ValueError("ptxas reported no figures")
    stack, stores, loads = (int(figure) for figure in frame.groups())
    name, *given = arguments
    return PtxasReport(
        int(registers[1]), stack, stores, loads, options_of(given), f"{name} {ptxas_versions.get(name, 'unknown')}"
    )


def options_of(arguments: list[str]) -> tuple[str, ...]:
    """The arguments without the files: `-o` and its path, and every other path."""
    kept = []
    skip = False
    for argument in arguments:
        if skip or argument == "-o":
            skip = argument == "-o"
        elif not os.path.isabs(argument):
            kept.append(argument)
    return tuple(kept)
