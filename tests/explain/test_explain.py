"""Explanations of real releases: what changed in 3.3.0, and why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attnkern.revisions import history
from attnkern.revisions.wheel import provided
from tests.conftest import CommandLine

pytestmark = pytest.mark.triton


def explained(attnkern: CommandLine, *arguments: str) -> list[dict[str, object]]:
    answer = attnkern.run("explain", *arguments, "--json")
    assert answer.returncode == 0, answer.stderr
    found: list[dict[str, object]] = json.loads(answer.stdout)["explanations"]
    return found


def test_what_changed_in_3_3_0(compiled: CommandLine) -> None:
    direct, transposed = explained(compiled, "3.2.0", "3.3.0")
    # FACTS: 3.2.0 and 3.3.0 carry the same ptxas (12.4.99), so what changed is the compiler's.
    assert (direct["stage"], direct["verdict"]) == ("ttgir", "compiler")
    assert (transposed["stage"], transposed["verdict"]) == ("ttgir", "compiler")
    # K lies in shared memory twice: once for dot(q, trans(k)), on line 75 of the kernel, and once for dot(ds, k).
    (buffer,) = direct["extra_buffers"]  # type: ignore[misc]
    assert (buffer["bytes"], buffer["line"]) == (32768, 75)
    assert direct["pass"] == "TritonGPURemoveLayoutConversions"
    # The four warps along M and two along N became two and four.
    assert transposed["pass"] == "TritonGPUAccelerateMatmul"
    assert transposed["extra_buffers"] == []
    evidence = transposed["evidence"]
    assert isinstance(evidence, dict)
    layouts = next(one for one in evidence["passes"] if one["feature"] == "layouts")
    assert "warpsPerCTA = [4, 2]" in layouts["before"] and "warpsPerCTA = [2, 4]" in layouts["after"]
    cells = {(one["ptx"], one["assembler"]): one["cell"] for one in evidence["matrix"]}
    for assembler in ("3.2.0", "3.3.0"):
        assert cells["3.2.0 transposed", assembler]["registers"] == 255
        assert cells["3.3.0 transposed", assembler]["registers"] == 32


def test_the_live_registers_of_the_two_forms(compiled: CommandLine) -> None:
    (found,) = explained(compiled, "2.1.0")
    evidence = found["evidence"]
    assert isinstance(evidence, dict)
    direct, transposed = evidence["after"], evidence["before"]
    assert (direct["formulation"], direct["registers"], transposed["registers"]) == ("direct", 32, 255)
    # No more can be live than there are; R1 and the zero register leave 253 and 30.
    assert 25 <= direct["pressure"]["worst"] <= 32
    assert 240 <= transposed["pressure"]["worst"] <= 255
    assert 240 <= direct["uncapped"]["worst"] <= 255
    assert transposed["uncapped"] is None
    # FACTS: a thread of the direct form moves 26980 + 25392 bytes to and from its stack in each iteration.
    assert sum(direct["pressure"]["local_bytes"].values()) == 26980 + 25392


def test_a_compile_that_fails_is_explained_too(compiled: CommandLine) -> None:
    answer = compiled.run("explain", "2.0.0", "2.1.0", "--formulation", "transposed", "--markdown")
    assert answer.returncode == 0, answer.stderr
    assert "2.0.0 transposed does not compile" in answer.stdout
    assert "unsupported layout conversion" in answer.stdout
    assert "refused: `PTX 8.1 is newer than the 8.0 it knows`" in answer.stdout


def test_the_assembler_is_the_one_that_the_release_takes_for_the_target(compiled: CommandLine) -> None:
    (found,) = explained(compiled, "3.9.0", "--target", "sm_90", "--case", "d64")
    evidence = found["evidence"]
    assert isinstance(evidence, dict)
    # 3.9.0 carries two, and takes the newer one for sm_90.
    assert {one["ptxas"] for one in evidence["matrix"]} == {"13.4.59"}
    assert evidence["after"]["ptxas"] == "ptxas-blackwell 13.4.59"
    assert {one["cell"]["registers"] for one in evidence["matrix"]} == {
        evidence["before"]["registers"], evidence["after"]["registers"],
    }  # fmt: skip


def test_a_report_fit_for_a_bug_tracker(compiled: CommandLine) -> None:
    answer = compiled.run("explain", "3.2.0", "3.3.0", "--formulation", "direct", "--markdown")
    assert "3.3.0 direct can't be launched on A100: 196608 bytes of shared memory, A100 grants 166912" in answer.stdout
    assert "- 32,768 bytes, local_alloc 128x128xf16 on line 75, `qk = tl.dot(q, tl.trans(k))`" in answer.stdout
    assert "| 3.3.0 direct | 32 registers, 60,992 B spills |" in answer.stdout
    page = compiled.run("explain", "3.2.0", "3.3.0", "--formulation", "direct", "--html").stdout
    assert page.startswith("<!doctype html>") and "<table>" in page


def test_the_cap_that_avoids_the_collapse(compiled: CommandLine) -> None:
    """Triton's own `maxnreg=255`, under 3.9.0: neither form collapses, and the transposed one launches on an A100."""
    answer = compiled.run("profile", "3.9.0", "--case", "seed+r255,seed+n64+r255", "--json")
    assert answer.returncode == 0, answer.stderr
    rows = {(row["case"], row["formulation"]): row for row in json.loads(answer.stdout)}
    assert {row["registers"] for row in rows.values()} == {255}
    assert rows["seed+r255", "transposed"]["launchable"] is True
    assert all(rows["seed+n64+r255", form]["launchable"] for form in ("direct", "transposed"))


def test_a_triton_that_ignores_the_cap_is_no_result(compiled: CommandLine) -> None:
    answer = compiled.run("profile", "2.1.0", "--case", "seed+r255", "--json")
    messages = {row["failure"]["message"] for row in json.loads(answer.stdout)}
    assert messages == {"this Triton knows no launch option maxnreg: it came with 3.0"}


def test_the_reproducer_needs_nothing_but_that_triton(in_compiled: CommandLine, tmp_path: Path) -> None:
    script = tmp_path / "reproducer.py"
    script.write_text(in_compiled.run("explain", "3.9.0", "--formulation", "transposed", "--reproducer").stdout)
    revision = next(one for one in history.sync(offline=True).revisions if one.name == "3.9.0")
    with provided(revision.release, keep=True) as triton:
        answer = subprocess.run(
            [sys.executable, "-S", script],
            env={"PYTHONPATH": str(triton), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert answer.returncode == 0, answer.stderr
    assert "shared bytes: 163840" in answer.stdout
    assert "Used 32 registers" in answer.stdout
    assert "15088 bytes stack frame" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("all",), "explain takes one revision or two, and all is 18"),
        (("3.2.0", "3.3.0", "3.4.0"), "explain takes one revision or two"),
        (("3.2.0", "--formulation", "sideways"), "unknown formulation 'sideways'"),
        (("3.2.0", "--json", "--html"), "different outputs: choose one"),
        (("2.1.0", "--reproducer"), "no reproducer for Triton 2.1.0"),
        (("3.2.0", "--case", "seed+q1"), "no case is changed by 'q1'"),
    ],
)
def test_a_wrong_request(compiled: CommandLine, arguments: tuple[str, ...], said: str) -> None:
    answer = compiled.run("explain", *arguments)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr
