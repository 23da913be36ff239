"""Acknowledgements: findings that somebody has looked at, in `results/findings.toml`.

[[acknowledged]]
id = "0123456789ab"
reason = "wanted: the new layout saves registers elsewhere"
link = "https://…"
effect = 0.12          # how bad it was then; it comes back if it gets worse
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnkern.errors import UserError
from attnkern.findings.finding import Acknowledgement, Finding
from attnkern.findings.rules import RELEVANT_TIME

FILE = "findings.toml"
FIELDS: dict[str, type | tuple[type, ...]] = {"id": str, "reason": str, "link": str, "effect": (int, float)}


@dataclass(frozen=True)
class Entry:
    id: str
    acknowledgement: Acknowledgement
    effect: float | None
    """The finding's effect when it was acknowledged; None where it has none."""


def read(path: Path) -> list[Entry]:
    """The entries of a findings.toml, none where there is no such file; raises UserError for a wrong one."""
    try:
        data = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} can't be read ({error}): correct it") from None
    unknown = set(data) - {"acknowledged"}
    entries = data.get("acknowledged", [])
    if unknown or not isinstance(entries, list):
        raise UserError(f"{path} holds {', '.join(sorted(unknown)) or 'a wrong table'}: write [[acknowledged]] tables")
    found = [entry_of(entry, place, path) for place, entry in enumerate(entries, 1)]
    repeated = {entry.id for entry in found if sum(other.id == entry.id for other in found) > 1}
    if repeated:
        raise UserError(f"{path} acknowledges {', '.join(sorted(repeated))} twice: leave one")
    return found


def entry_of(data: Any, place: int, path: Path) -> Entry:
    where = f"entry {place} of {path}"
    if not isinstance(data, dict):
        raise UserError(f"{where} is no table: write [[acknowledged]] with id, reason and link")
    for name, value in data.items():
        if name not in FIELDS:
            raise UserError(f"{where} has an unknown field {name!r}: known are {', '.join(FIELDS)}")
        if not isinstance(value, FIELDS[name]) or isinstance(value, bool):
            raise UserError(f"{where}: {name} is {value!r}, which is no {'number' if name == 'effect' else 'text'}")
    for name in ("id", "reason", "link"):
        if not data.get(name):
            raise UserError(f"{where} has no {name}: give one")
    effect = data.get("effect")
    return Entry(data["id"], Acknowledgement(data["reason"], data["link"]), None if effect is None else float(effect))


@dataclass(frozen=True)
class Acknowledged:
    findings: tuple[Finding, ...]
    """The acknowledged ones marked."""
    notes: tuple[str, ...]
    """Entries that are stale, and findings that came back because they got worse."""


def apply(findings: Sequence[Finding], entries: Sequence[Entry]) -> Acknowledged:
    """Mark what is acknowledged, unless it got worse than it was then."""
    by_id = {entry.id: entry for entry in entries}
    notes = []
    marked = []
    for finding in findings:
        entry = by_id.pop(finding.id, None)
        if entry is not None and worse(finding, entry):
            then = f"acknowledged at {entry.effect:+.1%}, now {finding.effect:+.1%}"
            notes.append(f"{finding.id} came back: {then} ({finding.title})")
        elif entry is not None:
            finding = dataclasses.replace(finding, acknowledged=entry.acknowledgement)
        marked.append(finding)
    notes += [
        f"{entry.id} is stale: no such finding any more ({entry.acknowledgement.reason})" for entry in by_id.values()
    ]
    return Acknowledged(tuple(marked), tuple(notes))


def worse(finding: Finding, entry: Entry) -> bool:
    """Whether the effect grew by more than a person would care for; without a recorded effect, never."""
    if entry.effect is None or finding.effect is None:
        return False
    sign = 1 if entry.effect >= 0 else -1
    return sign * (finding.effect - entry.effect) > RELEVANT_TIME
