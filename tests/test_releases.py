"""Real Triton releases: the measured figures, and that the worker compiles what the release's own JIT would."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attnkern.cases import CASES
from attnkern.codegen import build, bundle, store
from attnkern.codegen.artifact import Artifact, Failure, Key
from attnkern.codegen.compile import KERNEL
from attnkern.revisions import history
from attnkern.revisions.select import select
from tests.conftest import CommandLine

pytestmark = pytest.mark.triton


@pytest.fixture(scope="session")
def profiles(compiled: CommandLine) -> dict[tuple[str, str], dict[str, Any]]:
    answer = compiled.run("profile", "2.0.0,2.1.0,3.2.0,3.3.0,3.9.0", "--case", "seed", "--target", "sm_80", "--json")
    assert answer.returncode == 0, answer.stderr
    return {(row["release"], row["formulation"]): row for row in json.loads(answer.stdout)}


@pytest.mark.parametrize(
    ("release", "formulation", "registers", "stack", "shared", "launchable"),
    [
        # Measured by hand on 2026-12-01, apart from this code.
        ("2.1.0", "direct", 32, 15168, 163840, True),
        ("2.1.0", "transposed", 255, 1232, 163840, True),
        ("3.2.0", "direct", 32, 14784, 163840, True),
        ("3.2.0", "transposed", 255, 1488, 163840, True),
        ("3.3.0", "direct", 32, 17432, 196608, False),
        ("3.3.0", "transposed", 32, 16616, 163840, True),
        ("3.9.0", "direct", 32, 16256, 196608, False),
        ("3.9.0", "transposed", 32, 15088, 163840, True),
    ],
)
def test_what_the_compilers_emit(
    profiles: Any, release: str, formulation: str, registers: int, stack: int, shared: int, launchable: bool
) -> None:
    row = profiles[release, formulation]
    assert row["status"] == "ok"
    assert (row["registers"], row["stack_bytes"], row["shared_bytes"]) == (registers, stack, shared)
    assert row["gpu"] == "A100"
    assert row["launchable"] is launchable


@pytest.mark.parametrize(
    ("release", "formulation", "loaded", "stored", "gigabytes", "ms"),
    [
        ("2.0.0", "direct", 25104, 23704, 102.4, 50.2),
        ("2.1.0", "direct", 26980, 25392, 109.8, 53.8),
        ("3.2.0", "transposed", 1404, 1076, 5.2, 2.5),
        ("3.3.0", "transposed", 27912, 25660, 112.3, 55.1),
    ],
)
def test_spill_traffic(
    profiles: Any, release: str, formulation: str, loaded: int, stored: int, gigabytes: float, ms: float
) -> None:
    row = profiles[release, formulation]
    assert (row["loop_local_load_bytes"], row["loop_local_store_bytes"]) == (loaded, stored)
    assert row["local_bytes_per_launch"] / 1e9 == pytest.approx(gigabytes, rel=0.02)
    assert row["spill_floor_ms"] == pytest.approx(ms, rel=0.02)


def test_the_oldest_aborts_on_the_transposed_form(profiles: Any) -> None:
    row = profiles["2.0.0", "transposed"]
    assert row["status"] == "llir"
    assert row["failure"]["kind"] == "aborted"
    assert row["failure"]["message"] == "unsupported layout conversion (the compiler died of SIGABRT)"
    assert row["registers"] is None
    assert set(row) == set(profiles["2.0.0", "direct"])


def test_the_same_ptxas_on_both_sides_of_3_3_0(profiles: Any) -> None:
    assert profiles["3.2.0", "direct"]["ptxas"] == profiles["3.3.0", "direct"]["ptxas"] == "ptxas 12.4.99"


@pytest.mark.parametrize(("release", "parameters"), [("2.1.0", 35), ("3.2.0", 35), ("3.3.0", 36), ("3.9.0", 37)])
def test_entry_parameters(in_compiled: CommandLine, release: str, parameters: int) -> None:
    artifact = stored(release, "direct")
    assert len(artifact.parameters) == parameters
    assert artifact.parameters.count("f32") == 1


def stored(release: str, formulation: str) -> Artifact:
    revision = select(history.revisions(), [release])[0]
    outcome = store.load(revision.commit, Key("seed", formulation, "sm_80"))  # type: ignore[arg-type]
    assert isinstance(outcome, Artifact)
    return outcome


# The PTX of an explicit ASTSource, its specialisation written out by hand, compiled without the worker's code.
BY_HAND = """
import importlib.util, json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
fn = kernel.attention_backward

HALVES = ["Q", "K", "V", "DO", "DK", "DV"]
FLOATS = ["DQ", "L", "M", "D"]
UNIT_STRIDES = ["stride_" + name for name in ("qk", "kk", "vk", "ok", "dqk", "dkk", "dvk", "lm")]
BLOCKS = {"BLOCK_DMODEL": 128, "BLOCK_M": 128, "BLOCK_N": 128, "TRANSPOSED": sys.argv[2] == "transposed"}

types = {name: "*fp16" for name in HALVES} | {name: "*fp32" for name in FLOATS} | {"softmax_scale": "fp32"}
names = list(fn.arg_names)
place = {name: index for index, name in enumerate(names)}
divisible = [name for name in names if name not in BLOCKS and name not in UNIT_STRIDES and name != "softmax_scale"]

