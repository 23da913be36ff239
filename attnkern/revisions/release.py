"""A Triton release as the package index lists it, and its one canonical form in `release.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from packaging.tags import Tag, sys_tags
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from attnkern.errors import UserError

FIRST = Version("2.0.0")  # before it, Triton had another compiler altogether


class NoWheelError(UserError):
    """This Python is too new (or too old) for a release."""


@dataclass(frozen=True)
class Wheel:
    filename: str
    sha256: str
    size: int
    """Bytes."""

    @property
    def tags(self) -> frozenset[Tag]:
        return parse_wheel_filename(self.filename)[3]


@dataclass(frozen=True)
class Release:
    """One release: when its first wheel was uploaded, and its Linux x86-64 wheels in order of name."""

    version: str
    uploaded: datetime
    wheels: tuple[Wheel, ...]

    def wheel_for(self, tags: Iterable[Tag] | None = None) -> Wheel:
        """The wheel that suits this Python (or the given tags) best; raises UserError when there is none."""
        ranked = list(sys_tags() if tags is None else tags)
        order = {tag: place for place, tag in enumerate(ranked)}
        fitting = [
            (min(order[tag] for tag in wheel.tags if tag in order), wheel.filename, wheel)
            for wheel in self.wheels
            if any(tag in order for tag in wheel.tags)
        ]
        if not fitting:
            pythons = sorted({tag.interpreter for wheel in self.wheels for tag in wheel.tags})
            raise NoWheelError(
                f"Triton {self.version} has no wheel for {ranked[0].interpreter} ({ranked[0].platform}):"
                f" run attnkern with one of {', '.join(pythons)} on Linux x86-64"
            )
        return min(fitting)[2]


def to_json(release: Release) -> str:
    """The bytes of a commit's `release.json`: the same release always gives the same text."""
    return (
        json.dumps(
            {
                "version": release.version,
                "uploaded": release.uploaded.astimezone(UTC).isoformat(),
                "wheels": [
                    {"filename": wheel.filename, "sha256": wheel.sha256, "size": wheel.size}
                    for wheel in sorted(release.wheels, key=lambda wheel: wheel.filename)
                ],
            },
            indent=2,
        )
        + "\n"
    )


def from_json(text: str) -> Release:
    """The inverse of `to_json`; raises ValueError on anything else."""
    try:
        data = json.loads(text)
        return Release(
            version=str(Version(data["version"])),
            uploaded=datetime.fromisoformat(data["uploaded"]),
            wheels=tuple(Wheel(str(w["filename"]), str(w["sha256"]), int(w["size"])) for w in data["wheels"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a release: {error}") from error


def merge(*sources: Iterable[Release]) -> list[Release]:
    """All releases in order of version; where two sources have one, the earlier source's stands.

    A release once recorded must not change when an index adds a wheel to it: its commit id depends on it.
    """
    merged: dict[str, Release] = {}
    for source in sources:
        for release in source:
            merged.setdefault(release.version, release)
    return sorted(merged.values(), key=lambda release: Version(release.version))
