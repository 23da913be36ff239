"""Where a session's bundles come from: a folder of them, or the store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from attnkern.codegen import build, bundle
from attnkern.errors import FailedError
from attnkern.home import scratch
from attnkern.revisions.history import Revision
from attnkern.revisions.release import Release, merge


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[tuple[list[Revision], dict[str, Path]]]:
    """(revisions oldest first, package folder by commit) of the bundles in a folder: wheels, or unpacked packages."""
    packages = {path.parent for path in folder.rglob("manifest.json")}
    with scratch("bundles") as space:
        for wheel in sorted(folder.rglob(f"{bundle.PACKAGE}-*.whl")):
            unpacked = space / f"{len(packages)}"
            bundle.read_wheel(wheel, unpacked)
            packages.add(unpacked / bundle.PACKAGE)
        by_commit = {(made := bundle.read(package)).commit: (made, package) for package in sorted(packages)}
        if not by_commit:
            raise FailedError(f"no bundles in {folder}: `attnkern bundle REV… --out {folder}` writes some")
        found = [Revision(made.commit, pretend_release(made)) for made, _ in by_commit.values()]
        order = [release.version for release in merge(revision.release for revision in found)]
        found.sort(key=lambda revision: order.index(revision.name))
        yield found, {commit: package for commit, (_, package) in by_commit.items()}


def pretend_release(made: bundle.Bundle) -> Release:
    """As much of a release as a bundle tells: a GPU machine has no index and no history."""
    return Release(made.version, datetime.fromisoformat(made.released), ())


@contextlib.contextmanager
def from_store(revisions: Sequence[Revision], selection: build.Selection) -> Iterator[dict[str, Path]]:
    """Package folders by commit, of what is stored."""
    with scratch("bundles") as space:
        packages = {}
        for revision in revisions:
            wheel = build.write_bundle(revision, selection, space / revision.commit)
            bundle.read_wheel(wheel, space / revision.commit / "package")
            packages[revision.commit] = space / revision.commit / "package" / bundle.PACKAGE
        yield packages
