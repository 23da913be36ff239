"""The stages of two artifacts, compared: which differ, in which operations, and a few lines that show it. Pure.

Names, locations and metadata differ between any two compiles, so they are taken out first.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from attnkern.codegen.sass import Instruction, base

LINES_SHOWN = 8
OPERATIONS_SHOWN = 8


@dataclass(frozen=True)
class OperationChange:
    operation: str
    before: int
    after: int


@dataclass(frozen=True)
class StageDifference:
    stage: str
    """"ttir", "ttgir", "llir", "ptx" or "sass"."""
    same: bool
    """Nothing differs but names, locations and metadata."""
    operations: tuple[OperationChange, ...]
    """The counts that changed, the largest change first; none where only operands, types or order differ."""
    lines: tuple[str, ...]
    """The first few differing lines: those before with "-", those after with "+"."""


def compare(stage: str, before: Sequence[str], after: Sequence[str]) -> StageDifference:
    """Of two normalised stages."""
    if list(before) == list(after):
        return StageDifference(stage, True, (), ())
    had, has = operations(stage, before), operations(stage, after)
    changed = [OperationChange(name, had[name], has[name]) for name in had | has if had[name] != has[name]]
    changed.sort(key=lambda change: (-abs(change.after - change.before), change.operation))
    return StageDifference(stage, False, tuple(changed[:OPERATIONS_SHOWN]), telling(stage, before, after))


def telling(stage: str, before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """The first differing lines; of the IR with layouts, of those that say where data lie and how they move."""
    if stage == "ttgir":
        moves = re.compile(r"\b(ttg|tt)\.(dot|convert_layout|local_alloc|local_load|trans|memdesc_trans)\b")
        before, after = ([line for line in lines if moves.search(line)] for lines in (before, after))
    found = []
    # autojunk would call every frequent instruction junk; difflib without it takes minutes on 20 000 lines.
    for tag, i, j, k, m in difflib.SequenceMatcher(a=before, b=after, autojunk=len(before) > 2000).get_opcodes():
        if tag != "equal":
            found += [f"- {line}" for line in before[i:j][: LINES_SHOWN // 2]]
            found += [f"+ {line}" for line in after[k:m][: LINES_SHOWN // 2]]
        if len(found) >= LINES_SHOWN:
            break
    return tuple(dict.fromkeys(found))[:LINES_SHOWN]


def operations(stage: str, lines: Iterable[str]) -> Counter[str]:
    """How often each operation stands in a normalised stage."""
    find = OPERATION[stage]
    return Counter(name for line in lines if (name := find(line)))


def mlir_operation(line: str) -> str | None:
    match = re.match(r'(?:[%\w, :]+ = )?"?([a-z_]+\.[a-z_0-9.]+)"?', line)
    return match[1] if match else None


def llvm_operation(line: str) -> str | None:
    match = re.match(r"(?:% = )?(?:tail )?([a-z]+)\b", line)
    if match is None:
        return None
    if match[1] == "call":
        called = re.search(r'asm (?:sideeffect )?"\W*(?:\{[^}]*?)?([a-z][\w.]*)|@([\w.]+)\(', line)
        return f"call {called[1] or called[2]}" if called else "call"
    return match[1]


def ptx_operation(line: str) -> str | None:
    match = re.match(r"(?:@!?%p )?([a-z][\w.:]*)", line)
    return match[1] if match else None


OPERATION: dict[str, Callable[[str], str | None]] = {
    "ttir": mlir_operation,
    "ttgir": mlir_operation,
    "llir": llvm_operation,
    "ptx": ptx_operation,
    "sass": lambda line: base(line.split()[0]),
}


def normalised_mlir(text: str) -> list[str]:
    """TTIR or TTGIR without names and locations, in the dialect names of the newest releases."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", line).strip()
        if not line or line.startswith(("#loc", "//")):
            continue
        line = line.replace("triton_gpu.", "ttg.").replace("!tt.memdesc", "!ttg.memdesc")
        line = line.replace("#ttg.shared_memory", "#smem")
        line = re.sub(r"%[\w#:.$-]+", "%", line)
        lines.append(re.sub(r"(#[a-z_]+)\d+", r"\1", line))
    return lines


def normalised_llvm(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        line = re.sub(r",? ![\w.]+(?: !\d+)?", "", line).strip()
        line = re.sub(r" #\d+\b", "", re.sub(r"%[\w.$-]+", "%", line))
        if line and not line.startswith(("!", ";", "declare", "attributes", "source_filename", "target ", "define")):
            lines.append(re.sub(r"^\d+:.*", "label:", line))
    return lines


def normalised_ptx(text: str) -> list[str]:
    """The instructions, registers and labels without numbers."""
    body = text[text.find("{") + 1 :] if "{" in text else text
    lines = []
    for line in body.splitlines():
        line = re.sub(r"//.*", "", line).strip()
        if line.startswith(".section"):
            break
        if not line or line.startswith((".", "{", "}", "$")):
            continue
        line = re.sub(r"(%[a-z]+)\d+", r"\1", re.sub(r"\$L\w+", "$L", line))
        lines.append(re.sub(r"\s+", " ", line))
    return lines


def normalised_sass(instructions: Iterable[Instruction]) -> list[str]:
    return [
        re.sub(r"\b(U?[RP])\d+\b", r"\1", f"{i.opcode} {i.operands}").strip() for i in instructions if i.opcode != "NOP"
    ]


NORMALISED: dict[str, Callable[[str], list[str]]] = {
    "ttir": normalised_mlir,
    "ttgir": normalised_mlir,
    "llir": normalised_llvm,
    "ptx": normalised_ptx,
}
