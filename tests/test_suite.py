"""The asv suite in a real asv: a copy of the checkout is benchmarked, published, and looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RELEASES, CommandLine, copy_checkout

pytestmark = pytest.mark.triton

FIGURES = {
    "code_bytes", "compile_seconds", "launchable_on_a100", "layout_conversions", "registers", "shared_bytes",
    "spill_bytes", "spill_floor_ms",
}  # fmt: skip


@pytest.fixture(scope="module")
def checkout(compiled: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this checkout whose home already holds what was compiled, with a home folder of its own for asv."""
    copy = tmp_path_factory.mktemp("suite") / "checkout"
    copy_checkout(copy)
    (copy / "results").mkdir()
    shutil.copytree(compiled.home / "store", copy / ".attnkern" / "store")
    return copy


def environment(checkout: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATTNKERN_")}
    return {**kept, "PYTHONPATH": str(checkout)}


def attnkern(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "attnkern", *arguments],
        cwd=checkout,
        env=environment(checkout),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def benched(checkout: Path) -> subprocess.CompletedProcess[str]:
    answer = attnkern(checkout, "bench", "--releases", ",".join(RELEASES), "--cases", "seed", "--targets", "sm_80")
    logs = "".join(path.read_text()[-3000:] for path in (checkout / ".attnkern").glob("asv-*.log"))
    assert answer.returncode == 0, answer.stderr + logs
    return answer


def results(checkout: Path) -> dict[str, dict[str, Any]]:
    """Result files by their commit's first digits."""
    return {
        path.name[:8]: json.loads(path.read_text())
        for path in (checkout / "results" / "compiler").glob("*-virtualenv-*.json")
    }


def test_the_table(benched: subprocess.CompletedProcess[str]) -> None:
    lines = [line.replace("│", " ").split() for line in benched.stdout.splitlines()]
    assert ["3.3.0", "transposed", "32", "16,616", "163,840", "112.3", "55.1", "3", "yes"] in lines
    assert ["2.1.0", "transposed", "255", "1,232", "163,840", "6.0", "2.9", "20", "yes"] in lines
    assert ".asv/html" in benched.stdout


def test_every_figure_of_both_formulations_is_recorded(checkout: Path, benched: Any) -> None:
    recorded = results(checkout)
    assert len(recorded) == len(RELEASES)
    for result in recorded.values():
        assert set(result["results"]) == {f"codegen.track_{name}" for name in FIGURES}
        assert result["params"]["machine"] == "compiler"
    history = json.loads(attnkern(checkout, "history", "list", "--json").stdout)
    commits = {entry["release"]: entry["commit"][:8] for entry in history}
    values, params, *_ = recorded[commits["3.2.0"]]["results"]["codegen.track_registers"]
    assert params[0] == ["'direct'", "'transposed'"]
    per_formulation = len(values) // 2
    assert (values[0], values[per_formulation]) == (32, 255)
    # 2.0.0's transposed form aborts: a failed benchmark, while its direct form has its figures.
    values, *_ = recorded[commits["2.0.0"]]["results"]["codegen.track_registers"]
    assert (values[0], values[per_formulation]) == (32, None)


def test_graphs(checkout: Path, benched: Any) -> None:
    pages = checkout / ".asv" / "html"
    assert (pages / "index.html").is_file()
    index = json.loads((pages / "index.json").read_text())
    assert {f"codegen.track_{name}" for name in FIGURES} <= set(index["benchmarks"])
    assert set(index["params"]["branch"]) == {"releases", "main"}
    assert len(index["tags"]) == 18
    (graph,) = pages.glob("graphs/**/branch-releases/**/codegen.track_registers.json")
    series = json.loads(graph.read_text())
    places = [index["tags"][f"v{release}"] for release in RELEASES]
    assert [place for place, _ in series] == places
    assert [(values[0], values[14]) for _, values in series[1:]] == [(32, 255), (32, 255), (32, 32), (32, 32)]


def test_again_with_nothing_new(checkout: Path, benched: Any) -> None:
    before = {path: path.stat().st_mtime_ns for path in (checkout / "results" / "compiler").iterdir()}
    answer = attnkern(checkout, "bench", "--releases", ",".join(RELEASES), "--cases", "seed", "--targets", "sm_80")
    assert answer.returncode == 0, answer.stderr
    assert "recording" not in answer.stderr
    assert {path: path.stat().st_mtime_ns for path in (checkout / "results" / "compiler").iterdir()} == before
    assert answer.stdout == benched.stdout


def test_typed_by_hand(checkout: Path, benched: Any, tmp_path: Path) -> None:
    """`asv run` of one release, then `asv publish`, as the README has them."""
    (recorded,) = (checkout / "results" / "compiler").glob(f"{commit_of(checkout, '3.9.0')[:8]}-*.json")
    recorded.unlink()
    (tmp_path / "tags").write_text("v3.9.0\n")
    for arguments in (
        ["run", f"HASHFILE:{tmp_path / 'tags'}", "--machine", "compiler", "-b", "'seed', 'sm_80'"],
        ["publish"],
    ):
        answer = subprocess.run(
            [sys.executable, "-m", "asv", *arguments],
            cwd=checkout,
            env={**environment(checkout), "ATTNKERN_CASES": "seed", "ATTNKERN_TARGETS": "sm_80"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode in (0, 2), answer.stdout + answer.stderr
    assert json.loads(recorded.read_text())["results"]["codegen.track_registers"][0][0] == 32


def test_half_a_result_file_is_made_anew(checkout: Path, benched: Any) -> None:
    (broken,) = (checkout / "results" / "compiler").glob(f"{commit_of(checkout, '2.1.0')[:8]}-*.json")
    broken.write_text(broken.read_text()[:100])
    answer = attnkern(checkout, "bench", "--releases", "2.1.0", "--cases", "seed", "--targets", "sm_80")
    assert answer.returncode == 0, answer.stderr
    assert "recording 1 of 1 revisions" in answer.stderr
    assert json.loads(broken.read_text())["results"]["codegen.track_registers"][0][0] == 32


def commit_of(checkout: Path, release: str) -> str:
    (entry,) = json.loads(attnkern(checkout, "history", "list", release, "--json").stdout)
    return str(entry["commit"])
