"""The summary picture: what the compilers made of the issue's own case, and what that took where it was timed."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from attnkern.cases import FORMULATIONS
from attnkern.site.chart import LEAST_FLOOR_MS, Chart

CASE = "seed"
MOST_NAMES = 40
"""Revisions named under the picture; of a longer history every so many-th is."""
COLOURS = {"direct": "#c2410c", "transposed": "#1d4ed8"}
MARKERS = {"direct": "o", "transposed": "s"}
TITLES = {
    "sm_80": "least time on an A100 that spilling costs, ms (predicted from the machine code)",
    "native": "measured on the {gpu}, ms",
    "ported": "measured on the {gpu}, ms: the A100's code, assembled for it",
}


def headline(charts: Sequence[Chart]) -> dict[str, bytes]:
    """`headline.svg` and `headline.png`; nothing where the case has no record."""
    wanted = [chart for chart in charts if chart.series.case == CASE and title_of(chart) and chart.lines]
    if not wanted:
        return {}
    with matplotlib.rc_context({"svg.hashsalt": "attnkern", "svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(9, 1.4 + 2.1 * len(wanted)), layout="constrained", facecolor="white")
        axes = figure.subplots(len(wanted), 1, squeeze=False)[:, 0]
        figure.suptitle("One line of a Flash-Attention backward, written in two ways, across Triton's releases")
        for axis, chart in zip(axes, wanted, strict=True):
            draw(axis, chart, labelled=releases_of(chart) != releases_of(wanted[-1]) or chart is wanted[-1])
            axis.set_title(title_of(chart) or "", loc="left", fontsize=10)
        axes[0].plot([], [], "x", color="black", markersize=8, label="does not compile or launch")
        axes[0].legend(loc="center right", framealpha=0.9)
        return {f"headline.{kind}": saved(figure, kind) for kind in ("svg", "png")}


def title_of(chart: Chart) -> str | None:
    place = chart.series.place
    title = TITLES.get(place.code or place.name)
    return title.format(gpu=place.gpu) if title else None


def releases_of(chart: Chart) -> list[str]:
    return [line.release for line in chart.lines]


def draw(axis: Axes, chart: Chart, labelled: bool) -> None:
    places = range(len(chart.lines))
    for form in FORMULATIONS:
        points = [line.points[form] for line in chart.lines]
        values = [max(p.value, LEAST_FLOOR_MS) if p.value is not None else float("nan") for p in points]
        colour = COLOURS[form]
        axis.plot(places, values, MARKERS[form] + "-", color=colour, label=form, markersize=4.5, linewidth=1.4)
        broken = [place for place, p in enumerate(points) if p.failure and p.value is not None]
        axis.plot(broken, [values[place] for place in broken], "x", color="black", markersize=8)
        # What did not even compile has no value to stand at: it is marked at the foot.
        absent = [place for place, p in enumerate(points) if p.failure and p.value is None]
        foot = axis.get_xaxis_transform()
        axis.plot(absent, [0.05] * len(absent), "x", color=colour, markersize=7, transform=foot)
    axis.set_yscale("log")
    axis.margins(y=0.18)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(True, which="major", axis="y", color="#d4d4d4", linewidth=0.6)
    named = slice(None, None, -(-len(chart.lines) // MOST_NAMES))
    axis.set_xticks(places[named], releases_of(chart)[named], rotation=45, ha="right")
    axis.tick_params(axis="x", labelbottom=labelled)
    axis.set_xlim(-0.5, len(chart.lines) - 0.5)
    axis.spines[["top", "right"]].set_visible(False)


def saved(figure: Figure, kind: str) -> bytes:
    """The same bytes for the same figure."""
    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()
