"""The compiler's passes: what each left of layouts, conversions and shared memory, read from its own IR dump. Pure.

With MLIR_ENABLE_DUMP a Triton prints the module before each pass, from which follows what the pass before it made.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attnkern.explain.stages import normalised_mlir

HEADING = re.compile(r"// -----// IR Dump Before (\w+)(?: \(([\w-]+)\))?")
TO_LLVM = ("ConvertTritonGPUToLLVM", "ConvertTritonGPUToLLVMPass")
"""The pass that ends the part with layouts, by its names over the releases."""
FEATURES = ("layouts", "conversions", "shared memory")


@dataclass(frozen=True)
class Buffer:
    """One piece of shared memory."""

    value: str
    """What it holds, as the IR has it: the operation and its type."""
    offset: int
    bytes: int
    line: int | None
    """Of the kernel's source."""


@dataclass(frozen=True)
class State:
    """What a module says of layouts and data movement."""

    layouts: tuple[str, ...]
    """The layouts that tensors have, without names, sorted."""
    conversions: int
    allocations: tuple[str, ...]
    """Types of what lies in shared memory, sorted."""
    shared_bytes: int | None
    """None before it is allocated."""

    def feature(self, name: str) -> tuple[str, ...] | int | None:
        if name == "layouts":
            return self.layouts
        if name == "conversions":
            return self.conversions
        return (*self.allocations, str(self.shared_bytes))


@dataclass(frozen=True)
class Step:
    """A pass, and the state after it."""

    name: str
    state: State


@dataclass(frozen=True)
class PassDifference:
    """The first pass after which two compiles differ in a feature."""

    feature: str
    before_pass: str
    """In the compile before: the pass that made its state."""
    after_pass: str
    before: str
    """What it left, in words."""
    after: str


