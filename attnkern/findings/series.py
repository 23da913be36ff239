"""What is known of each revision, side by side: the rules' input. Plain data; `records` reads it from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attnkern.cases import Formulation
from attnkern.findings.judge import Run
from attnkern.findings.rules import Kind, collapsed


@dataclass(frozen=True)
class Moment:
    """One revision, as lists name it."""

    commit: str
    release: str
    released: str
    """ISO date and time."""


@dataclass(frozen=True, order=True)
class Place:
    """Where the figures of a series hold: a target, or a machine and the code that it ran."""

    name: str
    """"sm_80" or "h200"."""
    gpu: str
    """Whose limits a target's figures are held against, or what a machine's times were taken on."""
    code: str = ""
    """"native" or "ported" of a machine; nothing of a target."""

    @property
    def measured(self) -> bool:
        return bool(self.code)

    @property
    def label(self) -> str:
        if not self.measured:
            return f"{self.name} on {self.gpu}"
        return f"{self.name} ({self.gpu})" if self.code == "native" else f"{self.name} ({self.gpu}), code for sm_80"

    @property
    def slug(self) -> str:
        """For file names and ids."""
        return f"{self.name}-{self.code}" if self.code == "ported" else self.name


@dataclass(frozen=True)
class Figures:
    """The profile of a compiled artifact, held against the place's GPU."""

    registers: int
    stack_bytes: int
    spill_bytes: int
    """Static bytes of spill stores and loads, as ptxas counts them."""
    shared_bytes: int
    code_bytes: int
    layout_conversions: int
    local_bytes_per_launch: int
    floor_ms: float
    """Predicted, never measured."""
    floor_level: str
    programs_per_sm: int
    occupancy: float
    obstacle: str | None
    """Why it can't launch."""
    code_sha256: str
    """Of the machine code."""
    ptx_sha256: str
    ptxas: str

    @property
    def collapsed(self) -> bool:
        return collapsed(self.registers, self.spill_bytes)


@dataclass(frozen=True)
class Broken:
    """What did not work, by the finding that it would be."""

    kind: Kind
    message: str


@dataclass(frozen=True)
class Loaded:
    """What the driver says of the code that a machine ran."""

    registers: int
    local_bytes_per_thread: int


Built = Figures | Broken | None
Timed = Run | Broken | None


@dataclass(frozen=True)
class CaseSeries:
    """One case at one place, a value per moment in each list; None where there is no record.

    At a machine `built` is what the timed code came from, and `times` and `gaps` are measured; a target has neither.
    """

    case: str
    place: Place
    built: Mapping[Formulation, Sequence[Built]]
    times: Mapping[Formulation, Sequence[Timed]] = field(default_factory=dict)
    gaps: Sequence[Run | None] = ()
    loaded: Mapping[Formulation, Sequence[Loaded | None]] = field(default_factory=dict)
    flops: int = 0
    """Of one launch."""

    def code_of(self, formulation: Formulation, place: int) -> str | None:
        """What identifies the machine code that ran; None where it is not known.

        The driver's assembler makes ported code of PTX: equal PTX is equal code there.
        """
        built = self.built[formulation][place] if self.built else None
        if not isinstance(built, Figures):
            return None
        return built.ptx_sha256 if self.place.code == "ported" else built.code_sha256
