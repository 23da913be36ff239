"""What programs and people read: valid, whole, and safe whatever a compiler's message holds."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnkern.findings import reports
from attnkern.findings.find import Report, find
from attnkern.findings.finding import Finding
from attnkern.findings.rules import KINDS, explanation
from attnkern.findings.series import Broken
from attnkern.site.chart import link_of
from tests.findings.builders import COLLAPSED, FIGURES_OF_A_SEED, line, target

NASTY = "<b>&\"' | `x` _y_ [z](javascript:1) \x00\x1b]]>\nnext"


def report_with(message: str) -> Report:
    works, fails = FIGURES_OF_A_SEED, Broken("cannot-compile", message)
    return find(line(3), [target([works, fails, works], [works, COLLAPSED, COLLAPSED])])


@pytest.fixture
def report() -> Report:
    return report_with(NASTY)


def test_json_has_every_field_of_a_finding(report: Report) -> None:
    data = json.loads(reports.to_json(report, report.findings, report.coverage()))
    by_kind = {entry["kind"]: entry for entry in data["findings"]}
    collapsed = by_kind["transposed-regressed"]
    assert (collapsed["release"], collapsed["since"], collapsed["severity"]) == ("r1", "r0", "critical")
    assert (collapsed["case"], collapsed["formulation"]) == ("seed", "transposed")
    assert (collapsed["target"], collapsed["machine"], collapsed["gpu"]) == ("sm_80", None, "A100")
    assert (collapsed["before"], collapsed["after"]) == (2.55, 55.07)
    assert collapsed["effect"] == pytest.approx(55.07 / 2.55 - 1)
    assert {"registers", "spill floor", "stack"} <= {one["figure"] for one in collapsed["evidence"]}
    assert {"id", "commit", "interval", "acknowledged"} <= set(collapsed)
    assert NASTY in by_kind["cannot-compile"]["evidence"][0]["after"]
    assert data["judged"]["exact"] == 4


def test_ids_depend_on_the_finding_alone(report: Report) -> None:
    again = report_with("another message")
    assert [finding.id for finding in again.findings] == [finding.id for finding in report.findings]
    assert len({finding.id for finding in report.findings}) == len(report.findings)


def test_junit_counts_what_fails_the_gate(report: Report) -> None:
    failing = [finding for finding in report.findings if finding.kind == "cannot-compile"]
    suite = ET.fromstring(reports.junit(report, report.findings, failing))
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    (failure,) = suite.iter("failure")
    assert failure.get("type") == "cannot-compile"
    assert "[z](javascript:1)" in (failure.text or "")
    assert "transposed-regressed" in (suite.findtext(".//system-out") or "")


def test_the_feed_is_atom(report: Report) -> None:
    feed = ET.fromstring(reports.atom(report.findings, "2026-01-01T00:00:00+00:00", link_of))
    name = {"a": reports.ATOM}
    for wanted in ("a:title", "a:id", "a:updated", "a:author/a:name"):
        assert feed.findtext(wanted, namespaces=name)
    entries = feed.findall("a:entry", name)
    assert len(entries) == len(report.findings)
    assert {entry.findtext("a:id", namespaces=name) for entry in entries} == {
        f"urn:attnkern:finding:{finding.id}" for finding in report.findings
    }
    assert all(entry.find("a:link", name) is not None for entry in entries)


@given(st.text(max_size=200))
def test_any_message_survives_in_every_form(message: str) -> None:
    report = report_with(message)
    reports.to_json(report, report.findings, report.coverage())
    ET.fromstring(reports.junit(report, report.findings, report.findings))
    ET.fromstring(reports.atom(report.findings, "", link_of))
    html = MarkdownIt("commonmark").enable("table").render(reports.markdown(report.findings, report.coverage()))
    assert "<script" not in html and "<a href" not in html
    rows = list(html.split("<tr>")[1:])
    assert {row.count("<td>") for row in rows} <= {0, 7}


def test_nothing_judged_is_not_nothing_changed() -> None:
    empty = find(line(3), [])
    assert str(empty.coverage()) == "nothing could be judged"
    assert "nothing could be judged" in reports.markdown([], empty.coverage())
    alone = find(line(3), [target([None, FIGURES_OF_A_SEED, None], [None, None, None])])
    assert alone.coverage().judged == 0


def test_the_summary_is_not_repeated(report: Report) -> None:
    def told(finding: Finding) -> str:
        return reports.told(replace(finding, acknowledged=None))

    for finding in report.findings:
        assert told(finding).count(finding.summary) == 1


def test_the_rules_in_words_name_every_kind() -> None:
    words = " ".join(paragraph for section in explanation() for paragraph in section.paragraphs)
    for kind in KINDS:
        assert f"{kind}: " in words