def modules(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """(pass, the module before it) of a dump, up to the lowering to LLVM; dumps of single functions are left out."""
    name: str | None = None
    module: list[str] = []
    for line in lines:
        heading = HEADING.match(line)
        if heading is None:
            if line.startswith("// -----// "):  # a pass's own dump, which is no pass
                if name is not None:
                    yield name, module
                name = None
            elif name is not None:
                module.append(line)
            continue
        if name is not None:
            yield name, module
        if name in TO_LLVM:
            return
        name, module = (heading[1], []) if "'tt.func'" not in line and "'func.func'" not in line else (None, [])
    if name is not None:
        yield name, module


def steps(lines: Iterable[str]) -> list[Step]:
    """Every pass up to the lowering, with what it left."""
    found: list[Step] = []
    last: str | None = None
    for name, module in modules(lines):
        if last is not None:
            found.append(Step(last, state_of(module)))
        last = name
    return found


def last_module(lines: Iterable[str]) -> list[str]:
    """The module as it goes to LLVM, its shared memory allocated."""
    found = [module for _, module in modules(lines)]
    return found[-1] if found else []


def lowering_begun(dump: bytes) -> bool:
    """Whether the dump, as far as it is written, has gone past the last module with layouts."""
    for name in TO_LLVM:
        place = dump.find(f"IR Dump Before {name} ".encode())
        if place >= 0 and dump.find(b"// -----// ", place + 1) >= 0:
            return True
    return False


def last_pass(lines: Iterable[str]) -> str:
    """The last pass that began."""
    name = ""
    for line in lines:
        if line.startswith("// -----// ") and (heading := HEADING.match(line)):
            name = heading[1]
    return name


def state_of(module: Sequence[str]) -> State:
    text = "\n".join(module)
    definitions = dict(re.findall(r"^(#\w+) = (#(?:triton_gpu|ttg|tt)\.\w+<.*>)\s*$", text, re.MULTILINE))
    used = set(re.findall(r"#\w+", "\n".join(line for line in module if " = #" not in line)))
    layouts = sorted(plain_layout(layout) for name, layout in definitions.items() if name in used)
    allocations = [
        re.sub(r", #smem.*|, mutable", "", match[1])
        for line in normalised_mlir(text)
        if (match := re.search(r"ttg\.local_alloc\b.*-> !ttg\.memdesc<([^>]*)>", line))
    ]
    shared = re.search(r"(?:triton_gpu|ttg)\.shared\"? = (\d+)", text)
    return State(
        tuple(layouts),
        len(re.findall(r"= (?:triton_gpu|ttg)\.convert_layout\b", text)),
        tuple(sorted(allocations)),
        int(shared[1]) if shared else None,
    )


def plain_layout(layout: str) -> str:
    """In the newest releases' names, without what has one value on one GPU (CTAs), so that releases can be compared."""
    layout = layout.replace("triton_gpu.", "ttg.")
    layout = re.sub(r", (?:CTAsPerCGA|CTASplitNum|CTAOrder|CGALayout) = \[[^=]*\](?=[,}])", "", layout)
    layout = re.sub(r", hasLeadingOffset = false", "", layout)
    return layout.replace("swizzled_shared", "shared")


def first_differences(before: Sequence[Step], after: Sequence[Step]) -> list[PassDifference]:
    """For each feature the first pass after which the two compiles differ and never agree again.

    Passes are matched by name and order, since releases have different ones. A feature that agrees at the end is left
    out.
    """
    matched = [
        (block.a + place, block.b + place)
        for block in difflib.SequenceMatcher(
            a=[step.name for step in before], b=[step.name for step in after], autojunk=False
        ).get_matching_blocks()
        for place in range(block.size)
    ]
    # Both after a pass that both have and before the next one: a release may have a pass more in between.
    points = sorted({*matched, *((i - 1, k - 1) for i, k in matched if i and k)})
    found = []
    for feature in FEATURES:
        if not before or not after or before[-1].state.feature(feature) == after[-1].state.feature(feature):
            continue
        agreed = [(i, k) for i, k in points if before[i].state.feature(feature) == after[k].state.feature(feature)]
        start, other = agreed[-1] if agreed else (-1, -1)
        had, has = next_change(before, start, feature), next_change(after, other, feature)
        value, changed = before[had].state.feature(feature), after[has].state.feature(feature)
        found.append(
            PassDifference(
                feature,
                before[had].name if had > start else "no pass",
                after[has].name if has > other else "no pass",
                in_words(value, changed),
                in_words(changed, value),
            )
        )
    return found


def next_change(steps: Sequence[Step], start: int, feature: str) -> int:
    """The first step after `start` that changed the feature; `start` itself (or the first one) where none did."""
    value = steps[start].state.feature(feature) if start >= 0 else None
    for place in range(start + 1, len(steps)):
        if steps[place].state.feature(feature) != value:
            return place
    return max(start, 0)


def in_words(value: tuple[str, ...] | int | None, other: tuple[str, ...] | int | None) -> str:
    """What a feature is, or of many things those that the other has not."""
    if not isinstance(value, tuple):
        return str(value)
    mine, theirs = list(value), list(other) if isinstance(other, tuple) else []
    for thing in theirs:
        if thing in mine:
            mine.remove(thing)
    return ", ".join(thing for thing in mine if thing != "None") or "nothing more"


def buffers(module: Sequence[str]) -> list[Buffer]:
    """The pieces of shared memory in a module that has them allocated, by offset."""
    text = "\n".join(module)
    locations = dict(re.findall(r"^#(loc\d*) = loc\((.*)\)\s*$", text, re.MULTILINE))
    found = []
    for line in module:
        offset = re.search(r"allocation\.offset = (\d+)", line)
        if offset is None:
            continue
        size = re.search(r"allocation\.size = (\d+)", line)
        type_of = re.search(r": \(?(?:tensor|!\w+\.memdesc)<([\dx]+)x([a-z]+\d+)", line)
        if type_of is None:
            continue
        found.append(
            Buffer(
                described(line),
                int(offset[1]),
                int(size[1]) if size else elements(type_of[1]) * bits(type_of[2]) // 8,
                source_line(line, locations),
            )
        )
    return sorted(found, key=lambda buffer: (buffer.offset, buffer.value))


def described(line: str) -> str:
    """`%k = local_alloc 128x128xf16`: the value's name where the compiler kept it."""
    match = re.search(r"(%[\w-]+) = (?:triton_gpu|ttg)\.(\w+)", line)
    shape = re.search(r"<([\dx]+x[a-z]+\d+)", line)
    source = re.search(r"(?:local_alloc|convert_layout) (%[\w-]+)", line)
    named = source[1] if source and not source[1][1:].isdigit() else (match[1] if match else "")
    named = "" if named[1:].split("_")[0].isdigit() else f" of {named.lstrip('%')}"
    return f"{match[2] if match else 'buffer'} {shape[1] if shape else ''}{named}"


def source_line(line: str, locations: dict[str, str]) -> int | None:
    """The kernel's source line of an operation, through names and call sites."""
    match = re.search(r"loc\((.*)\)\s*$", line)
    place = match[1] if match else ""
    for _ in range(10):
        if direct := re.search(r'"[^"]*kernel\.py":(\d+)', place):
            return int(direct[1])
        reference = re.findall(r"#(loc\d*)", place)
        if not reference:
            return None
        place = locations.get(reference[-1], "")
    return None


def elements(shape: str) -> int:
    count = 1
    for size in shape.split("x"):
        count *= int(size)
    return count


def bits(dtype: str) -> int:
    match = re.search(r"\d+", dtype)
    return int(match[0]) if match else 8
