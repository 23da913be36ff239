"""Live registers read from nvdisasm's listings, on a small one of our own making."""

from __future__ import annotations

from attnkern.explain import live

LISTING = """\
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;          // |   1  ^   |        |
        /*0010*/                   LDG.E R2, [R4] ;                                 // |   2  :^ v|        |
.L_x_1:
        /*0020*/                   LDL.64 R3, [R1+0x8] ;                            // |   3  ::^ |        |
        /*0030*/                   FADD R0, R2, R3 ;                                // |   4 ^:vv |        |
        /*0040*/                   STL [R1], R0 ;                                   // |   2 v:   |        |
        /*0050*/              @!P0 BRA `(.L_x_1) ;                                  // |   1  :   |        |
        /*0060*/                   EXIT ;                                           // |   1  :   |        |
.L_x_2:
        /*0070*/                   BRA `(.L_x_2);                                   // |             |        |
"""
LINES = """\
	//## File "attnkern/kernel.py", line 41
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
	//## File "attnkern/kernel.py", line 68
        /*0010*/                   LDG.E R2, [R4] ;
	//## File "triton/language/core.py", line 9
        /*0020*/                   LDL.64 R3, [R1+0x8] ;
	//## File "attnkern/kernel.py", line 90
        /*0030*/                   FADD R0, R2, R3 ;
        /*0040*/                   STL [R1], R0 ;
        /*0050*/              @!P0 BRA `(.L_x_1) ;
"""


def test_the_worst_point_of_the_loop_and_who_made_what_is_live_there() -> None:
    found = live.of_loop(live.parse(LISTING, live.source_lines(LINES)))
    assert (found.worst, found.at, found.line) == (4, "FADD R0, R2, R3", 90)
    # R0 is made there, R1 before the loop, R2 by the load, R3 by the reload, which has no line of its own.
    assert {held.line: held.registers for held in found.held} == {90: 1, 41: 1, 68: 2}
    assert found.local_bytes == {68: 8, 90: 4}


def test_the_loop_is_the_longest_backward_branch_and_no_trap() -> None:
    body = live.loop_of(live.parse(LISTING, {}))
    assert [one.address for one in body] == [0x20, 0x30, 0x40, 0x50]
