"""Machine code: what nvdisasm reads out of a cubin, and the figures that follow from it.

One pinned nvdisasm reads every revision's code. Its JSON lists a function's instructions in order, 16 bytes each
(Volta and later); a branch's operand is its target's offset in the function.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnkern.errors import FailedError

INSTRUCTION_BYTES = 16
FIGURES_VERSION = 2
"""Raised when SassFigures changes its meaning, so that kept ones are made anew."""

CLASSES = {
    "tensor_core": r"(H|I|B|D|Q|O)G?MMA|UTC.*MMA",
    "ldmatrix": r"LDSM|LDTM",
    "shared": r"LDS|STS|STSM|ATOMS|LDGSTS|UTMALDG",
    "local": r"LDL|STL",
    "global": r"LDG|STG|LD|ST",
    "atomics": r"ATOM|ATOMG|RED|REDG|REDUX",
    "barriers": r"BAR|WARPSYNC|DEPBAR|LDGDEPBAR|MEMBAR|SYNCS|WARPGROUP",
}
"""Class of an instruction by its opcode's first part; the first that matches counts."""


@dataclass(frozen=True)
class Instruction:
    opcode: str
    """With its modifiers, as "LDL.LU.64"."""
    operands: str


@dataclass(frozen=True)
class SassFigures:
    code_sha256: str
    """Of the instructions as nvdisasm writes them: equal for equal machine code, whatever else the cubin holds (its
    debug information names the folder that the Triton was unpacked to)."""
    code_bytes: int
    mix: dict[str, int]
    """Instructions by class, of the whole kernel."""
    loop_mix: dict[str, int]
    """The same in the loop body."""
    loop_instructions: int
    loop_local_load_bytes: int
    loop_local_store_bytes: int
    """Bytes that one thread moves to and from its stack in one iteration."""


def figures(cubin: bytes) -> SassFigures:
    """Disassemble a cubin with one kernel and count."""
    instructions = disassemble(cubin)
    body = loop_body(instructions)
    text = "".join(f"{instruction.opcode} {instruction.operands}\n" for instruction in instructions)
    return SassFigures(
        code_sha256=hashlib.sha256(text.encode()).hexdigest(),
        code_bytes=INSTRUCTION_BYTES * len(instructions),
        mix=mix(instructions),
        loop_mix=mix(body),
        loop_instructions=len(body),
        loop_local_load_bytes=sum(access_bytes(i.opcode) for i in body if base(i.opcode) == "LDL"),
        loop_local_store_bytes=sum(access_bytes(i.opcode) for i in body if base(i.opcode) == "STL"),
    )


def disassemble(cubin: bytes) -> list[Instruction]:
    """The kernel's instructions; raises FailedError where nvdisasm can't read the cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        answer = subprocess.run([nvdisasm(), "-json", file.name], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise FailedError(f"nvdisasm can't read a cubin: {answer.stderr.strip().splitlines()[-1:]}")
    _, functions = json.loads(answer.stdout)
    longest = max(functions, key=lambda function: len(function["sass-instructions"]))
    return [Instruction(i["opcode"], i.get("operands", "")) for i in longest["sass-instructions"]]


def loop_body(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    """The body of the longest loop: from a backward branch's target to the branch; empty where there is none.

    A branch to itself is the trap behind the kernel's end.
    """
    spans = [(0, 0)]
    for place, instruction in enumerate(instructions):
        if base(instruction.opcode) == "BRA" and (match := re.search(r"0x([0-9a-f]+)$", instruction.operands)):
            target = int(match[1], 16) // INSTRUCTION_BYTES
            if target < place:
                spans.append((target, place + 1))
    start, end = max(spans, key=lambda span: span[1] - span[0])
    return instructions[start:end]


def access_bytes(opcode: str) -> int:
    """Bytes a thread moves by a memory instruction: 4 unless a modifier says otherwise."""
    sizes = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    return next((sizes[modifier] for modifier in opcode.split(".")[1:] if modifier in sizes), 4)


def mix(instructions: Sequence[Instruction]) -> dict[str, int]:
    """How many instructions of each class, those of no class under "other"."""
    counts = Counter(class_of(instruction.opcode) for instruction in instructions)
    return {name: counts[name] for name in [*CLASSES, "other"]}


def class_of(opcode: str) -> str:
    first = base(opcode)
    return next((name for name, pattern in CLASSES.items() if re.fullmatch(pattern, first)), "other")


def base(opcode: str) -> str:
    return opcode.partition(".")[0]


def nvdisasm() -> Path:
    """The pinned package's binary."""
    for file in importlib.metadata.files("nvidia-cuda-nvdisasm") or ():
        if file.name == "nvdisasm":
            return Path(str(file.locate()))
    raise FailedError("the package nvidia-cuda-nvdisasm holds no nvdisasm: install attnkern again")
