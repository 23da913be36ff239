"""The pages of findings, series and revisions, as text by file name. Pure; `publisher` writes them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jinja2

from attnkern.cases import CASES, FORMULATIONS, Formulation
from attnkern.findings import reports
from attnkern.findings.finding import Finding, order
from attnkern.findings.recorded import Recorded
from attnkern.findings.rules import KINDS, SEVERITIES, explanation
from attnkern.findings.series import Figures, Loaded, Place
from attnkern.revisions.history import Revision
from attnkern.site.chart import Chart, Line, Point, charts_of, link_of

LISTED = 400
"""Findings on the first page, so that it opens at once; the pages of the series hold the rest."""

templates = jinja2.Environment(
    loader=jinja2.PackageLoader("attnkern.site"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.globals.update(
    link_of=link_of, further=reports.further, KINDS=KINDS, FORMULATIONS=FORMULATIONS, SEVERITIES=SEVERITIES
)


@dataclass(frozen=True)
class Built:
    """One row of a revision's page."""

    series: Chart
    formulation: str
    figures: Figures | None
    loaded: Loaded | None
    """What the driver says of ported code, which its own assembler made: the figures are not this code's."""
    point: Point


def pages(
    revisions: Sequence[Revision], known: Recorded, charts: Sequence[Chart], explanations: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """(file name, contents) of every page and feed; `explanations` are HTML, by a finding's id."""
    yield "index.html", index_page(known, charts)
    yield "rules.html", templates.get_template("rules.html").render(up="", sections=explanation())
    series = templates.get_template("series.html")
    for chart in charts:
        data = json.dumps(chart.data(), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        gauge = known.report.gauges.get(chart.series.place)
        yield (
            chart.file,
            series.render(
                up="",
                chart=chart,
                data=data,
                case=CASES[chart.series.case],
                gauge=gauge,
                explanations=explanations,
            ),
        )
    yield from revision_pages(revisions, known, charts)
    coverage = known.report.coverage()
    yield "findings.json", reports.to_json(known.report, known.findings, coverage, known.notes)
    yield "findings.xml", reports.atom(known.findings, revisions[-1].release.uploaded.isoformat(), link_of)


def index_page(known: Recorded, charts: Sequence[Chart]) -> str:
    places = sorted({chart.series.place for chart in charts})
    by_place = {(chart.series.case, chart.series.place): chart for chart in charts}
    return templates.get_template("index.html").render(
        up="",
        findings=known.findings[:LISTED],
        left=len(known.findings) - LISTED,
        counts={severity: sum(f.severity == severity for f in known.findings) for severity in SEVERITIES},
        coverage=known.report.coverage(),
        gauges=known.report.gauges,
        notes=known.notes,
        warnings=known.warnings,
        places=places,
        cases=[case for case in CASES if any(chart.series.case == case for chart in charts)],
        by_place=by_place,
        latest=latest,
        headline=any(chart.series.case == "seed" and chart.lines for chart in charts),
    )


def latest(chart: Chart) -> str:
    """The newest revision in one short phrase."""
    line = chart.lines[-1]
    broken = [form for form in FORMULATIONS if line.points[form].failure]
    if broken:
        return f"{' and '.join(broken)} {'fail' if len(broken) > 1 else 'fails'}"
    if not chart.series.place.measured:
        collapsed = [form for form in FORMULATIONS if collapsed_last(chart, form)]
        return f"{' and '.join(collapsed) or 'nothing'} collapsed"
    return f"gap {line.gap.text}" if line.gap.value is not None else "not recorded"


def collapsed_last(chart: Chart, form: Formulation) -> bool:
    newest = next((state for state in reversed(chart.series.built[form]) if state is not None), None)
    return isinstance(newest, Figures) and newest.collapsed


def revision_pages(
    revisions: Sequence[Revision], known: Recorded, charts: Sequence[Chart]
) -> Iterator[tuple[str, str]]:
    """One page per revision with a record, and the one that leads there from a commit's full name."""
    lines: dict[str, list[tuple[Chart, Line, int]]] = defaultdict(list)
    place_of = {moment.commit: place for place, moment in enumerate(known.report.moments)}
    for chart in charts:
        for line in chart.lines:
            if any(point.text != "not recorded" for point in line.points.values()):
                lines[line.commit].append((chart, line, place_of[line.commit]))
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in known.findings:
        found[finding.moment.commit].append(finding)
    template = templates.get_template("revision.html")
    with_page = [revision for revision in revisions if revision.commit in lines]
    for number, revision in enumerate(with_page):
        yield (
            f"revisions/{revision.commit[:8]}.html",
            template.render(
                up="../",
                revision=revision,
                tables=tables_of(lines[revision.commit]),
                findings=sorted(found[revision.commit], key=order),
                before=with_page[number - 1] if number else None,
                after=with_page[number + 1] if number + 1 < len(with_page) else None,
            ),
        )
    yield "revision.html", templates.get_template("redirect.html").render(up="", revisions=with_page)


def tables_of(lines: Sequence[tuple[Chart, Line, int]]) -> dict[Place, list[Built]]:
    """A table for each place."""
    tables: dict[Place, list[Built]] = defaultdict(list)
    for chart, line, place in lines:
        for form in FORMULATIONS:
            built = chart.series.built[form][place] if chart.series.built else None
            ported = chart.series.place.code == "ported"
            figures = built if isinstance(built, Figures) and not ported else None
            loaded = chart.series.loaded[form][place] if ported and chart.series.loaded else None
            tables[chart.series.place].append(Built(chart, form, figures, loaded, line.points[form]))
    return dict(sorted(tables.items(), key=lambda item: item[0]))


def all_charts(known: Recorded) -> list[Chart]:
    return [chart for chart in charts_of(known.report, known.findings) if chart.lines]
