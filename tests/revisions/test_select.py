from dataclasses import replace

import pytest

from attnkern.errors import UserError
from attnkern.revisions.history import Revision
from attnkern.revisions.index import locked_releases
from attnkern.revisions.select import select

REVISIONS = [Revision(f"{place:07x}{'0' * 33}", release) for place, release in enumerate(locked_releases())]


@pytest.mark.parametrize(
    ("specifications", "names"),
    [
        (["3.2.0"], ["3.2.0"]),
        (["v3.2.0"], ["3.2.0"]),
        (["3.2"], ["3.2.0"]),
        (["3.2.0..3.4.0"], ["3.2.0", "3.3.0", "3.3.1", "3.4.0"]),
        (["..2.1.0"], ["2.0.0", "2.1.0"]),
        (["3.8.0.."], ["3.8.0", "3.9.0"]),
        (["3.9.0,2.0.0", "3.9.0"], ["2.0.0", "3.9.0"]),
        (["0000001"], ["2.1.0"]),
    ],
)
def test_what_a_person_means(specifications: list[str], names: list[str]) -> None:
    assert [revision.name for revision in select(REVISIONS, specifications)] == names


def test_all() -> None:
    assert select(REVISIONS, ["all"]) == REVISIONS
    assert len(REVISIONS) == 18


@pytest.mark.parametrize("name", ["4.0.0", "main", "", "fffffff", "3.2.0...3.3.0", "--help", "../x"])
def test_unknown(name: str) -> None:
    with pytest.raises(UserError, match=r"unknown revision|no revision is named"):
        select(REVISIONS, [name])


def test_backwards() -> None:
    with pytest.raises(UserError, match=r"backwards: write 3\.2\.0\.\.3\.4\.0"):
        select(REVISIONS, ["3.4.0..3.2.0"])


def test_ambiguous_commit_is_unknown() -> None:
    twice = [replace(REVISIONS[0], commit="abcdef0" + "1" * 33), replace(REVISIONS[1], commit="abcdef0" + "2" * 33)]
    with pytest.raises(UserError, match="unknown revision"):
        select(twice, ["abcdef0"])
