"""Which launch configurations are tried, and which of them help."""

from __future__ import annotations

import json

from attnkern.cases import case_named
from attnkern.explain.neighbours import Tried, in_both, neighbours, order
from attnkern.explain.reports import known_from


def tried(case: str, form: str, registers: int | None, spills: int = 0, launchable: bool = True) -> Tried:
    return Tried(case, "direct" if form == "direct" else "transposed", registers, spills, 65536, 1.0, launchable)


def test_every_neighbour_is_another_configuration_of_the_same_problem() -> None:
    found = neighbours("seed")
    assert len(found) == 32  # 2 x 2 tiles, 2 numbers of warps, 2 of stages, with and without a cap
    assert len({(one.block_m, one.block_n, one.num_warps, one.num_stages, one.max_registers) for one in found}) == 32
    assert {(one.seq_len, one.head_dim, one.dtype) for one in found} == {(2048, 128, "float16")}
    assert "seed" in {one.name for one in found}
    assert all(case_named(one.name) == one for one in found)


def test_a_configuration_helps_where_it_compiles_launches_and_does_not_collapse() -> None:
    found = [
        tried("seed", "direct", 255, 3000, launchable=False),
        tried("seed", "transposed", 32, 60000),
        tried("seed+n64", "direct", 32, 60000),
        tried("seed+n64", "transposed", 255, 100),
        tried("seed+m64", "direct", 241),
        tried("seed+m64", "transposed", 32),  # few registers because it needs no more
        tried("seed+w4", "direct", None),
    ]
    assert [one.helps for one in found] == [False, False, False, True, True, True, False]
    assert in_both(found) == ["seed+m64"]


def test_what_does_not_compile_has_no_floor_and_comes_last() -> None:
    failed = Tried("seed+w4", "direct", None, 0, 0, None, False, "raised before ptx")
    found = sorted([failed, tried("seed", "direct", 32, 60000), tried("seed+m64", "direct", 241)], key=order)
    assert [one.case for one in found] == ["seed+m64", "seed", "seed+w4"]
    json.dumps([vars(one) for one in found], allow_nan=False)


def test_what_was_measured_says_so() -> None:
    assert known_from(tried("seed", "direct", 255)) == "compiled"
    timed = Tried("seed+n64", "direct", 255, 0, 65536, 1.0, True, measured_ms={"h200, ported": 5.6661})
    assert known_from(timed) == "measured: 5.666 ms on h200, ported"
