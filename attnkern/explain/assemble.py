"""Whose change is it: PTX of each revision under the assembler of each revision, and the verdict."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnkern.codegen.ptxas import read_report
from attnkern.explain.tools import Tool
from attnkern.findings.rules import collapsed

Verdict = Literal["compiler", "assembler", "both", "neither"]
TIMEOUT_S = 300
SPILLS_MATTER = 0.10
"""The least relative change of spilled bytes that counts as one."""
FEW_BYTES = 256
"""And the least one in bytes, for a few spills come and go."""


@dataclass(frozen=True)
class Cell:
    """What an assembler made of a PTX."""

    registers: int | None
    stack_bytes: int | None
    spill_bytes: int | None
    refused: str = ""
    """Why there are no figures: what the assembler said."""

    @property
    def collapsed(self) -> bool:
        return self.registers is not None and collapsed(self.registers, self.spill_bytes or 0)


def assemble(ptx: str, options: Sequence[str], tool: Tool) -> Cell:
    """Assemble with the options that the PTX's own revision used."""
    said, cubin = run(ptx, options, tool)
    if cubin is None:
        return Cell(None, None, None, refusal(said))
    try:
        report = read_report(f"{said}\nattnkern-argument: ptxas\n", {})
    except ValueError:
        return Cell(None, None, None, "it reported no figures")
    return Cell(report.registers, report.stack_bytes, report.spill_bytes)


def cubin_of(ptx: str, options: Sequence[str], tool: Tool) -> bytes | None:
    """The machine code; None where the assembler refuses the PTX."""
    return run(ptx, options, tool)[1]


def run(ptx: str, options: Sequence[str], tool: Tool) -> tuple[str, bytes | None]:
    """(what the assembler said, the cubin or None)."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        try:
            answer = subprocess.run(
                [tool.path, *options, source, "-o", cubin], capture_output=True, text=True, check=False,
                timeout=TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"error: no end after {TIMEOUT_S} s", None
        except OSError as error:
            return f"error: the assembler can't be run: {error.strerror}", None
        made = answer.returncode == 0 and cubin.exists()
        return answer.stdout + answer.stderr, cubin.read_bytes() if made else None


def refusal(said: str) -> str:
    """One line of what an assembler said; an unknown PTX version is the usual one."""
    match = re.search(r"Unsupported \.version (\S+?);? current version is '?([\d.]+)", said)
    if match:
        return f"PTX {match[1]} is newer than the {match[2]} it knows"
    lines = [line.strip() for line in said.splitlines() if "fatal" in line or "error" in line]
    return re.sub(r"^.*?(?=(?:fatal|error))", "", lines[0])[:160] if lines else "it failed without a word"


def differs(one: Cell, other: Cell) -> bool:
    """Whether two assemblies differ in a way that matters: a collapse, or spills."""
    if one.registers is None or other.registers is None:
        return False
    if one.collapsed != other.collapsed:
        return True
    had, has = one.spill_bytes or 0, other.spill_bytes or 0
    return abs(has - had) > max(SPILLS_MATTER * max(had, has), FEW_BYTES)


def verdict(cells: Mapping[tuple[int, int], Cell], shared_changed: bool) -> Verdict:
    """Of two revisions: cells by (revision of the PTX, revision of the assembler), 0 before and 1 after.

    Shared memory is the compiler's alone. A refused cell says nothing, and the other pairs decide.
    """
    before, after = cells[0, 0], cells[1, 1]
    if not differs(before, after):
        return "compiler" if shared_changed else "neither"
    compiler = shared_changed or differs(before, cells[1, 0]) or differs(cells[0, 1], after)
    assembler = differs(before, cells[0, 1]) or differs(cells[1, 0], after)
    if compiler and not assembler:
        return "compiler"
    if assembler and not compiler:
        return "assembler"
    return "both"
