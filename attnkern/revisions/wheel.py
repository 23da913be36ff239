"""The wheel provider: a release's wheel from the package index, unpacked as far as compiling needs it."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from attnkern.errors import FailedError
from attnkern.home import ZIP_ERRORS, disk_errors, home, place_folder, scratch
from attnkern.revisions import index
from attnkern.revisions.release import Release

# What no compile reads (tried with all releases): disassemblers, profilers, AMD's libraries, test helpers.
LEFT_OUT = (
    "*/bin/cuobjdump",
    "*/bin/nvdisasm",
    "*/lib/cupti*",
    "*/backends/amd/lib/*",
    "*/_C/libproton*",
    "*/instrumentation/*",
    "*/plugins/*",
    "*/FileCheck",
)


@contextlib.contextmanager
def provided(release: Release, keep: bool, on_bytes: Callable[[int], None] = lambda count: None) -> Iterator[Path]:
    """A folder that `import triton` works from.

    With `keep` it stays in the home for the next time; otherwise its disk is free again at the end.
    """
    wheel = release.wheel_for()
    kept = home() / "tritons" / re.sub(r"\.whl$", "", wheel.filename)
    if kept.is_dir():
        yield kept
        return
    with scratch(f"triton-{release.version}") as folder:
        archive, unpacked = folder / wheel.filename, folder / "triton"
        index.download(wheel, archive, on_bytes)
        unpack(archive, unpacked)
        archive.unlink()
        if keep:
            with disk_errors(kept):
                place_folder(unpacked, kept)
            unpacked = kept
        yield unpacked


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a wheel without LEFT_OUT, executables still executable; FailedError on a damaged archive."""
    try:
        with zipfile.ZipFile(archive) as file, disk_errors(folder):
            for member in file.infolist():
                if any(fnmatch.fnmatch(member.filename, pattern) for pattern in LEFT_OUT):
                    continue
                path = file.extract(member, folder)
                if (mode := member.external_attr >> 16 & 0o777) and not member.is_dir():
                    os.chmod(path, mode | 0o600)
    except ZIP_ERRORS as error:
        raise FailedError(f"{archive.name} is damaged ({error}): try again, or check the index") from error
