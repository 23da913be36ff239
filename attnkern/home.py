"""Where attnkern keeps what it makes, and how a file or folder gets there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from attnkern.errors import FailedError

# What zipfile raises on archives with bytes cut off or flipped (found by trying both).
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)

CHECKOUT = Path(__file__).resolve().parent.parent


def home() -> Path:
    """The folder of everything made: $ATTNKERN_HOME, or `.attnkern` in the checkout."""
    return Path(os.environ.get("ATTNKERN_HOME") or CHECKOUT / ".attnkern").absolute()


@contextlib.contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A temporary folder in the home, on the same file system as what is renamed out of it.

    The folder bears the process's number, so that `sweep` can tell what a killed process left behind.
    """
    base = home() / "tmp"
    with disk_errors(base):
        base.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-{name}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove what processes that are no more left in scratch."""
    base = home() / "tmp"
    for folder in base.iterdir() if base.is_dir() else ():
        pid = folder.name.partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Flush every file under `folder`, and the folders' own entries, to the disk."""
    for path in [folder, *folder.rglob("*")]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def place_folder(made: Path, destination: Path) -> None:
    """Move a finished folder to its place; where another process was first, its (equal) folder stays."""
    sync_folder(made)
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(made, destination)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def write_file(path: Path, data: bytes) -> None:
    """Write under a temporary name, sync, rename."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            os.fchmod(descriptor, 0o644)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(partial, path)
        except BaseException:
            os.unlink(partial)
            raise


@contextlib.contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Turn a failing disk or folder into one line for the user."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise FailedError(f"the disk is full at {where}: free some space, or set ATTNKERN_HOME") from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.EEXIST, errno.ENOTDIR):
            raise FailedError(f"can't write to {where}: make it writable, or set ATTNKERN_HOME") from error
        raise


@contextlib.contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold a lock that the kernel gives back if this process is killed."""
    base = home()
    with disk_errors(base):
        base.mkdir(parents=True, exist_ok=True)
        lock = open(base / f"{name}.lock", "w")  # noqa: SIM115
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