if sys.argv[3] == "AttrsDescriptor":
    from triton.backends.compiler import AttrsDescriptor

    signature = {name: types.get(name, "i32") for name in names if name not in BLOCKS}
    attrs = AttrsDescriptor.from_dict({
        "arg_properties": {
            "tt.divisibility": [place[name] for name in divisible],
            "tt.equal_to": [place[name] for name in UNIT_STRIDES],
        },
        "cls": "AttrsDescriptor",
    })
    source = ASTSource(fn, signature, BLOCKS | dict.fromkeys(UNIT_STRIDES, 1), attrs)
else:
    constants = BLOCKS | dict.fromkeys(UNIT_STRIDES, 1)
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in names}
    source = ASTSource(
        fn, signature, {(place[name],): value for name, value in constants.items()},
        {(place[name],): [["tt.divisibility", 16]] for name in divisible},
    )
made = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 8, "num_stages": 1})
sys.stdout.write(made.asm["ptx"])
"""


def without_line_information(ptx: str) -> list[str]:
    code = ptx.partition(".section\t.debug")[0].splitlines()
    noise = ("//", ".loc", ".file")
    kept = [line.partition("//")[0].strip() for line in code if not line.strip().startswith(noise)]
    # Labels that only line tables refer to differ with the path's length.
    return [line for line in kept if line and not line.startswith("$L__tmp") and not line.startswith("$L__func")]


@pytest.mark.parametrize(("release", "form"), [("3.2.0", "AttrsDescriptor"), ("3.9.0", "constexprs")])
@pytest.mark.parametrize("formulation", ["direct", "transposed"])
def test_the_worker_compiles_what_the_jit_would(
    in_compiled: CommandLine, tmp_path: Path, release: str, form: str, formulation: str
) -> None:
    (triton,) = (in_compiled.home / "tritons").glob(f"triton-{release}-*")
    script = tmp_path / "by_hand.py"
    script.write_text(BY_HAND)
    answer = subprocess.run(
        [sys.executable, script, KERNEL, formulation, form],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(triton), "TRITON_CACHE_DIR": str(tmp_path), "HOME": "/"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    revision = select(history.revisions(), [release])[0]
    ours = store.read(revision.commit, stored(release, formulation), "kernel.ptx").decode()
    assert len(without_line_information(ours)) > 1000
    assert without_line_information(ours) == without_line_information(answer.stdout)


def test_the_callers_switches_do_not_reach_the_compiler(compiled: CommandLine, tmp_path: Path) -> None:
    """Compiled anew under variables that would change the code: the bundle has the same bytes."""
    again = CommandLine(tmp_path / "home")
    (again.home).mkdir()
    (again.home / "tritons").symlink_to(compiled.home / "tritons")
    switches = {"DISABLE_PTXAS_OPT": "1", "TRITON_DISABLE_LINE_INFO": "1", "TRITON_DEFAULT_FP_FUSION": "0"}
    arguments = ("bundle", "3.2.0", "--case", "seed", "--target", "sm_80", "--out")
    first, second = (
        home.run(*arguments, str(tmp_path / name), **given)
        for home, name, given in ((compiled, "first", {}), (again, "second", switches))
    )
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    name = "3.2.0/attnkern_bundle-3.2.0-py3-none-any.whl"
    assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    made = bundle.read_wheel(tmp_path / "first" / name, tmp_path / "unpacked")
    assert made.switches == {"TRITON_DEFAULT_FP_FUSION": "1", "PYTHONHASHSEED": "0"}


@pytest.mark.parametrize(
    ("options", "target", "kind"),
    [
        (["--timeout", "0.3"], "sm_80", "timeout"),
        (["--memory", "0.15"], "sm_80", "out-of-memory"),
        ([], "sm_120", "aborted"),  # 2.1.0 is older than that GPU
    ],
)
def test_a_compiler_that_fails_is_data(
    compiled: CommandLine, tmp_path: Path, options: list[str], target: str, kind: str
) -> None:
    attnkern = CommandLine(tmp_path / "home")
    attnkern.home.mkdir()
    (attnkern.home / "tritons").symlink_to(compiled.home / "tritons")
    made = attnkern.run("bundle", "2.1.0", "--case", "seed", "--target", target, *options)
    assert made.returncode == 0, made.stderr
    answer = attnkern.run("profile", "2.1.0", "--case", "seed", "--target", target, "--json", *options)
    rows = json.loads(answer.stdout)
    assert [row["failure"]["kind"] for row in rows] == [kind, kind]
    assert all(row["failure"]["message"] and "\n" not in row["failure"]["message"] for row in rows)
    assert all(row["status"] in ("ttir", "ttgir", "llir", "ptx", "cubin") for row in rows)


def test_bundle_of_stored_outcomes(in_compiled: CommandLine, tmp_path: Path) -> None:
    revision = select(history.revisions(), ["2.0.0"])[0]
    wheel = build.write_bundle(revision, build.Selection((CASES["seed"],), ("sm_80",)), tmp_path)
    made = bundle.read_wheel(wheel, tmp_path / "unpacked")
    assert [type(outcome) for outcome in made.outcomes] == [Artifact, Failure]
