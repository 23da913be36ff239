"""A finding: a change between neighbouring revisions that a person should know of, with all its evidence."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Any

from attnkern.cases import CASES, Formulation
from attnkern.findings.rules import KINDS, RUNS_NOT, SEVERITIES, Kind, Severity
from attnkern.findings.series import Moment, Place


@dataclass(frozen=True)
class Evidence:
    """One figure that moved, or a message where there is no figure."""

    figure: str
    before: float | str | None
    after: float | str | None
    unit: str = ""

    @property
    def text(self) -> str:
        if self.before is None:
            return f"{self.figure}: {shown(self.after)} {self.unit}".rstrip()
        return f"{self.figure} {shown(self.before)} → {shown(self.after)} {self.unit}".rstrip()


@dataclass(frozen=True)
class Acknowledgement:
    """Somebody looked at it: why it may stand, and where that was discussed."""

    reason: str
    link: str


@dataclass(frozen=True)
class Finding:
    kind: Kind
    severity: Severity
    moment: Moment
    since: Moment
    """The revision compared with."""
    case: str
    formulation: Formulation
    """Of a gap, the form that moved it."""
    place: Place
    before: float | None
    after: float | None
    unit: str
    effect: float | None
    """after / before - 1; None where one of them is nothing or no number."""
    interval: tuple[float, float] | None
    """95 % of `effect`; None of what is exact or predicted."""
    evidence: tuple[Evidence, ...]
    seen_after: int = 0
    """How many more runs it took to prove a change of times."""
    acknowledged: Acknowledgement | None = None

    @property
    def id(self) -> str:
        """The same wherever and whenever it is found."""
        parts = (self.kind, self.moment.commit, self.case, self.formulation, self.place.slug)
        return hashlib.sha256("/".join(parts).encode()).hexdigest()[:12]

    @property
    def cost(self) -> float:
        """How many times as long: the order within a severity. Infinite for what does not run."""
        if self.kind in RUNS_NOT:
            return float("inf")
        if self.effect is None or self.effect <= -1:
            return 0.0
        return max(1 + self.effect, 1 / (1 + self.effect))

    @property
    def title(self) -> str:
        return f"{self.kind}: {self.case}, {self.formulation}, {self.place.label}, in {self.moment.release}"

    @property
    def summary(self) -> str:
        """One line: what moved by how much."""
        if self.before is None or self.after is None:
            return self.evidence[0].text if self.evidence else KINDS[self.kind].sentence
        predicted = " (predicted)" if not self.place.measured and self.unit in ("ms", "×") else ""
        sure = ""
        if self.interval is not None:
            sure = f" [{change_text(self.interval[0])}, {change_text(self.interval[1])}]"
        change = "" if self.effect is None else f", {change_text(self.effect)}{sure}"
        return f"{shown(self.before)} → {shown(self.after)} {self.unit}{predicted}{change}"


def order(finding: Finding) -> tuple[Any, ...]:
    """Severity first, then the case (the issue's own before its neighbours), then cost, then kind; newest first."""
    cases = list(CASES)
    return (
        SEVERITIES.index(finding.severity),
        cases.index(finding.case) if finding.case in CASES else len(cases),
        -finding.cost,
        list(KINDS).index(finding.kind),
        tuple(-ord(character) for character in finding.moment.released),
        finding.place,
    )


def as_json(finding: Finding) -> dict[str, Any]:
    """The finding as programs read it."""
    place = finding.place
    return {
        "id": finding.id,
        "kind": finding.kind,
        "severity": finding.severity,
        "release": finding.moment.release,
        "commit": finding.moment.commit,
        "since": finding.since.release,
        "since_commit": finding.since.commit,
        "case": finding.case,
        "formulation": finding.formulation,
        "target": None if place.measured else place.name,
        "machine": place.name if place.measured else None,
        "code": place.code or None,
        "gpu": place.gpu,
        "before": finding.before,
        "after": finding.after,
        "unit": finding.unit,
        "effect": finding.effect,
        "interval": list(finding.interval) if finding.interval else None,
        "measured": place.measured,
        "seen_after": finding.seen_after,
        "evidence": [dataclasses.asdict(evidence) for evidence in finding.evidence],
        "acknowledged": dataclasses.asdict(finding.acknowledged) if finding.acknowledged else None,
    }


def shown(value: float | str | None) -> str:
    """A figure for people: whole numbers with separators, others with four digits."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) >= 10:
        return f"{int(value):,}"
    return f"{value:.4g}"


def change_text(effect: float) -> str:
    """A relative change for people: per cent up to a doubling or halving, a factor beyond."""
    factor = 1 + effect
    if factor >= 2:
        return f"{factor:.3g}×"
    if 0 < factor <= 0.5:
        return f"1/{1 / factor:.3g}"
    return f"{effect:+.1%}"
