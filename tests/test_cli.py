"""The command line as a user meets it: bad requests, interruption, and what comes after."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from attnkern.home import CHECKOUT
from attnkern.revisions.index import locked_releases
from tests.conftest import CommandLine


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("profile", "4.0.0"), "attnkern: unknown revision '4.0.0': choose from 2.0.0, 2.1.0, "),
        (("profile", "3.4.0..3.2.0"), "attnkern: the range 3.4.0..3.2.0 is backwards: write 3.2.0..3.4.0"),
        (("profile", "3.2.0", "--case", "sed"), "attnkern: unknown case 'sed': choose from seed, "),
        (("profile", "3.2.0", "--case", ","), "attnkern: an empty list of cases or targets: name at least one"),
        (("profile", "3.2.0", "--target", "sm_8"), "attnkern: unknown target 'sm_8': choose from sm_80, "),
        (("profile", "3.2.0", "--gpu", "V100"), "attnkern: unknown GPU 'V100': choose from A100, "),
        (("profile", "3.2.0", "--gpu", "H200"), "attnkern: H200 does not run code for sm_80: "),
        (("bundle", "all", "-j", "0"), "greater than or equal to 1"),
        (("bundle", "all", "--memory", "1e12"), "less than or equal to 65536"),
        (("bundle",), "Missing argument"),
        (("profile", ""), "attnkern: no revision is named: write a release"),
        (("bench", "--targets", "sm_86"), "attnkern: "),
    ],
)
def test_a_wrong_request(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    answer = CommandLine(tmp_path / "home").run(*arguments)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


def test_an_index_that_cannot_be_reached(tmp_path: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": "http://127.0.0.1:9/more"}
    answer = CommandLine(tmp_path / "home").run("profile", "3.2.0", "3.3.0", "--json", **nowhere)
    assert answer.returncode == 1
    assert json.loads(answer.stdout) == []
    lines = [line for line in answer.stderr.splitlines() if "compiles" not in line]
    assert [line.partition(": no package index")[0] for line in lines] == [
        "attnkern: Triton 3.2.0",
        "attnkern: Triton 3.3.0",
        "attnkern: 2 of 2 revisions could not be compiled",
    ]


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    answer = CommandLine(tmp_path / "home").run("history", "sync", "--offline")
    assert answer.returncode == 1
    assert answer.stderr == f"attnkern: can't write to {tmp_path / 'home'}: make it writable, or set ATTNKERN_HOME\n"


def test_history_list(tmp_path: Path) -> None:
    listed = json.loads(CommandLine(tmp_path / "home").run("history", "list", "3.2.0..3.3.0", "--json").stdout)
    assert [(entry["release"], entry["uploaded"][:10]) for entry in listed] == [
        ("3.2.0", "2025-01-22"),
        ("3.3.0", "2025-04-09"),
    ]


def processes_of(home: Path) -> list[int]:
    """Every process whose command line or environment names that home."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if str(home).encode() in text and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


@pytest.mark.triton
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_broken_off_and_taken_up_again(compiled: CommandLine, tmp_path: Path, end: signal.Signals) -> None:
    attnkern = CommandLine(tmp_path / "home")
    attnkern.home.mkdir()
    (attnkern.home / "tritons").symlink_to(compiled.home / "tritons")
    arguments = ("bundle", "2.1.0,3.2.0", "--case", "seed", "--target", "sm_80", "-j", "1")
    process = subprocess.Popen(
        attnkern.arguments(*arguments), env=attnkern.environment(), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(attnkern.home.glob("store/*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # into the second compile
    process.send_signal(end)
    _, said = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Traceback" not in said
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert said.endswith("attnkern: stopped; what was finished is kept\n")
    deadline = time.monotonic() + 20
    while (left := processes_of(attnkern.home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    whole = {"outcome.json", "costs.json"}
    assert all(whole <= {file.name for file in entry.iterdir()} for entry in attnkern.home.glob("store/*/*"))

    assert attnkern.run(*arguments).returncode == 0
    assert list((attnkern.home / "tmp").iterdir()) == []
    rows = json.loads(attnkern.run("profile", "2.1.0,3.2.0", "--json").stdout)
    assert [(row["registers"], row["stack_bytes"]) for row in rows] == [
        (32, 15168),
        (255, 1232),
        (32, 14784),
        (255, 1488),
    ]


def test_a_triton_that_cannot_be_loaded_is_data(tmp_path: Path) -> None:
    attnkern = CommandLine(tmp_path / "home")
    (wheel,) = [release.wheel_for().filename for release in locked_releases() if release.version == "3.2.0"]
    broken = attnkern.home / "tritons" / wheel.removesuffix(".whl") / "triton"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no such symbol')")
    made = attnkern.run("bundle", "3.2.0", "--case", "seed", "--target", "sm_80")
    assert (made.returncode, made.stderr) == (0, "")
    rows = json.loads(attnkern.run("profile", "3.2.0", "--json").stdout)
    assert [(row["status"], row["failure"]["message"]) for row in rows] == [
        ("import", "ImportError: no such symbol")
    ] * 2


def test_damaged_entries_of_the_store(tmp_path: Path) -> None:
    """What can be made again is; what can't be told apart from a result is named."""
    test_a_triton_that_cannot_be_loaded_is_data(tmp_path)
    attnkern = CommandLine(tmp_path / "home")
    first, second = sorted(attnkern.home.glob("store/*/*"))
    (first / "outcome.json").unlink()
    assert len(json.loads(attnkern.run("profile", "3.2.0", "--json").stdout)) == 2
    (second / "costs.json").write_text("{")
    answer = attnkern.run("profile", "3.2.0", "--json")
    assert answer.returncode == 1
    assert answer.stderr.endswith("is damaged: delete that folder and run the command again\n")


def test_ctrl_c_while_an_index_never_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        attnkern = CommandLine(tmp_path / "home")
        process = subprocess.Popen(
            attnkern.arguments("bundle", "3.2.0", "--case", "seed"),
            env=attnkern.environment(PIP_INDEX_URL=url, PIP_EXTRA_INDEX_URL=url),
            stderr=subprocess.PIPE,
            text=True,
        )
        silent.accept()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)  # pip's own limit for an index is at least 15 s
    assert (process.returncode, said) == (130, "attnkern: stopped; what was finished is kept\n")


def test_the_script_passes_its_arguments_on() -> None:
    answer = subprocess.run(
        [CHECKOUT / "scripts" / "bench", "--help"], capture_output=True, text=True, check=False, timeout=600
    )
    assert answer.returncode == 0, answer.stderr
    assert "--releases" in answer.stdout
