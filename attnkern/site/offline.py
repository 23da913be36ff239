"""asv's own pages, made to work with no internet and straight from a disk.

Two things stand in the way: its scripts come from content networks, and a browser lets no page that was opened from
a disk read JSON files. So the site carries the scripts, and beside each JSON file a script that holds the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from attnkern.errors import FailedError
from attnkern.site.assets import OF_ASV, fetched

VENDOR = "vendor"
SHIM = Path(__file__).with_name("static") / "offline.js"
LINK = re.compile(
    r'(?P<start><(?:script|link)\b[^>]*?\b(?P<attribute>src|href)=")(?P<url>https://[^"]+)"(?P<rest>[^>]*)>'
)
ATTRIBUTES = re.compile(r'\s+(?:integrity|crossorigin|referrerpolicy|onerror)="[^"]*"')
LAST_LIBRARY = '<script language="javascript" type="text/javascript"\n            src="asv.js">'
NAVIGATION = '<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>'


def make_local(html_dir: Path) -> None:
    """Bring the scripts along and point asv's page at them; raises FailedError where one can't be had."""
    for asset in OF_ASV:
        copy(fetched(asset), html_dir / VENDOR / asset.name)
    copy(SHIM, html_dir / VENDOR / SHIM.name)
    index = html_dir / "index.html"
    page = with_local_scripts(index.read_text())
    shim = f'<script src="{VENDOR}/{SHIM.name}"></script>\n    '
    index.write_text(inserted(page, LAST_LIBRARY, shim, before=True))


def with_local_scripts(page: str) -> str:
    """The page with each foreign script and style replaced by its copy; raises FailedError for one without a copy."""
    copies = {asset.stands_for: asset.name for asset in OF_ASV}

    def local(match: re.Match[str]) -> str:
        name = match["url"].rpartition("/")[2]
        if name not in copies:
            raise FailedError(f"asv's page loads {match['url']}, which has no pinned copy: this asv is not supported")
        return f'{match["start"]}{VENDOR}/{copies[name]}"{ATTRIBUTES.sub("", match["rest"])}>'

    return LINK.sub(local, page)


def add_navigation(html_dir: Path, target: str, label: str) -> None:
    """A link in asv's bar, after its own pages."""
    index = html_dir / "index.html"
    link = f'\n\t<li><a href="{target}">{label}</a></li>'
    index.write_text(inserted(index.read_text(), NAVIGATION, link, before=False))


def inserted(page: str, anchor: str, text: str, before: bool) -> str:
    """The page with a text beside an anchor that must stand there once."""
    if page.count(anchor) != 1:
        raise FailedError(f"asv's page has {page.count(anchor)} of {anchor.split()[0]}…: this asv is not supported")
    return page.replace(anchor, text + anchor if before else anchor + text)


def fill_summaries(html_dir: Path) -> None:
    """An empty summary for each benchmark that nothing is recorded of: asv's first page asks for it all the same."""
    for name in json.loads((html_dir / "index.json").read_text())["benchmarks"]:
        summary = html_dir / "graphs" / "summary" / f"{name}.json"
        if not summary.exists():
            summary.parent.mkdir(parents=True, exist_ok=True)
            summary.write_text("[]")


def write_scripts_beside_json(html_dir: Path) -> None:
    """For each JSON file a script that hands the same to `offline.js`."""
    for path in html_dir.rglob("*.json"):
        path.with_name(path.name + ".js").write_bytes(b"attnkernTake(" + path.read_bytes() + b");\n")


def copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(source.read_bytes())
