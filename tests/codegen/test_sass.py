import pytest

from attnkern.codegen.sass import Instruction, access_bytes, class_of, loop_body, mix


@pytest.mark.parametrize(
    ("opcode", "size"),
    [("LDL", 4), ("LDL.64", 8), ("STL.128", 16), ("LDL.LU.64", 8), ("LDL.LU", 4), ("STL.U8", 1), ("LDL.S16", 2)],
)
def test_access_bytes(opcode: str, size: int) -> None:
    assert access_bytes(opcode) == size


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("HMMA.16816.F32", "tensor_core"),
        ("HGMMA.64x128x16.F32", "tensor_core"),
        ("IMMA.16832.S8.S8", "tensor_core"),
        ("UTCHMMA.2CTA", "tensor_core"),
        ("LDSM.16.MT88.4", "ldmatrix"),
        ("LDS.U", "shared"),
        ("STSM.16.M88.4", "shared"),
        ("LDL.LU", "local"),
        ("LDG.E.128", "global"),
        ("RED.E.ADD.F32.FTZ.RN", "atomics"),
        ("ATOMG.E.ADD.F32.FTZ.RN", "atomics"),
        ("BAR.SYNC", "barriers"),
        ("FFMA", "other"),
        ("IMAD.WIDE", "other"),
        ("BRA", "other"),
    ],
)
def test_classes(opcode: str, kind: str) -> None:
    assert class_of(opcode) == kind


def code(*lines: str) -> list[Instruction]:
    return [Instruction(*(*line.split(" "), "")[:2]) for line in lines]


def test_loop_body_is_from_the_target_to_the_branch() -> None:
    #              0      1        2      3        4     5           6        7          8
    kernel = code("MOV", "BRA 0x70", "LDL", "HMMA", "STL", "BRA 0x20", "STG", "EXIT", "BRA 0x80")
    assert loop_body(kernel) == kernel[2:6]


def test_no_loop() -> None:
    assert loop_body(code("MOV", "BRA 0x20", "EXIT", "BRA 0x30")) == []


def test_the_longest_loop_counts() -> None:
    kernel = code("MOV", "LDG", "BRA 0x10", "LDL", "HMMA", "FFMA", "BRA 0x30", "EXIT")
    assert loop_body(kernel) == kernel[3:7]


def test_mix_counts_every_instruction_once() -> None:
    kernel = code("LDL", "LDL.64", "HMMA.16816.F32", "MOV")
    assert mix(kernel) == dict.fromkeys(mix([]), 0) | {"local": 2, "tensor_core": 1, "other": 1}
