"""The anchor: one fixed artifact, timed in every rotation, by which another GPU is told from another compiler.

Triton 3.2.0's transposed form of the case `seed`, for sm_80 and sm_90, as `attnkern anchor` wrote it into `anchors/`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from attnkern.codegen.artifact import Artifact, from_dict, to_dict, to_text
from attnkern.codegen.gpus import SUITE_TARGETS
from attnkern.errors import FailedError, UserError
from attnkern.home import write_file

FOLDER = Path(__file__).with_name("anchors")
RELEASE, CASE = "3.2.0", "seed"


def for_target(target: str) -> tuple[Artifact, bytes]:
    """(artifact, cubin); raises UserError where there is none for this GPU, FailedError for a damaged one."""
    record, code = FOLDER / f"{target}.json", FOLDER / f"{target}.cubin"
    if not record.exists():
        raise UserError(f"no anchor for {target}: timing is for {', '.join(SUITE_TARGETS)}")
    artifact = from_dict(json.loads(record.read_text()))
    cubin = code.read_bytes()
    assert isinstance(artifact, Artifact)
    if hashlib.sha256(cubin).hexdigest() != artifact.files["kernel.cubin"].sha256:
        raise FailedError(f"the anchor {code} is damaged: restore it from the repository")
    return artifact, cubin


def write(artifact: Artifact, cubin: bytes) -> None:
    write_file(FOLDER / f"{artifact.key.target}.json", to_text(to_dict(artifact)).encode())
    write_file(FOLDER / f"{artifact.key.target}.cubin", cubin)
