"""Fixtures: a home of one's own, and one session's home in which real Triton releases were compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from attnkern.home import CHECKOUT
from attnkern.revisions import index

# Each stands for a way of compiling: 2.0.0 and 2.1.0 by `compile`, one of 3.0 to 3.2, and two of 3.3 on.
RELEASES = ("2.0.0", "2.1.0", "3.2.0", "3.3.0", "3.9.0")


@dataclass(frozen=True)
class CommandLine:
    """Runs attnkern as a user does, in a process of its own, with a given home."""

    home: Path
    checkout: Path = CHECKOUT

    def environment(self, **variables: str) -> dict[str, str]:
        return {**os.environ, "ATTNKERN_HOME": str(self.home), "PYTHONPATH": str(self.checkout), **variables}

    def arguments(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "attnkern", *arguments]

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(*arguments),
            env=self.environment(**variables),
            cwd=self.checkout,
            capture_output=True,
            text=True,
            check=False,
        )


def copy_checkout(folder: Path) -> None:
    """As much of this checkout as asv needs, with no results."""
    for name in ("attnkern", "benchmarks", "scripts", "asv.conf.json"):
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, in this process."""
    monkeypatch.setenv("ATTNKERN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def fresh_index_configuration() -> Iterator[None]:
    index.index_configuration.cache_clear()
    yield
    index.index_configuration.cache_clear()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A home with the case `seed` of RELEASES compiled for sm_80, and their Tritons kept."""
    attnkern = CommandLine(tmp_path_factory.mktemp("compiled"))
    answer = attnkern.run("bundle", ",".join(RELEASES), "--case", "seed", "--target", "sm_80", "--keep")
    assert answer.returncode == 0, answer.stderr
    return attnkern


@pytest.fixture
def in_compiled(compiled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The compiled home, as this process's own."""
    monkeypatch.setenv("ATTNKERN_HOME", str(compiled.home))
    return compiled
