from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnkern.errors import UserError
from attnkern.findings import acknowledge
from attnkern.findings.find import find
from attnkern.findings.finding import Finding
from tests.findings.builders import COLLAPSED, FIGURES_OF_A_SEED, line, target


@pytest.fixture
def finding() -> Finding:
    """The collapse of the transposed form."""
    series = target([COLLAPSED, COLLAPSED], [FIGURES_OF_A_SEED, COLLAPSED])
    return next(f for f in find(line(2), [series]).findings if f.kind == "transposed-regressed")


def written(folder: Path, text: str) -> Path:
    path = folder / acknowledge.FILE
    path.write_text(text)
    return path


def entry(finding: Finding, effect: str = "") -> str:
    return f'[[acknowledged]]\nid = "{finding.id}"\nreason = "wanted"\nlink = "https://example.org/1"\n{effect}\n'


def test_an_acknowledged_finding_is_marked(tmp_path: Path, finding: Finding) -> None:
    done = acknowledge.apply([finding], acknowledge.read(written(tmp_path, entry(finding))))
    assert done.notes == ()
    (marked,) = done.findings
    assert marked.acknowledged is not None
    assert (marked.acknowledged.reason, marked.acknowledged.link) == ("wanted", "https://example.org/1")
    assert marked.id == finding.id


def test_it_comes_back_if_it_gets_worse(tmp_path: Path, finding: Finding) -> None:
    assert finding.effect == pytest.approx(55.07 / 2.55 - 1)
    path = written(tmp_path, entry(finding, "effect = 15.0"))
    done = acknowledge.apply([finding], acknowledge.read(path))
    assert done.findings[0].acknowledged is None
    assert "came back: acknowledged at +1500.0%, now +2059.6%" in done.notes[0]
    better = replace(finding, effect=12.0)
    assert acknowledge.apply([better], acknowledge.read(path)).findings[0].acknowledged is not None


def test_a_stale_entry_is_reported(tmp_path: Path, finding: Finding) -> None:
    path = written(tmp_path, entry(finding))
    assert "stale: no such finding any more (wanted)" in acknowledge.apply([], acknowledge.read(path)).notes[0]


def test_no_file_is_no_entry(tmp_path: Path) -> None:
    assert acknowledge.read(tmp_path / acknowledge.FILE) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[acknowledged]\n", "can't be read"),
        ("[[acknowledge]]\nid = 'x'\n", "holds acknowledge: write"),
        ("acknowledged = 1\n", "holds a wrong table"),
        ("[[acknowledged]]\nid = 'x'\nreason = 'y'\n", "entry 1 .* has no link: give one"),
        ("[[acknowledged]]\nid = 7\nreason = 'y'\nlink = 'z'\n", "id is 7, which is no text"),
        ("[[acknowledged]]\nid = 'x'\nreason = 'y'\nlink = 'z'\neffect = 'w'\n", "effect is 'w', which is no number"),
        ("[[acknowledged]]\nid = 'x'\nreason = 'y'\nlink = 'z'\nwhy = 1\n", "unknown field 'why'"),
        (2 * "[[acknowledged]]\nid = 'x'\nreason = 'y'\nlink = 'z'\n", "acknowledges x twice"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        acknowledge.read(written(tmp_path, text))
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=300))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / acknowledge.FILE
    path.write_bytes(data)
    with contextlib.suppress(UserError):
        acknowledge.read(path)
