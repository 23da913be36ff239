"""Whatever a compiler or a disassembler prints is read without a word of ours in its way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attnkern.explain import live, passes
from attnkern.explain.assemble import refusal

PIECES = st.sampled_from(
    [
        "// -----// IR Dump Before CSE (cse) ('builtin.module' operation) //----- //\n",
        "// -----// SoftwarePipeliner internal IR Dump After: LowerLoops\n",
        "module attributes {ttg.shared = 12 : i32} {\n",
        "%1 = ttg.local_alloc %0 {allocation.offset = 5 : i32} : (tensor<4x4xf16, #b>) -> !ttg.memdesc<4x4xf16, #s>\n",
        "%1 = ttg.convert_layout %0 {allocation.offset = 5 : i32} : tensor<xf16>\n",
        "#b = #ttg.blocked<{order = [1, 0]}>\n",
        '#loc1 = loc("a"(#loc1))\n',
        "        /*0010*/      BRA `(.L_x_1) ;  // |   3 ^:v | |\n",
        ".L_x_1:\n",
        "        /*zz*/   // | | \n",
        "\x00\x1b[0m\n",
        "\n",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=40)), max_size=15).map("".join)


@given(TEXTS, TEXTS)
def test_any_dump(one: str, other: str) -> None:
    before, after = passes.steps(one.splitlines()), passes.steps(other.splitlines())
    passes.first_differences(before, after)
    passes.buffers(passes.last_module(one.splitlines()))
    passes.last_pass(one.splitlines())
    assert passes.first_differences(before, before) == []


@given(TEXTS)
def test_any_listing(text: str) -> None:
    found = live.parse(text, live.source_lines(text))
    if found:
        pressure = live.of_loop(found)
        assert pressure.worst == max(one.live for one in live.loop_of(found))


@given(st.text(max_size=200))
def test_any_refusal_is_one_line(said: str) -> None:
    assert refusal(said) and "\n" not in refusal(said)
