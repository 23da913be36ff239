"""The figures of scripts/scale: a made-up history of many revisions, judged, made into pages, and opened in a browser.

A series is what the graphs show one line of: the time of either form, or the gap, of one case on one machine. Runs
scatter by 0.1 %, and every fiftieth revision changes something.
"""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from attnkern.cases import CASES, FORMULATIONS
from attnkern.findings.find import find
from attnkern.findings.judge import Run
from attnkern.findings.recorded import Recorded
from attnkern.findings.series import CaseSeries, Figures, Moment, Place
from attnkern.revisions.history import Revision
from attnkern.revisions.release import Release
from attnkern.site import publisher
from attnkern.site.assets import CHARTS, fetched

FIRST = datetime(2023, 3, 2, tzinfo=UTC)
FIGURES = Figures(255, 1488, 3504, 163840, 68992, 4, 5_200_000_000, 2.55, "memory", 1, 0.125, None, "", "", "ptxas")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--revisions", type=int, default=2000)
    parser.add_argument("--series", type=int, default=50)
    options = parser.parse_args()
    revisions = [
        Revision(f"{place:08x}" * 5, Release(f"0.0.{place}", FIRST + timedelta(hours=12 * place), ()))
        for place in range(options.revisions)
    ]
    moments = [Moment(one.commit, one.name, one.release.uploaded.isoformat()) for one in revisions]
    series = made_up(options.revisions, math.ceil(options.series / 3))
    print(f"{options.revisions} revisions x {3 * len(series)} series")

    start = time.perf_counter()
    report = find(moments, series)
    print(f"judged in {time.perf_counter() - start:.2f} s: {len(report.findings)} findings")

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        known = Recorded(report, report.findings, (), ())
        publisher.write_site(Path(folder), revisions, known, {})
        print(f"pages and picture made in {time.perf_counter() - start:.2f} s")
        shutil.copy(fetched(CHARTS), folder)
        largest = sorted(Path(folder).rglob("*.*"), key=lambda path: path.stat().st_size)[-1]
        print(f"largest file {largest.name}, {largest.stat().st_size / 1e6:.2f} MB")
        for page in sorted({"index.html", "revision.html", max(Path(folder).glob("m*.html")).name}):
            print(f"{page} opens in {opening(Path(folder) / page):.2f} s")


def made_up(count: int, wanted: int) -> list[CaseSeries]:
    rng = np.random.default_rng(1806)
    found = []
    for number, case in itertools.islice(itertools.product(range(wanted), CASES), wanted):
        place = Place(f"m{number}", "A100", "native")
        logs = {}
        for form in FORMULATIONS:
            steps = np.where(np.arange(count) % 50 == 49, rng.normal(0, 0.03, count), 0.0)
            logs[form] = np.cumsum(steps) + rng.normal(0, 0.001, count)
        times = {form: [Run(float(log), 0.0002) for log in logs[form]] for form in FORMULATIONS}
        gaps = [Run(float(log), 0.0002) for log in logs["direct"] - logs["transposed"]]
        built = {form: [replace(FIGURES, code_sha256=f"{at // 3}") for at in range(count)] for form in FORMULATIONS}
        found.append(CaseSeries(case, place, built, times, gaps, flops=CASES[case].flops))
    return found


def opening(page: Path) -> float:
    """Seconds from the request until a real browser has drawn the page (the load event's end, and the chart)."""
    from selenium import webdriver
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("headless=new", "no-sandbox", "disable-gpu"):
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.get("about:blank")
        driver.get(page.as_uri())
        ended = WebDriverWait(driver, 60).until(
            lambda one: one.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        )
        return float(ended) / 1000
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
