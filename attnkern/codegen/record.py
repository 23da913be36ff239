"""The compiler's figures as they are recorded beside asv's results: a bundle's manifest without its files.

`results/compiler/profiles/<commit>.json`. asv has no place for a failure's message or for what identifies machine code.
"""

from __future__ import annotations

import json
from pathlib import Path

from attnkern.codegen.artifact import Artifact
from attnkern.codegen.build import Selection, outcomes, profiled
from attnkern.codegen.bundle import Bundle, from_manifest, manifest
from attnkern.codegen.compile import SWITCHES
from attnkern.home import write_file
from attnkern.revisions.history import Revision


def record(revision: Revision, selection: Selection, results: Path) -> None:
    """Add what is stored of the selection to the revision's record; anything already there and not selected stays."""
    found = outcomes(revision, selection)
    path = profiles_path(results, revision.commit)
    before = read_if_whole(path)
    fresh = {outcome.key for outcome in found}
    kept = [outcome for outcome in before.outcomes if outcome.key not in fresh] if before else []
    figures = dict(before.figures) if before else {}
    figures |= {o.key.name: profiled(revision, o).sass for o in found if isinstance(o, Artifact)}
    whole = tuple(sorted([*kept, *found], key=lambda outcome: outcome.key))
    names = {outcome.key.name for outcome in whole if isinstance(outcome, Artifact)}
    made = Bundle(
        revision.commit, revision.name, revision.release.uploaded.isoformat(), whole,
        {name: figures[name] for name in sorted(names)}, dict(SWITCHES),
    )  # fmt: skip
    if made != before:
        write_file(path, json.dumps(manifest(made), separators=(",", ":"), sort_keys=True).encode())


def profiles_path(results: Path, commit: str) -> Path:
    return results / "compiler" / "profiles" / f"{commit[:8]}.json"


def read(path: Path) -> Bundle:
    """Raises OSError, KeyError, TypeError or ValueError where it is no whole record."""
    return from_manifest(json.loads(path.read_text()))


def read_if_whole(path: Path) -> Bundle | None:
    """None where there is none, or one of another format or half a one, which a new record replaces."""
    try:
        return read(path)
    except (OSError, KeyError, TypeError, ValueError):
        return None
