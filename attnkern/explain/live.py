"""Where the registers go: how many are live at each instruction, and by which source lines, as nvdisasm reads it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from attnkern.codegen.sass import access_bytes
from attnkern.errors import FailedError
from attnkern.explain.tools import Tool

ROW = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);?\s*// \|\s*(\d*)\s?(.*)$")
LINE = re.compile(r'\s*//## File "[^"]*kernel\.py", line (\d+)')
PLACE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/")


@dataclass(frozen=True)
class Instruction:
    address: int
    text: str
    live: int
    """General registers."""
    marks: str
    """A character for each register: ":" live through, "^" defined, "v" used, "x" both."""
    line: int | None
    """Of the kernel's source."""


@dataclass(frozen=True)
class Held:
    """Registers live at the worst point whose value was made on one source line."""

    line: int | None
    registers: int


@dataclass(frozen=True)
class Pressure:
    """Of the kernel's loop."""

    worst: int
    """The most live registers at one instruction."""
    at: str
    """That instruction."""
    line: int | None
    held: tuple[Held, ...]
    """By source line, the most first."""
    local_bytes: dict[int, int]
    """Bytes a thread moves to and from its stack per iteration, by source line."""


def pressure(cubin: bytes, nvdisasm: Tool) -> Pressure:
    """Raises FailedError where the tool can't read the cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        ranges = run(nvdisasm, "-lrm", "narrow", file.name)
        lines = run(nvdisasm, "-g", file.name)
    return of_loop(parse(ranges, source_lines(lines)))


def run(nvdisasm: Tool, *arguments: str) -> str:
    answer = subprocess.run([nvdisasm.path, "-c", *arguments], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        said = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        raise FailedError(f"nvdisasm {nvdisasm.version} can't tell the live registers of a cubin: {said}")
    return answer.stdout


def parse(text: str, lines: dict[int, int]) -> list[Instruction]:
    """The instructions of a listing with live ranges."""
    labels: dict[str, int] = {}
    rows = []
    waiting: list[str] = []
    for row in text.splitlines():
        if label := re.match(r"(\.L_x?_?\w+):", row):
            waiting.append(label[1])
        match = ROW.match(row)
        if match:
            labels |= dict.fromkeys(waiting, int(match[1], 16))
            waiting = []
            if match[3]:
                rows.append(match)
    return [
        Instruction(
            int(match[1], 16),
            with_addresses(" ".join(match[2].split()), labels),
            int(match[3]),
            match[4].split("|")[0],
            lines.get(int(match[1], 16)),
        )
        for match in rows
    ]


def with_addresses(text: str, labels: dict[str, int]) -> str:
    """An instruction with its target's address in place of a label."""
    return re.sub(r"`?\((\.L\w+)\)", lambda to: f"0x{labels[to[1]]:x}" if to[1] in labels else to[1], text)


def source_lines(text: str) -> dict[int, int]:
    """The source line of each address."""
    found: dict[int, int] = {}
    line: int | None = None
    for row in text.splitlines():
        if heading := LINE.match(row):
            line = int(heading[1])
        elif (place := PLACE.match(row)) and line is not None:
            found[int(place[1], 16)] = line
    return found


def loop_of(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    """The longest backward branch's body; all where there is none."""
    body = instructions
    longest = 0
    for instruction in instructions:
        target = re.search(r"\bBRA\b.*?0x([0-9a-f]+)", instruction.text)
        start = int(target[1], 16) if target else instruction.address
        if instruction.address - start > longest:
            longest = instruction.address - start
            body = [one for one in instructions if start <= one.address <= instruction.address]
    return body


def of_loop(instructions: Sequence[Instruction]) -> Pressure:
    if not instructions:
        raise FailedError("the cubin has no instructions with live ranges")
    body = loop_of(instructions)
    place = max(range(len(body)), key=lambda at: body[at].live)
    worst = body[place]
    before = list(instructions[: instructions.index(body[0])]) + list(body[: place + 1])
    owners: Counter[int | None] = Counter()
    for register, mark in enumerate(worst.marks):
        if mark not in " |":
            owners[defined_on(before, body, register)] += 1
    local: Counter[int] = Counter()
    for one in body:
        opcode = one.text.split()[1 if one.text.startswith("@") else 0]
        if opcode.split(".")[0] in ("LDL", "STL"):
            local[one.line or 0] += access_bytes(opcode)
    held = tuple(Held(line, count) for line, count in owners.most_common())
    return Pressure(worst.live, worst.text, worst.line, held, dict(sorted(local.items())))


def defined_on(before: Sequence[Instruction], body: Sequence[Instruction], register: int) -> int | None:
    """The source line of the last instruction that wrote the register; around the loop where it carries over."""
    for instruction in reversed(before):
        if register < len(instruction.marks) and instruction.marks[register] in "^x":
            return instruction.line
    return None
