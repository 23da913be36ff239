"""`attnkern findings` as a user and a job meet it."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.site.conftest import Checkout, make_checkout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return make_checkout(tmp_path_factory.mktemp("gate") / "checkout")


def findings(checkout: Checkout, *arguments: str) -> subprocess.CompletedProcess[str]:
    return checkout.python("attnkern", "findings", *arguments)


def test_the_table_begins_with_the_worst(checkout: Checkout) -> None:
    answer = findings(checkout)
    assert answer.returncode == 0, answer.stderr
    first, second, third = [line for line in answer.stdout.splitlines() if "critical" in line][:3]
    assert "cannot-launch" in first and "196608 bytes of shared memory, A100 grants 166912" in first
    assert "transposed-regressed" in second and "2.549 → 55.07 ms (predicted)" in second
    assert "gap-closed-by-transposed" in third
    assert "judged 476 steps of profiles (exact); 657 steps of times" in answer.stdout
    assert "noise of h200 (H200): times 0.03" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--fail-on", "cannot-launch"), 3),
        (("--fail-on", "all-bad"), 3),
        (("--since", "3.2.0", "--fail-on", "cannot-launch,transposed-regressed"), 3),
        (("--since", "3.3.0", "--fail-on", "cannot-launch"), 0),
        (("--since", "3.9.0", "--fail-on", "all-bad"), 0),
        (("--since", "3.2.0"), 0),
    ],
)
def test_the_gates_exit_code(checkout: Checkout, arguments: tuple[str, ...], code: int) -> None:
    answer = findings(checkout, *arguments)
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    if code == 3:
        assert answer.stderr.startswith("attnkern: ") and " findings of " in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fail-on", "worse"), "attnkern: unknown kind 'worse': choose from cannot-launch, "),
        (("--fail-on", ","), "attnkern: --fail-on names no kind"),
        (("--since", "4.0.0"), "attnkern: unknown revision '4.0.0'"),
        (("--json", "--markdown"), "attnkern: --json, --markdown and --junit are three outputs: choose one"),
    ],
)
def test_a_wrong_request(checkout: Checkout, arguments: tuple[str, ...], said: str) -> None:
    answer = findings(checkout, *arguments)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert answer.stdout == ""


def test_since_a_revision(checkout: Checkout) -> None:
    data = json.loads(findings(checkout, "--since", "3.3.1", "--json").stdout)
    releases = {entry["release"] for entry in data["findings"]}
    assert "3.4.0" in releases
    assert not releases & {"2.1.0", "3.2.0", "3.3.0", "3.3.1"}


def test_the_other_outputs(checkout: Checkout) -> None:
    suite = ET.fromstring(findings(checkout, "--junit", "--fail-on", "cannot-launch").stdout)
    assert suite.get("failures") == "2"  # seed and bf16
    markdown = findings(checkout, "--since", "3.2.0", "--markdown").stdout
    assert "| critical | cannot-launch | 3.3.0 | 3.2.0 | seed direct | sm\\_80 on A100 |" in markdown
    rules = findings(checkout, "--rules").stdout
    assert "Identical machine code is unchanged, by definition" in rules


def test_an_acknowledged_finding_passes_the_gate_and_stays(checkout: Checkout) -> None:
    everything = json.loads(findings(checkout, "--json").stdout)["findings"]
    wanted = [entry for entry in everything if entry["kind"] == "cannot-launch"]
    path = checkout.results / "findings.toml"
    path.write_text(
        "".join(
            f'[[acknowledged]]\nid = "{entry["id"]}"\nreason = "known"\nlink = "https://example.org"\n'
            for entry in wanted
        )
    )
    try:
        answer = findings(checkout, "--json", "--fail-on", "cannot-launch")
        assert answer.returncode == 0, answer.stderr
        marked = [entry for entry in json.loads(answer.stdout)["findings"] if entry["acknowledged"]]
        assert {entry["id"] for entry in marked} == {entry["id"] for entry in wanted}
        path.write_text('[[acknowledged]]\nid = "0123456789ab"\nreason = "old"\nlink = "https://example.org"\n')
        assert "0123456789ab is stale" in findings(checkout).stderr
        path.write_text("acknowledged = 1")
        assert findings(checkout).returncode == 2
    finally:
        path.unlink()


def test_nothing_recorded_is_no_clean_bill(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    for folder in ("compiler", "h200"):
        (checkout.results / folder).rename(tmp_path / folder)
    answer = findings(checkout)
    assert answer.returncode == 0
    assert answer.stdout.startswith("nothing could be judged")
    gate = findings(checkout, "--fail-on", "all-bad")
    assert gate.returncode == 1
    assert "nothing could be judged, so the gate has nothing to stand on" in gate.stderr


def test_noise_that_nothing_tells_is_not_none(checkout: Checkout, tmp_path: Path) -> None:
    aside = tmp_path / "compiler"
    (checkout.results / "compiler").rename(aside)
    try:
        said = findings(checkout).stdout
    finally:
        aside.rename(checkout.results / "compiler")
    assert "no compiler's figures are recorded here" in said
    assert "noise of h200 (H200): unknown" in said
    assert "0.000%" not in said
