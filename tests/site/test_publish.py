"""Publishing with whatever lies in the results: a bad value costs that value, never the site."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.site.conftest import Checkout, make_checkout

SIDECAR, RESULT, PROFILE = "h200/measurements", "h200", "compiler/profiles"


def edited(path: Path, change: Callable[[Any], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def time_column(data: dict[str, Any]) -> list[Any]:
    values: list[Any] = data["results"]["timing.track_time_ms"]
    return values


def first(folder: Path) -> Path:
    return sorted(path for path in folder.glob("*.json") if path.name != "machine.json")[0]


def set_sample(value: Any) -> Callable[[Path], Path]:
    def spoil(results: Path) -> Path:
        path = first(results / SIDECAR)

        def change(data: Any) -> None:
            form = next(f for m in data for f in m["formulations"].values() if f["samples_ms"])
            form["samples_ms"][0] = value

        edited(path, change)
        return path

    return spoil


def set_value(value: Any) -> Callable[[Path], Path]:
    def spoil(results: Path) -> Path:
        path = first(results / RESULT)
        edited(path, lambda data: time_column(data)[0].__setitem__(0, value))
        return path

    return spoil


def on_file(folder: str, change: Callable[[Any], None]) -> Callable[[Path], Path]:
    def spoil(results: Path) -> Path:
        path = first(results / folder)
        edited(path, change)
        return path

    return spoil


def halved(folder: str) -> Callable[[Path], Path]:
    def spoil(results: Path) -> Path:
        path = first(results / folder)
        text = path.read_text()
        path.write_text(text[: len(text) // 2])
        return path

    return spoil


def rename_case(data: Any) -> None:
    for measurement in data:
        if measurement["case"] == "seed":
            measurement["case"] = "sprout"


def rename_outcome(data: Any) -> None:
    for outcome in data["outcomes"]:
        if outcome["key"]["case"] == "seed":
            outcome["key"]["case"] = "sprout"


SPOILT: dict[str, Callable[[Path], Path]] = {
    "NaN in a sample": set_sample(float("nan")),
    "infinity in a sample": set_sample(float("inf")),
    "a string in a sample": set_sample("fast"),
    "a negative sample": set_sample(-1.0),
    "infinity in an asv value": set_value(float("inf")),
    "a string in an asv value": set_value("fast"),
    "no params in an asv result": on_file(RESULT, lambda data: time_column(data).__setitem__(1, None)),
    "an unknown revision in an asv result": on_file(RESULT, lambda data: data.__setitem__("commit_hash", "f" * 40)),
    "no date in an asv result": on_file(RESULT, lambda data: data.__setitem__("date", "today")),
    "an unknown revision in measurements": on_file(SIDECAR, lambda data: data[0].__setitem__("commit", "f" * 40)),
    "an unknown revision in a profile": on_file(PROFILE, lambda data: data.__setitem__("commit", "f" * 40)),
    "a renamed case in measurements": on_file(SIDECAR, rename_case),
    "a renamed case in a profile": on_file(PROFILE, rename_outcome),
    "no params in measurements": on_file(SIDECAR, lambda data: data[0].pop("inputs")),
    "half an asv result": halved(RESULT),
    "half the measurements": halved(SIDECAR),
    "half a profile": halved(PROFILE),
}


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, dict[str, Path]]:
    """A site of results in which everything of SPOILT is wrong, each in files of another revision."""
    checkout = make_checkout(tmp_path_factory.mktemp("spoilt") / "checkout")
    done = {}
    hidden: list[tuple[Path, Path]] = []
    for what, spoil in SPOILT.items():
        path = spoil(checkout.results)
        done[what] = path
        # Out of the way, so that the next one takes the next revision's file.
        hidden.append((path, path.with_suffix(".spoilt")))
        path.rename(hidden[-1][1])
    for path, aside in hidden:
        aside.rename(path)
    return checkout, done


def test_the_site_is_published_and_each_bad_file_is_named(spoilt: tuple[Checkout, dict[str, Path]]) -> None:
    checkout, done = spoilt
    answer = checkout.asv("publish")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    said = " ".join((answer.stdout + answer.stderr).split())
    unnamed = [what for what, path in done.items() if path.name not in said]
    assert unnamed == []
    assert "Traceback" not in said
    page = (checkout.html / "findings" / "index.html").read_text()
    assert "cannot-launch" in page
    data = json.loads((checkout.html / "findings" / "findings.json").read_text(), parse_constant=no_constant)
    assert data["judged"]["exact"] > 400
    index = json.loads((checkout.html / "index.json").read_text())
    assert len(index["tags"]) == 18


def test_a_failing_publish_leaves_the_old_site(published: Checkout) -> None:
    before = {path: path.read_bytes() for path in published.html.rglob("*") if path.is_file()}
    broken = published.results / "findings.toml"
    broken.write_text("acknowledged = 1")
    try:
        answer = published.asv("publish")
    finally:
        broken.unlink()
    assert answer.returncode != 0
    assert "findings.toml holds a wrong table" in answer.stdout + answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr
    assert {path: path.read_bytes() for path in published.html.rglob("*") if path.is_file()} == before
    assert [path.name for path in published.html.parent.iterdir() if path.name.startswith(".publish")] == []


def test_every_page_works_without_a_network(published: Checkout) -> None:
    for page in published.html.rglob("*.html"):
        text = page.read_text()
        assert '<script src="http' not in text and '<link rel="stylesheet" href="http' not in text, page
    assert 'src="https://' not in (published.html / "index.html").read_text()


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
