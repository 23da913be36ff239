"""Our pages as part of what `asv publish` makes: found by asv because it subclasses OutputPublisher."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asv.console import log
from asv.publishing import OutputPublisher

from attnkern.errors import FailedError
from attnkern.site import offline
from attnkern.site.assets import CHARTS, fetched

if TYPE_CHECKING:
    from attnkern.findings.recorded import Recorded
    from attnkern.revisions.history import Revision

FOLDER = "findings"
STATIC = Path(__file__).with_name("static")


class Findings(OutputPublisher):  # type: ignore[misc]
    name = "findings"
    button_label = "Findings"
    description = "What changed between revisions, and whose doing it is"
    order = 10  # after asv's own

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        html_dir = Path(conf.html_dir)
        write(html_dir / FOLDER, Path(conf.results_dir))
        offline.add_navigation(html_dir, f"{FOLDER}/index.html", cls.button_label)
        try:
            offline.make_local(html_dir)
            shutil.copyfile(fetched(CHARTS), html_dir / FOLDER / CHARTS.name)
        except FailedError as error:
            log.warning(f"{error}. The pages are whole, but asv's graphs need the internet, and ours are tables alone")


def write(folder: Path, results: Path) -> None:
    """Every page, feed and picture of ours, of what is recorded."""
    # asv loads this file for each of its commands, `asv run` on a GPU's machine too: that needs none of these.
    from attnkern.explain import recorded as explained
    from attnkern.explain.reports import html
    from attnkern.findings.recorded import recorded
    from attnkern.revisions import history

    revisions = history.revisions()
    known = recorded(revisions, results)
    for said in (*known.warnings, *known.notes):
        log.warning(said)
    explanations = {
        finding.id: html(text)
        for finding in known.findings
        if (text := explained.of_finding(results, finding)) is not None
    }
    write_site(folder, revisions, known, explanations)


def write_site(folder: Path, revisions: Sequence[Revision], known: Recorded, explanations: Mapping[str, str]) -> None:
    """The same of what was judged; `explanations` are HTML, by a finding's id."""
    from attnkern.site.headline import headline
    from attnkern.site.pages import all_charts, pages

    charts = all_charts(known)
    (folder / "revisions").mkdir(parents=True)
    for name, text in pages(revisions, known, charts, explanations):
        (folder / name).write_text(text)
    for name, data in headline(charts).items():
        (folder / name).write_bytes(data)
    for name in ("site.css", "series.js"):
        shutil.copyfile(STATIC / name, folder / name)
