"""Normalising and comparing stages, on small IR of our own making."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attnkern.codegen.sass import Instruction
from attnkern.explain import stages

OLD = """
#blocked = #triton_gpu.blocked<{order = [1, 0]}>
#loc = loc("somewhere/kernel.py":1:0)
module {
  tt.func public @f(%arg0: !tt.ptr<f16> loc("a.py":3:0)) {
    %12 = tt.load %arg0 : tensor<16x16xf16, #blocked> loc(#loc4)
    %13 = triton_gpu.local_alloc %12 : (tensor<16x16xf16>) -> !tt.memdesc<16x16xf16, #shared> loc(callsite(#l5 at #l6))
    tt.return loc(#loc7)
  }
}
"""
NEW = OLD.replace("triton_gpu.", "ttg.").replace("!tt.memdesc", "!ttg.memdesc").replace("%12", "%k_7").replace(
    "#blocked", "#blocked3"
)  # fmt: skip


def test_names_locations_and_dialects_do_not_count() -> None:
    assert stages.normalised_mlir(OLD) == stages.normalised_mlir(NEW)
    assert stages.compare("ttgir", stages.normalised_mlir(OLD), stages.normalised_mlir(NEW)).same


def test_an_operation_more_is_counted_and_shown() -> None:
    extra = NEW.replace("    tt.return", "    %14 = tt.trans %k_7 : tensor<16x16xf16, #blocked3>\n    tt.return")
    found = stages.compare("ttgir", stages.normalised_mlir(OLD), stages.normalised_mlir(extra))
    assert not found.same
    assert [(one.operation, one.before, one.after) for one in found.operations] == [("tt.trans", 0, 1)]
    assert found.lines == ("+ % = tt.trans % : tensor<16x16xf16, #blocked>",)


def test_llvm_calls_are_told_by_what_they_call() -> None:
    text = """
; comment
define void @f(ptr %0) !dbg !5 {
  %2 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !7
  %3 = add i32 %2, 1, !dbg !8
  %4 = call { i32, i32 } asm sideeffect "mma.sync.aligned.m16n8k16.row.col $0;", "=r"(i32 %3) #2
  ret void
}
!5 = !{}
"""
    counts = stages.operations("llir", stages.normalised_llvm(text))
    assert counts["add"] == 1 and counts["ret"] == 1
    assert counts["call llvm.nvvm.read.ptx.sreg.tid.x"] == 1
    assert any(name.startswith("call mma.sync") for name in counts)


def test_ptx_without_register_numbers_lines_and_debug_sections() -> None:
    text = """.version 8.4
.visible .entry f(.param .u64 p)
.reqntid 256, 1, 1
{
  .reg .b32 %r<9>;
$L__func_begin0:
  .loc 1 17 0
  @%p1 ld.global.b32 %r7, [ %rd3 + 0 ]; // comment
  mul.f32 	%f2, %f1, %f1;
  bra $L__BB0_1;
}
  .section .debug_abbrev { .b8 1 }
"""
    lines = stages.normalised_ptx(text)
    assert lines == ["@%p ld.global.b32 %r, [ %rd + 0 ];", "mul.f32 %f, %f, %f;", "bra $L;"]
    assert stages.operations("ptx", lines) == {"ld.global.b32": 1, "mul.f32": 1, "bra": 1}


def test_sass_by_opcode() -> None:
    lines = stages.normalised_sass([Instruction("LDL.64", "R12, [R1+0x8]"), Instruction("NOP", "")])
    assert lines == ["LDL.64 R, [R+0x8]"]
    assert stages.operations("sass", lines) == {"LDL": 1}


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_compared(one: str, other: str) -> None:
    for stage, normalise in stages.NORMALISED.items():
        before, after = normalise(one), normalise(other)
        found = stages.compare(stage, before, after)
        assert found.same == (before == after)
        assert len(found.lines) <= stages.LINES_SHOWN
