"""Findings as people and programs read them: a table, Markdown, JSON, JUnit, an Atom feed. Pure: text out."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from attnkern.findings.find import Coverage, Report
from attnkern.findings.finding import Evidence, Finding, as_json
from attnkern.findings.rules import KINDS, SEVERITIES, explanation

STYLES = {"critical": "bold red", "major": "red", "minor": "yellow", "good": "green"}
ATOM = "http://www.w3.org/2005/Atom"


def table(findings: Sequence[Finding]) -> Table:
    printed = Table(show_lines=False)
    for name in ("severity", "release", "finding", "case", "where", "since"):
        printed.add_column(name, no_wrap=True)
    printed.add_column("what moved", overflow="fold")
    for finding in findings:
        style = "dim" if finding.acknowledged else STYLES[finding.severity]
        printed.add_row(
            Text(finding.severity, style=style), finding.moment.release, Text(finding.kind, style=style),
            f"{finding.case} {finding.formulation}", finding.place.slug, finding.since.release, told(finding),
        )  # fmt: skip
    return printed


def told(finding: Finding) -> str:
    """What moved, in one line."""
    marks = [f"acknowledged: {finding.acknowledged.reason}"] if finding.acknowledged else []
    if finding.seen_after:
        marks.append(f"proved {finding.seen_after} runs later")
    return "; ".join([finding.summary, *further(finding), *marks])


def further(finding: Finding) -> list[str]:
    """The evidence beyond what the summary shows already."""
    return [one.text for one in finding.evidence if one.text != finding.summary and not headline(one, finding)]


def headline(evidence: Evidence, finding: Finding) -> bool:
    """Whether the summary shows that figure already."""
    return (evidence.before, evidence.after, evidence.unit) == (finding.before, finding.after, finding.unit)


def to_json(report: Report, findings: Sequence[Finding], coverage: Coverage, notes: Sequence[str] = ()) -> str:
    data: dict[str, Any] = {
        "format": 1,
        "judged": {
            "exact": coverage.exact,
            "changed": coverage.changed,
            "unchanged": coverage.unchanged,
            "same_code": coverage.same_code,
            "cannot_tell": coverage.cannot_tell,
            "absent": coverage.absent,
        },
        "gauges": [
            {
                "machine": place.name,
                "code": place.code,
                "times": {"relative": gauge.times.relative, "pairs": gauge.times.pairs},
                "gaps": {"relative": gauge.gaps.relative, "pairs": gauge.gaps.pairs},
            }
            for place, gauge in report.gauges.items()
        ],
        "notes": list(notes),
        "findings": [as_json(finding) for finding in findings],
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def markdown(findings: Sequence[Finding], coverage: Coverage, notes: Sequence[str] = ()) -> str:
    """For a pull request or a job's summary: the counts, then a line per finding, good news folded away."""
    counts = Counter(finding.severity for finding in findings)
    said = ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES if counts[severity])
    lines = [f"**{len(findings)} findings**" + (f": {said}" if said else ""), "", f"{coverage}.", ""]
    bad = [finding for finding in findings if finding.severity != "good"]
    good = [finding for finding in findings if finding.severity == "good"]
    lines += markdown_table(bad)
    if good:
        lines += ["<details><summary>Improvements</summary>", "", *markdown_table(good), "</details>", ""]
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines).rstrip() + "\n"


def markdown_table(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    rows = ["| severity | finding | release | since | case | where | what moved |", "|---|---|---|---|---|---|---|"]
    for finding in findings:
        cells = (
            finding.severity, finding.kind, finding.moment.release, finding.since.release,
            f"{finding.case} {finding.formulation}", finding.place.label, told(finding),
        )  # fmt: skip
        rows.append("| " + " | ".join(escaped(cell) for cell in cells) + " |")
    return [*rows, ""]


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one cell: a compiler's message may hold anything."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, {"<": "&lt;", ">": "&gt;"}.get(character, "\\" + character))
    return " ".join(text.split())


def junit(report: Report, findings: Sequence[Finding], failing: Sequence[Finding]) -> str:
    """A test case per series; a finding that fails the gate is its failure, another one its output."""
    suite = ET.Element("testsuite", name="attnkern")
    ids = {finding.id for finding in failing}
    places = sorted({(series.place, series.case) for series in report.series})
    failed = 0
    for place, case in places:
        test = ET.SubElement(suite, "testcase", classname=place.slug, name=case)
        mine = [finding for finding in findings if (finding.place, finding.case) == (place, case)]
        for finding in mine:
            if finding.id in ids:
                failure = ET.SubElement(test, "failure", message=printable(finding.title), type=finding.kind)
                failure.text = printable(told(finding))
                failed += 1
        others = [f"{finding.title}: {told(finding)}" for finding in mine if finding.id not in ids]
        if others:
            ET.SubElement(test, "system-out").text = printable("\n".join(others))
    suite.set("tests", str(len(places)))
    suite.set("failures", str(failed))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def atom(findings: Sequence[Finding], updated: str, link_of: Callable[[Finding], str]) -> str:
    """A feed, newest first. Ids depend on nothing but the finding; links are relative to the feed."""
    ET.register_namespace("", ATOM)
    feed = ET.Element(f"{{{ATOM}}}feed")

    def add(parent: ET.Element, tag: str, text: str = "", **attributes: str) -> ET.Element:
        element = ET.SubElement(parent, f"{{{ATOM}}}{tag}", attributes)
        element.text = printable(text) or None
        return element

    add(feed, "title", "attnkern: findings")
    add(feed, "id", "urn:attnkern:findings")
    add(feed, "updated", updated)
    add(add(feed, "author"), "name", "attnkern")
    add(feed, "link", href="findings.xml", rel="self")
    add(feed, "logo", "headline.png")
    for finding in sorted(findings, key=lambda one: (one.moment.released, one.id), reverse=True):
        entry = add(feed, "entry")
        add(entry, "title", f"{finding.severity}: {finding.title}")
        add(entry, "id", f"urn:attnkern:finding:{finding.id}")
        add(entry, "updated", finding.moment.released)
        add(entry, "link", href=link_of(finding))
        add(entry, "category", term=finding.kind)
        add(entry, "summary", told(finding))
    return ET.tostring(feed, encoding="unicode", xml_declaration=True) + "\n"


def printable(text: str) -> str:
    """Without the control characters that XML can't hold."""
    return "".join(c for c in text if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c < "\ufffe"))


def rules() -> str:
    """The rules in words, for a terminal."""
    return "\n\n".join(
        f"{section.title}\n" + "\n".join(f"  {paragraph}" for paragraph in section.paragraphs)
        for section in explanation()
    )


def kinds() -> str:
    return ", ".join(KINDS)
