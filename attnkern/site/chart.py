"""A chart of one case at one place, as plain data: what `static/series.js` draws and the table under it says. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from attnkern.cases import FORMULATIONS, Formulation
from attnkern.findings.find import Report
from attnkern.findings.finding import Finding, shown
from attnkern.findings.judge import Run
from attnkern.findings.profiles import fault_of
from attnkern.findings.rules import CONFIDENCE
from attnkern.findings.series import Broken, CaseSeries, Figures

LOG_FROM = 4.0
"""A logarithmic axis where the largest value is so many times the smallest."""
DEVIATIONS = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
"""Half an interval, in standard errors."""
LEAST_FLOOR_MS = 0.01
"""Where a logarithmic axis of floors ends: code without spills has a floor of 0."""


@dataclass(frozen=True)
class Point:
    """One formulation, or the gap, at one revision."""

    value: float | None
    """None where there is no number: `text` says why."""
    interval: tuple[float, float] | None
    """95 %, in the unit of the value; None of what is predicted."""
    text: str
    """For the table."""
    details: str
    """The other figures, for the hover."""
    failure: str | None = None


@dataclass(frozen=True)
class Line:
    """One revision's row of the table, and its place in the chart."""

    release: str
    commit: str
    released: str
    points: Mapping[Formulation, Point]
    gap: Point
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Chart:
    series: CaseSeries
    what: str
    """What the values are, with their unit."""
    lines: tuple[Line, ...]
    findings: tuple[Finding, ...]

    @property
    def file(self) -> str:
        return file_of(self.series)

    def data(self) -> dict[str, Any]:
        """For the script. A logarithmic axis shows nothing below `floor`."""
        values = [p.value for line in self.lines for p in line.points.values() if p.value is not None]
        positive = [max(value, LEAST_FLOOR_MS) for value in values] if not self.series.place.measured else values
        logarithmic = bool(positive) and max(positive) >= LOG_FROM * min(positive)
        return {
            "what": self.what,
            "log": logarithmic,
            "floor": LEAST_FLOOR_MS if logarithmic and not self.series.place.measured else None,
            "releases": [line.release for line in self.lines],
            "commits": [line.commit[:8] for line in self.lines],
            "series": {form: [as_data(line.points[form]) for line in self.lines] for form in FORMULATIONS},
            "gap": [as_data(line.gap) for line in self.lines],
            "findings": [
                {
                    "at": at,
                    "id": finding.id,
                    "kind": finding.kind,
                    "severity": finding.severity,
                    "on": "gap" if finding.kind.startswith("gap") else finding.formulation,
                    "acknowledged": finding.acknowledged is not None,
                }
                for at, line in enumerate(self.lines)
                for finding in line.findings
            ],
        }


def charts_of(report: Report, findings: Sequence[Finding]) -> list[Chart]:
    """A chart of each series, in the report's order, over the revisions from the first to the last with a record."""
    mine: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        mine[finding.case, finding.place.slug].append(finding)
    return [chart_of(report, series, mine[series.case, series.place.slug]) for series in report.series]


def chart_of(report: Report, series: CaseSeries, findings: Sequence[Finding]) -> Chart:
    at: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        at[finding.moment.commit].append(finding)
    places = [place for place in range(len(report.moments)) if recorded_at(series, place)]
    lines = []
    for place in range(places[0], places[-1] + 1) if places else ():
        moment = report.moments[place]
        points = {form: point_of(report, series, form, place) for form in FORMULATIONS}
        gap = gap_of(report, series, place, points)
        lines.append(
            Line(moment.release, moment.commit, moment.released, points, gap, tuple(at.get(moment.commit, ())))
        )
    what = "time, ms" if series.place.measured else "spill floor, ms (predicted)"
    return Chart(series, what, tuple(lines), tuple(findings))


def recorded_at(series: CaseSeries, place: int) -> bool:
    states = series.times if series.place.measured else series.built
    return any(states[form][place] is not None for form in FORMULATIONS)


def point_of(report: Report, series: CaseSeries, form: Formulation, place: int) -> Point:
    built = series.built[form][place] if series.built else None
    if not series.place.measured:
        if isinstance(built, Figures):
            fault = fault_of(built)
            text = f"{shown(built.floor_ms)} ({built.registers} registers)"
            message = f"cannot launch: {fault.message}" if fault else None
            return Point(built.floor_ms, None, text, figures_text(built), message)
        return failed(built)
    state = series.times[form][place]
    if isinstance(state, Run):
        run = with_noise(report, series, state, gap=False)
        return Point(state.value, run, f"{state.value:.4g}", code_text(series, form, place))
    return failed(state)


def failed(state: Broken | object) -> Point:
    if isinstance(state, Broken):
        return Point(None, None, state.kind, "", f"{state.kind}: {state.message}")
    return Point(None, None, "not recorded", "")


def gap_of(report: Report, series: CaseSeries, place: int, points: Mapping[Formulation, Point]) -> Point:
    if series.place.measured:
        run = series.gaps[place]
        if run is None:
            return Point(None, None, "–", "")
        return Point(run.value, with_noise(report, series, run, gap=True), f"{run.value:.3f}×", "")
    direct, transposed = (points[form].value for form in FORMULATIONS)
    if not direct or not transposed:
        return Point(None, None, "–", "")
    return Point(direct / transposed, None, f"{direct / transposed:.3g}×", "")


def with_noise(report: Report, series: CaseSeries, run: Run, gap: bool) -> tuple[float, float]:
    """95 %: by the run's own blocks, or by the noise between runs where that is more."""
    gauge = report.gauges[series.place]
    noise = (gauge.gaps if gap else gauge.times).variance
    half = DEVIATIONS * math.sqrt(max(run.error**2, noise))
    return run.value * math.exp(-half), run.value * math.exp(half)


def code_text(series: CaseSeries, form: Formulation, place: int) -> str:
    """Of the code that a machine ran; of ported code what the driver says, whose assembler made it."""
    built = series.built[form][place] if series.built else None
    loaded = series.loaded[form][place] if series.loaded else None
    if series.place.code != "ported":
        return figures_text(built) if isinstance(built, Figures) else ""
    if loaded is None:
        return ""
    return f"as loaded: {loaded.registers} registers, {loaded.local_bytes_per_thread:,} B stack"


def figures_text(figures: Figures) -> str:
    launches = "" if figures.obstacle is None else f"; cannot launch: {figures.obstacle}"
    return (
        f"{figures.registers} registers, {figures.stack_bytes:,} B stack, {figures.spill_bytes:,} B spills,"
        f" {figures.shared_bytes:,} B shared, {figures.layout_conversions} layout conversions,"
        f" floor {shown(figures.floor_ms)} ms predicted{launches}"
    )


def as_data(point: Point) -> dict[str, Any]:
    data: dict[str, Any] = {"v": rounded(point.value), "t": point.text}
    if point.interval:
        data["i"] = [rounded(end) for end in point.interval]
    if point.details:
        data["d"] = point.details
    if point.failure:
        data["f"] = point.failure
    return data


def rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def file_of(series: CaseSeries) -> str:
    return f"{series.place.slug}-{series.case}.html"


def link_of(finding: Finding) -> str:
    """The finding's permalink, from the folder of these pages."""
    return f"{finding.place.slug}-{finding.case}.html#{finding.id}"
