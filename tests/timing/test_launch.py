import pytest
import torch

from attnkern.cases import CASES
from attnkern.codegen.gpus import SUITE_TARGETS
from attnkern.timing import anchor
from attnkern.timing.launch import CannotLaunch, bind

VALUES = {name: torch.zeros(1) if isinstance(value, str) else value for name, value in CASES["seed"].arguments.items()}
OWN = ("u64",) * 10 + ("f32",) + ("u32",) * 24


@pytest.mark.parametrize("scratch", [0, 1, 2])
def test_arguments_of_every_release(scratch: int) -> None:
    """35 of the kernel's own; later releases append one or two scratch pointers."""
    arguments = bind((*OWN, *("u64",) * scratch), VALUES)
    assert len(arguments) == 35 + scratch
    assert arguments[0].value == VALUES["Q"].data_ptr()
    assert arguments[10].value == pytest.approx(1.1)
    assert arguments[11].value == 16 * 2048 * 128  # stride_qz
    assert arguments[34].value == 2048  # seq_len
    assert all(argument.value == 0 for argument in arguments[35:])


@pytest.mark.parametrize("parameters", [OWN[:-1], (*OWN, "u32"), (*OWN, "u64", "u64", "u64"), OWN[::-1], ()])
def test_an_entry_point_of_another_shape(parameters: tuple[str, ...]) -> None:
    with pytest.raises(CannotLaunch, match="parameters that are not the kernel's"):
        bind(parameters, VALUES)


@pytest.mark.parametrize("target", SUITE_TARGETS)
def test_the_anchor_is_whole(target: str) -> None:
    artifact, cubin = anchor.for_target(target)
    assert cubin.startswith(b"\x7fELF")
    assert (artifact.key.case, artifact.key.formulation, artifact.key.target) == ("seed", "transposed", target)
    assert artifact.ptxas.registers == 255
