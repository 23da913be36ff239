"""The verdict on made-up matrices, and what an assembler's refusal is told as."""

from __future__ import annotations

import pytest

from attnkern.explain.assemble import Cell, Verdict, refusal, verdict

FINE, COLLAPSED = Cell(255, 1488, 3504), Cell(32, 16616, 60348)
REFUSED = Cell(None, None, None, "PTX 8.7 is newer than the 8.4 it knows")


@pytest.mark.parametrize(
    ("before", "new_assembler", "new_compiler", "after", "shared_changed", "expected"),
    [
        (FINE, FINE, COLLAPSED, COLLAPSED, False, "compiler"),
        (FINE, COLLAPSED, FINE, COLLAPSED, False, "assembler"),
        (FINE, COLLAPSED, COLLAPSED, COLLAPSED, False, "both"),
        (FINE, FINE, FINE, COLLAPSED, False, "both"),  # only together
        (FINE, FINE, FINE, FINE, False, "neither"),
        (COLLAPSED, COLLAPSED, COLLAPSED, COLLAPSED, True, "compiler"),  # shared memory is the compiler's
        (FINE, COLLAPSED, FINE, COLLAPSED, True, "both"),
        (FINE, FINE, REFUSED, COLLAPSED, False, "compiler"),
        (FINE, COLLAPSED, REFUSED, COLLAPSED, False, "assembler"),
    ],
)
def test_verdict(
    before: Cell, new_assembler: Cell, new_compiler: Cell, after: Cell, shared_changed: bool, expected: Verdict
) -> None:
    cells = {(0, 0): before, (0, 1): new_assembler, (1, 0): new_compiler, (1, 1): after}
    assert verdict(cells, shared_changed) == expected


def test_a_refusal_in_one_line() -> None:
    said = "ptxas k.ptx, line 5; fatal   : Unsupported .version 8.4; current version is '8.1'\nptxas fatal: aborted\n"
    assert refusal(said) == "PTX 8.4 is newer than the 8.1 it knows"
    assert refusal("") == "it failed without a word"
    assert refusal("ptxas fatal   : Ptx assembly aborted due to errors").startswith("fatal")
