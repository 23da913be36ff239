import pytest

from attnkern.cases import CASES
from attnkern.codegen.gpus import GPUS, REFERENCE, Gpu, gpu_named, known_model, target_named
from attnkern.codegen.profile import fit, profile
from attnkern.errors import UserError
from tests.codegen.builders import artifact, figures


@pytest.mark.parametrize(
    ("registers", "stack", "loaded", "stored", "gigabytes", "ms"),
    [
        # Measured by hand from the releases' own sm_80 code for the case `seed`, at the A100's 2.04 TB/s.
        (32, 13248, 25104, 23704, 102.4, 50.2),  # 2.0.0 direct
        (32, 15168, 26980, 25392, 109.8, 53.8),  # 2.1.0 direct
        (255, 1488, 1404, 1076, 5.2, 2.5),  # 3.2.0 transposed
        (32, 16616, 27912, 25660, 112.3, 55.1),  # 3.3.0 transposed
    ],
)
def test_spill_floor_on_the_a100(
    registers: int, stack: int, loaded: int, stored: int, gigabytes: float, ms: float
) -> None:
    seed = profile(artifact(registers, stack), figures(loaded, stored), CASES["seed"])
    here = fit(seed, GPUS["A100"])
    assert seed.local_bytes_per_launch / 1e9 == pytest.approx(gigabytes, rel=0.02)
    assert here.spill_floor_ms == pytest.approx(ms, rel=0.02)
    assert here.spill_floor_level == "memory"


def test_stacks_that_fit_are_served_from_the_l2() -> None:
    """1.2 KB a thread fill 40 MB of the H200's 60: the L2's bandwidth is the one to divide by."""
    seed = profile(artifact(255, 1200), figures(1500, 1000), CASES["seed"])
    here = fit(seed, GPUS["H200"])
    assert here.spill_floor_level == "l2"
    assert here.spill_floor_ms < 1e3 * seed.local_bytes_per_launch / GPUS["H200"].memory_bytes_per_s


@pytest.mark.parametrize(
    ("shared", "gpu", "launchable"),
    [
        (163840, "A100", True),
        (166912, "A100", True),
        (166913, "A100", False),
        (196608, "A100", False),  # the direct form from 3.3.0 on
        (196608, "H200", True),
        (163840, "A10G", False),
        (101376, "L4", True),
    ],
)
def test_shared_memory_decides_the_launch(shared: int, gpu: str, launchable: bool) -> None:
    here = fit(profile(artifact(shared_bytes=shared), figures(), CASES["seed"]), GPUS[gpu])
    assert here.launchable is launchable
    assert (here.obstacle is None) is launchable
    assert (here.programs_per_sm > 0) is launchable


@pytest.mark.parametrize(
    ("registers", "warps", "shared", "programs"),
    [
        # CUDA occupancy calculator, capability 8.0.
        (255, 8, 163840, 1),
        (32, 8, 0, 8),
        (64, 4, 0, 8),
        (128, 4, 0, 4),
        (168, 4, 0, 3),
        (32, 4, 40960, 4),
        (32, 1, 0, 32),
    ],
)
def test_occupancy_on_the_a100(registers: int, warps: int, shared: int, programs: int) -> None:
    here = fit(profile(artifact(registers, 0, shared, warps), figures(), CASES["seed"]), GPUS["A100"])
    assert here.programs_per_sm == programs
    assert here.occupancy == pytest.approx(programs * warps / 64)


def test_too_many_registers_for_a_launch() -> None:
    here = fit(profile(artifact(255, 0, 0, 16), figures(), CASES["seed"]), GPUS["A100"])
    assert here.obstacle == "255 registers in 512 threads, a multiprocessor has 65536"


@pytest.mark.parametrize(
    ("gpu", "targets"),
    [("A100", ["sm_80"]), ("A10G", ["sm_80", "sm_86"]), ("H100", ["sm_90"]), ("B200", ["sm_100"])],
)
def test_which_code_a_gpu_runs(gpu: str, targets: list[str]) -> None:
    assert [target for target in REFERENCE if GPUS[gpu].runs(target)] == targets


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_each_gpu_is_whole(gpu: Gpu) -> None:
    assert gpu.source
    assert gpu.shared_bytes_per_program + 1024 == gpu.shared_bytes_per_sm
    assert all(GPUS[name].runs(target) for target, name in REFERENCE.items())


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA L40S", None),
        ("Tesla V100", None),
    ],
)
def test_which_gpu_a_driver_means(driver: str, name: str | None) -> None:
    found = known_model(driver)
    assert (found.name if found else None) == name


def test_names() -> None:
    assert gpu_named("rtx5090") is GPUS["RTX 5090"]
    with pytest.raises(UserError, match="unknown GPU 'V100': choose from A100"):
        gpu_named("V100")
    with pytest.raises(UserError, match="unknown target 'gfx90a': choose from sm_80"):
        target_named("gfx90a")
