"""The assemblers and the disassembler that Triton's wheels carry, kept in the home once they were fetched.

`tools/<sha256>` is a binary, `tools/releases/<version>.json` says which ones a release has: many have the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from attnkern.errors import FailedError
from attnkern.home import ZIP_ERRORS, disk_errors, home, scratch, write_file
from attnkern.revisions import index
from attnkern.revisions.release import Release

WANTED = re.compile(r"/bin/(ptxas(?:-blackwell)?|nvdisasm)$")
LIVE_RANGES_FROM = "3.2.0"
"""The release whose nvdisasm (12.4.99) prints live registers: of those tried (12.3, 12.4, 12.8, 13.1 to 13.5, on cubins
of 2.0.0 to 3.9.0 for sm_80 and sm_90) only 12.3 and 12.4 read the flow of all; newer ones refuse older ELF files."""


@dataclass(frozen=True)
class Tool:
    path: Path
    sha256: str
    version: str
    """As "12.4.99"."""


def tool(release: Release, name: str) -> Tool:
    """A release's "ptxas" or "ptxas-blackwell", or the nvdisasm of LIVE_RANGES_FROM.

    Raises FailedError where the wheel has none or can't be had.
    """
    record = home() / "tools" / "releases" / f"{release.version}.json"
    known = read_record(record)
    if known is None or any(not (home() / "tools" / entry["sha256"]).exists() for entry in known.values()):
        known = fetch(release)
        write_file(record, json.dumps(known).encode())
    if name not in known:
        raise FailedError(f"the wheel of Triton {release.version} carries no {name}")
    return Tool(home() / "tools" / known[name]["sha256"], known[name]["sha256"], known[name]["version"])


def read_record(path: Path) -> dict[str, dict[str, str]] | None:
    try:
        found: dict[str, dict[str, str]] = json.loads(path.read_text())
        return found if all({"sha256", "version"} <= set(entry) for entry in found.values()) else None
    except (OSError, TypeError, ValueError, AttributeError):
        return None


def fetch(release: Release) -> dict[str, dict[str, str]]:
    wheel = release.wheel_for()
    with scratch(f"tools-{release.version}") as folder:
        archive = folder / wheel.filename
        index.download(wheel, archive, lambda count: None)
        try:
            with zipfile.ZipFile(archive) as file, disk_errors(folder):
                return {
                    match[1]: placed(file.read(member))
                    for member in file.namelist()
                    if (match := WANTED.search(member))
                    and (match[1] != "nvdisasm" or release.version == LIVE_RANGES_FROM)
                }
        except ZIP_ERRORS as error:
            raise FailedError(f"{archive.name} is damaged ({error}): try again, or check the index") from error


def placed(data: bytes) -> dict[str, str]:
    digest = hashlib.sha256(data).hexdigest()
    path = home() / "tools" / digest
    if not path.exists():
        write_file(path, data)
    os.chmod(path, 0o755)
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"\bV(\d+\.\d+\.\d+)", said)
    return {"sha256": digest, "version": match[1] if match else "unknown"}
