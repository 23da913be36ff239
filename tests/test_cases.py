import ast

import pytest

from attnkern.cases import CASES, FORMULATIONS, case_named
from attnkern.errors import UserError
from attnkern.explain.measured import suite_case
from attnkern.home import CHECKOUT


def kernel_parameters() -> list[str]:
    tree = ast.parse((CHECKOUT / "attnkern" / "kernel.py").read_text())
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    return [argument.arg for argument in function.args.args]


def test_seed_is_the_issues_own() -> None:
    seed = CASES["seed"]
    assert (seed.batch, seed.heads, seed.seq_len, seed.head_dim, seed.dtype) == (2, 16, 2048, 128, "float16")
    assert (seed.block_m, seed.block_n, seed.num_warps, seed.num_stages) == (128, 128, 8, 1)
    # 256 threads × 512 programs × 16 iterations are the figures of the spill sum.
    assert (seed.threads, seed.programs, seed.loop_trips) == (256, 512, 16)
    assert seed.flops == 171_798_691_840  # five products of 2·2048²·128, 32 times


@pytest.mark.parametrize(
    ("name", "programs", "trips", "threads"),
    [
        ("tile-128x64", 1024, 16, 256),
        ("tile-64x128", 512, 32, 256),
        ("tile-64x64", 1024, 32, 256),
        ("tile-64x64-w4", 1024, 32, 128),
        ("d64", 512, 16, 256),
        ("bf16", 512, 16, 256),
    ],
)
def test_neighbours(name: str, programs: int, trips: int, threads: int) -> None:
    case = CASES[name]
    assert (case.programs, case.loop_trips, case.threads) == (programs, trips, threads)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_arguments_are_the_kernels_in_its_order(case) -> None:
    constants = case.constants("direct")
    assert list(case.arguments) + list(constants) == kernel_parameters()
    # 43 arguments, of which the 8 unit strides are folded away: 35 at the entry point (see FACTS of the releases).
    assert len(case.arguments) == 43
    assert sum(value != 1 for value in case.arguments.values()) == 35


def test_formulations_differ_in_one_constant() -> None:
    direct, transposed = (CASES["seed"].constants(formulation) for formulation in FORMULATIONS)
    assert {name for name in direct if direct[name] != transposed[name]} == {"TRANSPOSED"}


def test_unknown_case_names_those_there_are() -> None:
    with pytest.raises(UserError, match=r"unknown case 'sed': choose from seed, "):
        case_named("sed")


def test_a_neighbour_of_a_case_is_named_by_what_it_changes() -> None:
    case = case_named("seed+m64+w4+r255")
    assert (case.block_m, case.block_n, case.num_warps, case.num_stages) == (64, 128, 4, 1)
    assert case.options == {"num_warps": 4, "num_stages": 1, "maxnreg": 255}
    assert case_named("seed").options == {"num_warps": 8, "num_stages": 1}


@pytest.mark.parametrize(
    "name", ["sed", "sed+m64", "seed+", "seed+q64", "seed+m", "seed+m0", "seed+m64+m32", "seed+m96", "seed+n4096"]
)
def test_a_case_that_there_is_not(name: str) -> None:
    with pytest.raises(UserError):
        case_named(name)


def test_a_neighbour_may_be_one_of_the_suites_own() -> None:
    assert suite_case("seed+n64") == "tile-128x64"
    assert suite_case("seed+m64+n64+w4") == "tile-64x64-w4"
    assert suite_case("seed+r255") == "seed+r255"
    assert suite_case("bf16") == "bf16"
