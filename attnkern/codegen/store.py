"""The store: every outcome made on this machine, by revision and by what went into it.

`store/<commit>/<key>-<inputs>/` holds `outcome.json`, `costs.json` and the artifact's files. `inputs` is a digest of
the kernel, the worker, the switches, the case and this Python: when one of them changes, the entry is
simply not found any more and is made anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import platform
from pathlib import Path

from attnkern.cases import Case, case_named
from attnkern.codegen import compile as compiling
from attnkern.codegen.artifact import Artifact, Costs, Key, Outcome, from_dict, to_dict, to_text
from attnkern.errors import FailedError
from attnkern.home import disk_errors, home, place_folder, scratch, write_file


def load(commit: str, key: Key) -> Outcome | None:
    """The stored outcome, or None; raises FailedError for a damaged one."""
    record = entry(commit, key) / "outcome.json"
    try:
        return from_dict(json.loads(record.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise damaged(record.parent) from error


def costs(commit: str, key: Key) -> Costs:
    """What the stored outcome took to make."""
    folder = entry(commit, key)
    try:
        return Costs(**json.loads((folder / "costs.json").read_text()))
    except (OSError, TypeError, ValueError) as error:
        raise damaged(folder) from error


def made_at(commit: str, key: Key) -> float:
    """When the outcome was stored, in seconds since the epoch; 0 where there is none."""
    record = entry(commit, key) / "outcome.json"
    return record.stat().st_mtime if record.exists() else 0.0


def read(commit: str, artifact: Artifact, name: str) -> bytes:
    """One file of a stored artifact, checked against its hash; raises FailedError where it is damaged."""
    folder = entry(commit, artifact.key)
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise damaged(folder) from error
    if name not in artifact.files or hashlib.sha256(data).hexdigest() != artifact.files[name].sha256:
        raise damaged(folder)
    return data


def put(commit: str, outcome: Outcome, spent: Costs, folder: Path) -> None:
    """Store an outcome; `folder` holds the artifact's files and is moved."""
    with disk_errors(home()):
        (folder / "costs.json").write_text(to_text(dataclasses.asdict(spent)))
        (folder / "outcome.json").write_text(to_text(to_dict(outcome)))
        if not (entry(commit, outcome.key) / "outcome.json").exists():
            forget(commit, outcome.key)  # what somebody left of an entry, which would stay in the way
        place_folder(folder, entry(commit, outcome.key))


def forget(commit: str, key: Key) -> None:
    """Drop a stored outcome, whole: the rename makes it vanish at once."""
    with scratch("dropped") as grave, contextlib.suppress(FileNotFoundError):
        entry(commit, key).rename(grave / "entry")


def note(commit: str, key: Key, name: str, data: bytes) -> None:
    """Keep a derived file beside an outcome."""
    write_file(entry(commit, key) / name, data)


def noted(commit: str, key: Key, name: str) -> bytes | None:
    path = entry(commit, key) / name
    return path.read_bytes() if path.exists() else None


def entry(commit: str, key: Key) -> Path:
    return home() / "store" / commit / f"{key.name}-{inputs_digest(case_named(key.case))}"


@functools.cache
def inputs_digest(case: Case) -> str:
    inputs = {
        "kernel": hashlib.sha256(compiling.KERNEL.read_bytes()).hexdigest(),
        "worker": hashlib.sha256(compiling.WORKER.read_bytes()).hexdigest(),
        "switches": compiling.SWITCHES,
        "case": dataclasses.asdict(case),
        "python": platform.python_version_tuple()[:2],
    }
    return hashlib.sha256(to_text(inputs).encode()).hexdigest()[:12]


def damaged(folder: Path) -> FailedError:
    return FailedError(f"the stored artifact {folder} is damaged: delete that folder and run the command again")
