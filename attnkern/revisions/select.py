"""Which revisions a person means: `3.2.0`, `v3.2.0`, `3.2.0..3.4.0`, `..2.3.1`, a commit's first digits, `all`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.version import InvalidVersion, Version

from attnkern.errors import UserError
from attnkern.revisions.history import Revision


def select(revisions: Sequence[Revision], specifications: Iterable[str]) -> list[Revision]:
    """The revisions that any of the specifications names, each once, in the history's order."""
    chosen: set[str] = set()
    for specification in specifications:
        for part in filter(None, re.split(r"[,\s]+", specification)):
            chosen.update(revision.commit for revision in one(revisions, part))
    if not chosen:
        raise UserError("no revision is named: write a release, a range A..B, or all")
    return [revision for revision in revisions if revision.commit in chosen]


def one(revisions: Sequence[Revision], part: str) -> Sequence[Revision]:
    if part == "all":
        return revisions
    first, dots, last = part.partition("..")
    if not dots:
        return [revisions[position(revisions, part)]]
    start = position(revisions, first) if first else 0
    end = position(revisions, last) if last else len(revisions) - 1
    if start > end:
        raise UserError(f"the range {part} is backwards: write {last}..{first}")
    return revisions[start : end + 1]


def position(revisions: Sequence[Revision], name: str) -> int:
    """The place of the revision of that version, tag or commit; raises UserError where there is none."""
    for place, revision in enumerate(revisions):
        if same_version(name, revision.name):
            return place
    if re.fullmatch(r"[0-9a-f]{7,40}", name):
        matching = [place for place, revision in enumerate(revisions) if revision.commit.startswith(name)]
        if len(matching) == 1:
            return matching[0]
    known = ", ".join(revision.name for revision in revisions)
    raise UserError(f"unknown revision {name!r}: choose from {known}, a range A..B, or all")


def same_version(name: str, version: str) -> bool:
    try:
        return Version(name) == Version(version)
    except InvalidVersion:
        return False
