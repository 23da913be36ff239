"""Passes and shared memory read from a dump, on a small one of our own making."""

from __future__ import annotations

from attnkern.explain.passes import Buffer, buffers, first_differences, last_module, last_pass, state_of, steps


def module(*operations: str, shared: int | None = None, layouts: str = "") -> str:
    attribute = f"ttg.shared = {shared} : i32, " if shared is not None else ""
    return (
        f'{layouts}module attributes {{{attribute}ttg.target = "cuda:80"}} {{\n'
        + "".join(f"  {o}\n" for o in operations)
        + "}\n"
    )


def dump(*passes: tuple[str, str]) -> list[str]:
    text = "".join(
        f"// -----// IR Dump Before {name} ({name.lower()}) ('builtin.module' operation) //----- //\n{text}"
        for name, text in passes
    )
    return text.splitlines()


BLOCKED = "#blocked = #ttg.blocked<{sizePerThread = [1, 8], order = [1, 0]}>\n"
MMA_42 = (
    "#mma = #ttg.nvidia_mma<{warpsPerCTA = [4, 2], CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>\n"
)
MMA_24 = "#mma = #ttg.nvidia_mma<{warpsPerCTA = [2, 4]}>\n"
LOAD = "%1 = tt.load %0 : tensor<64x64xf16, #blocked>"
CONVERT = (
    "%2 = ttg.convert_layout %1 {allocation.offset = 8192 : i32, allocation.size = 4096 : i32}"
    " : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #mma> loc(#loc2)"
)
ALLOC = (
    "%k = ttg.local_alloc %1 {allocation.offset = 0 : i32}"
    " : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem> loc(#loc1)"
)
LOCATIONS = '#loc1 = loc("attnkern/kernel.py":68:8)\n#loc2 = loc("k"(#loc1))\n'


def test_state_of_a_module() -> None:
    found = state_of(module(LOAD, CONVERT, ALLOC, shared=12288, layouts=BLOCKED + MMA_42).splitlines())
    assert found.conversions == 1
    assert found.shared_bytes == 12288
    assert found.allocations == ("64x64xf16, #shared",)
    assert found.layouts == (
        "#ttg.blocked<{sizePerThread = [1, 8], order = [1, 0]}>",
        "#ttg.nvidia_mma<{warpsPerCTA = [4, 2]}>",
    )


def test_buffers_have_their_size_place_and_source_line() -> None:
    text = module(LOAD, CONVERT, ALLOC, shared=12288, layouts=BLOCKED + MMA_42) + LOCATIONS
    assert buffers(text.splitlines()) == [
        Buffer("local_alloc 64x64xf16 of k", 0, 64 * 64 * 2, 68),
        Buffer("convert_layout 64x64xf16", 8192, 4096, 68),
    ]


def test_the_first_pass_with_a_lasting_difference_is_named() -> None:
    start, converted = module(LOAD, layouts=BLOCKED), module(LOAD, CONVERT, layouts=BLOCKED + MMA_42)
    other = module(LOAD, CONVERT, layouts=BLOCKED + MMA_24)
    before = dump(("Coalesce", start), ("AccelerateMatmul", start), ("CSE", converted), ("Canonicalizer", converted))
    # Another release: a pass more, which makes no difference that lasts.
    after = dump(
        ("Coalesce", start), ("Extra", converted), ("AccelerateMatmul", start), ("CSE", other), ("Canonicalizer", other)
    )
    (found,) = first_differences(steps(before), steps(after))
    assert (found.feature, found.before_pass, found.after_pass) == ("layouts", "AccelerateMatmul", "AccelerateMatmul")
    assert (found.before, found.after) == (
        "#ttg.nvidia_mma<{warpsPerCTA = [4, 2]}>", "#ttg.nvidia_mma<{warpsPerCTA = [2, 4]}>",
    )  # fmt: skip


def test_nothing_differs() -> None:
    same = dump(("A", module(LOAD, layouts=BLOCKED)), ("B", module(LOAD, layouts=BLOCKED)))
    assert first_differences(steps(same), steps(same)) == []


def test_the_dump_is_read_up_to_the_lowering() -> None:
    last = module(ALLOC, shared=8192)
    lines = dump(
        ("A", module(LOAD)),
        ("AllocateSharedMemory", module(ALLOC)),
        ("ConvertTritonGPUToLLVM", last),
        ("CSE", module()),
    )
    assert [step.name for step in steps(lines)] == ["A", "AllocateSharedMemory"]
    assert steps(lines)[-1].state.shared_bytes == 8192
    assert last_pass(lines) == "CSE"


def test_a_dump_that_breaks_off_tells_the_pass() -> None:
    lines = dump(("A", module(LOAD)), ("Broken", module(LOAD)))
    assert last_pass([*lines, "assertion failed"]) == "Broken"
    assert steps([]) == [] and last_pass([]) == "" and last_module([]) == []
