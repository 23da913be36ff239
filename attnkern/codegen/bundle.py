"""The bundle: all that one revision made of a selection, as a small wheel that asv installs as its build.

The same outcomes give the same bytes: fixed order, fixed dates, and nothing of what a compile took.  The costs, which
differ each time, stand beside the wheel in a file of their own.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnkern.codegen.artifact import Artifact, Costs, Key, Outcome, from_dict, to_dict, to_text
from attnkern.codegen.sass import SassFigures
from attnkern.errors import FailedError
from attnkern.home import ZIP_ERRORS, write_file

PACKAGE = "attnkern_bundle"
COSTS = "costs.json"
FORMAT = 2
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can hold


@dataclass(frozen=True)
class Bundle:
    """What a bundle says of itself: `figures` has the machine code's, by the artifact's name."""

    commit: str
    version: str
    released: str
    """ISO date and time."""
    outcomes: tuple[Outcome, ...]
    figures: dict[str, SassFigures]
    switches: dict[str, str]

    def outcome(self, key: Key) -> Outcome | None:
        return next((outcome for outcome in self.outcomes if outcome.key == key), None)


def file_name(bundle: Bundle) -> str:
    return f"{PACKAGE}-{bundle.version}-py3-none-any.whl"


def write(bundle: Bundle, contents: dict[str, bytes], costs: dict[str, Costs], folder: Path) -> Path:
    """Write the wheel and, beside it, the costs; returns the wheel's path.

    `contents` has each artifact's files as "<artifact>/<file>".
    """
    write_file(folder / COSTS, to_text({name: dataclasses.asdict(spent) for name, spent in costs.items()}).encode())
    path = folder / file_name(bundle)
    write_file(path, wheel_bytes(bundle, contents))
    return path


def wheel_bytes(bundle: Bundle, contents: dict[str, bytes]) -> bytes:
    info = f"{PACKAGE}-{bundle.version}.dist-info"
    members = {
        f"{PACKAGE}/__init__.py": f'"""What Triton {bundle.version} made of the suite."""\n'.encode(),
        f"{PACKAGE}/manifest.json": to_text(manifest(bundle)).encode(),
        **{f"{PACKAGE}/artifacts/{name}": data for name, data in sorted(contents.items())},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {bundle.version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: attnkern\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},{record_hash(data)},{len(data)}\n" for name, data in members.items())
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, EPOCH)
            member.external_attr = 0o100644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, data)
    return buffer.getvalue()


def record_hash(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def manifest(bundle: Bundle) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "commit": bundle.commit,
        "version": bundle.version,
        "released": bundle.released,
        "switches": bundle.switches,
        "outcomes": [to_dict(outcome) for outcome in bundle.outcomes],
        "figures": {name: dataclasses.asdict(figures) for name, figures in bundle.figures.items()},
    }


def from_manifest(data: dict[str, Any]) -> Bundle:
    """The inverse of `manifest`; raises KeyError, TypeError or ValueError on anything else."""
    if data["format"] != FORMAT:
        raise ValueError(f"format {data['format']}, where {FORMAT} is read")
    return Bundle(
        commit=data["commit"],
        version=data["version"],
        released=data["released"],
        outcomes=tuple(from_dict(outcome) for outcome in data["outcomes"]),
        figures={name: SassFigures(**figures) for name, figures in data["figures"].items()},
        switches=data["switches"],
    )


def read(folder: Path) -> Bundle:
    """The bundle in an (installed or unpacked) package folder; raises FailedError for a damaged one."""
    try:
        return from_manifest(json.loads((folder / "manifest.json").read_text()))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise FailedError(
            f"the bundle in {folder} is damaged ({error}): make it again with `attnkern bundle`"
        ) from error


def read_wheel(path: Path, folder: Path) -> Bundle:
    """Unpack a wheel into an empty folder, every file checked, and read it; raises FailedError for a damaged one."""
    try:
        with zipfile.ZipFile(path) as file:
            if (broken := file.testzip()) is not None:
                raise zipfile.BadZipFile(broken)
            file.extractall(folder)
    except (OSError, *ZIP_ERRORS) as error:
        raise FailedError(f"{path} is no whole bundle ({error}): make it again with `attnkern bundle`") from error
    bundle = read(folder / PACKAGE)
    for outcome in bundle.outcomes:
        if isinstance(outcome, Artifact):
            for name in outcome.files:
                read_file(folder / PACKAGE, outcome, name)
    return bundle


def read_file(folder: Path, artifact: Artifact, name: str) -> bytes:
    """One file of an artifact in a package folder, checked against the manifest's hash."""
    try:
        data = (folder / "artifacts" / artifact.key.name / name).read_bytes()
    except OSError as error:
        raise FailedError(f"the bundle in {folder} lacks {artifact.key.name}/{name}: make it again") from error
    if hashlib.sha256(data).hexdigest() != artifact.files[name].sha256:
        raise FailedError(f"{artifact.key.name}/{name} of the bundle in {folder} is damaged: make it again")
    return data
