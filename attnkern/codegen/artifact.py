"""What one (revision, case, formulation, target) compiled to, or how it failed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from attnkern.cases import Formulation
from attnkern.codegen.ptxas import PtxasReport
from attnkern.errors import UserError

STAGES = ("ttir", "ttgir", "llir", "ptx", "cubin")
"""The compiler's stages; each leaves a file of that ending."""


@dataclass(frozen=True, order=True)
class Key:
    """Which artifact of a revision."""

    case: str
    formulation: Formulation
    target: str
    """The architecture compiled for, as "sm_80"."""

    @property
    def name(self) -> str:
        return f"{self.case}-{self.formulation}-{self.target}"

    @property
    def capability(self) -> int:
        """80 for sm_80; raises UserError for what is no target."""
        if match := re.fullmatch(r"sm_(\d{2,3})", self.target):
            return int(match[1])
        raise UserError(f"unknown target {self.target!r}: write sm_80, sm_90, …")


@dataclass(frozen=True)
class File:
    """One file of an artifact: its size and hash, by which a damaged copy is told."""

    sha256: str
    size: int
    """Bytes."""

    @staticmethod
    def of(data: bytes) -> File:
        return File(hashlib.sha256(data).hexdigest(), len(data))


@dataclass(frozen=True)
class Artifact:
    """A compiled kernel. Its files are named `kernel.<stage>`; this record holds nothing that varies between
    two compiles of the same source by the same compiler."""

    key: Key
    entry: str
    """The kernel's name in PTX and cubin."""
    parameters: tuple[str, ...]
    """The entry point's parameter types in PTX ("u64", "f32", …), in the order of launching."""
    num_warps: int
    shared_bytes: int
    """Dynamic shared memory that a launch must grant."""
    ptxas: PtxasReport
    how: str
    """"warmup" or "compile": which way the release's JIT was asked."""
    layout_conversions: int
    """convert_layout operations in the TTGIR."""
    files: dict[str, File]


@dataclass(frozen=True)
class Failure:
    key: Key
    stage: str
    """The stage that was not reached, or "import" where the Triton itself could not be loaded."""
    kind: str
    """"aborted", "raised", "timeout" or "out-of-memory"."""
    message: str
    """One line."""


Outcome = Artifact | Failure


@dataclass(frozen=True)
class Costs:
    """What a compile took; unlike the outcome, different each time."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    """The largest resident set among the compiler and the ptxas that it started."""
    timeout_s: float
    memory_bytes: int
    """What it was allowed."""


def to_dict(outcome: Outcome) -> dict[str, Any]:
    return {"status": "ok" if isinstance(outcome, Artifact) else "failed"} | dataclasses.asdict(outcome)


def from_dict(data: dict[str, Any]) -> Outcome:
    """The inverse of `to_dict`; raises KeyError, TypeError or ValueError on anything else."""
    fields = dict(data, key=Key(**data["key"]))
    if fields.pop("status") == "failed":
        return Failure(**fields)
    return Artifact(
        **fields
        | {
            "parameters": tuple(fields["parameters"]),
            "ptxas": PtxasReport(**fields["ptxas"] | {"options": tuple(fields["ptxas"]["options"])}),
            "files": {name: File(**file) for name, file in fields["files"].items()},
        }
    )


def to_text(data: object) -> str:
    """JSON as it is written everywhere here: same data, same bytes."""
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
