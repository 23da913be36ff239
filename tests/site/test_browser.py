"""The published site in a real browser, opened from the disk with the network off."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from attnkern.site.assets import AXE, fetched
from tests.site.conftest import Checkout

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="NO BROWSER: the pages were not tested (install chromium and chromium-driver)"
)

Driver = webdriver.Chrome


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def no_complaints(browser: Driver) -> Iterator[None]:
    """No test leaves a word in the console."""
    browser.get_log("browser")
    browser.set_window_size(1200, 900)
    yield
    assert browser.get_log("browser") == []


def opened(browser: Driver, site: Checkout, page: str) -> None:
    browser.get("about:blank")  # so that a change of the fragment alone loads the page anew
    browser.get(f"file://{site.html}/{page}")


def wait_for(browser: Driver, script: str) -> Any:
    return WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(f"return {script}"))


def test_the_first_page_begins_with_the_worst(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "findings/index.html")
    heads = [element.text for element in browser.find_elements(By.CSS_SELECTOR, ".finding .head")[:3]]
    assert heads == [
        "CRITICAL cannot-launch in 3.3.0 · seed, direct, sm_80 on A100",
        "CRITICAL transposed-regressed in 3.3.0 · seed, transposed, sm_80 on A100",
        "CRITICAL gap-closed-by-transposed in 3.3.0 · seed, transposed, sm_80 on A100",
    ]
    assert wait_for(browser, "document.querySelector('figure img').naturalWidth") > 300
    cell = browser.find_element(By.CSS_SELECTOR, "a[href='sm_80-seed.html']")
    assert cell.text == "direct fails"


def test_from_asvs_own_navigation(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "index.html")
    link = WebDriverWait(browser, 20).until(lambda driver: driver.find_element(By.LINK_TEXT, "Findings"))
    link.click()
    assert browser.find_element(By.TAG_NAME, "h1").text == "What changed between Triton’s revisions"
    browser.find_element(By.LINK_TEXT, "asv’s graphs").click()
    assert "airspeed velocity" in browser.title.lower() or wait_for(browser, "document.querySelector('#brand')")


def test_asvs_graph_is_drawn_and_leads_to_the_revisions_page(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "index.html#timing.track_time_ms?machine=h200&p-case='seed'&p-code='native'")
    assert wait_for(browser, "window.jQuery && jQuery('#main-graph canvas').length") >= 1
    points = wait_for(browser, "jQuery('#main-graph').data('plot') && jQuery('#main-graph').data('plot').getData()"
                               ".map(s => s.data.filter(p => p && p[1] !== null).length)")  # fmt: skip
    assert points and all(count >= 17 for count in points)
    commit_url = wait_for(browser, "jQuery.asv.main_json.show_commit_url")
    commit = browser.execute_script("return Object.values(jQuery.asv.main_json.revision_to_hash)[7]")
    opened(browser, published, f"{commit_url}{commit}")
    wait_for(browser, "location.pathname.includes('/findings/revisions/')")
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("Triton ")
    assert commit in browser.find_element(By.TAG_NAME, "main").text


def test_a_commit_without_a_page(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "findings/revision.html#" + "f" * 40)
    assert "no page for that commit" in browser.find_element(By.ID, "unknown").text


def test_the_chart_by_keyboard(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "findings/h200-seed.html")
    wait_for(browser, "document.querySelector('#chart svg')")
    chart = browser.find_element(By.ID, "chart")
    chart.send_keys(Keys.HOME)
    told = browser.find_element(By.ID, "told")
    assert told.text.startswith("2.0.0: direct cannot-compile, cannot-compile: ")
    for _ in range(10):
        chart.send_keys(Keys.ARROW_RIGHT)
    assert told.text.startswith("3.4.0: direct 1.5")
    assert "findings: direct-regressed, transposed-regressed" in told.text
    chart.send_keys(Keys.ENTER)
    assert browser.find_element(By.TAG_NAME, "h1").text == "Triton 3.4.0"


def test_hover_shows_all_figures(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "findings/sm_80-seed.html")
    wait_for(browser, "document.querySelector('#chart svg')")
    place = browser.find_element(By.ID, "chart").rect
    # 3.2.0 is the 8th of 18 releases; the plot's own margins are 60 and 16 pixels.
    x = 60 + (place["width"] - 76) * 7.5 / 18
    webdriver.ActionChains(browser).move_to_element_with_offset(
        browser.find_element(By.ID, "chart"), x - place["width"] / 2, -60
    ).perform()
    text = wait_for(
        browser,
        "[...document.querySelectorAll('#chart > div')].map(d => d.innerText).find(t => t.includes('registers'))",
    )
    assert "3.2.0" in text
    assert "direct: 51.81 (32 registers)" in text
    assert "255 registers, 1,488 B stack, 3,504 B spills, 163,840 B shared" in text
    assert "floor 2.549 ms predicted" in text
    assert "gap: 20.3×" in text


def test_a_permalink(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "findings/index.html")
    link = browser.find_element(By.LINK_TEXT, "cannot-launch").get_attribute("href")
    assert link is not None
    opened(browser, published, "findings/" + link.rpartition("/")[2])
    target = browser.execute_script("return document.querySelector(':target')")
    assert target.text.startswith("CRITICAL cannot-launch in 3.3.0")
    assert -1 < browser.execute_script("return arguments[0].getBoundingClientRect().top", target) < 900


def test_an_explanation_is_on_its_findings_page(browser: Driver, published: Checkout) -> None:
    opened(browser, published, "findings/sm_80-seed.html")
    # Of the collapse, and of the gap that it closed.
    shown, _ = browser.find_elements(By.CSS_SELECTOR, ".finding details.explanation")
    shown.find_element(By.TAG_NAME, "summary").click()
    assert "255" in shown.find_element(By.TAG_NAME, "table").text
    assert '<script>document.title = "attacked"</script>' in shown.text
    assert "attacked" not in browser.title
    assert serious_faults(browser) == []


@pytest.mark.parametrize("page", ["index", "sm_80-seed", "h200-tile-64x128", "revision", "rules"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_of_access_at_any_width(browser: Driver, published: Checkout, page: str, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    for width in (1200, 390):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        opened(browser, published, f"findings/{page}.html")
        overflow = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{page} is {overflow} pixels wider than {width}"
        assert serious_faults(browser) == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_all_colours_are_those_for_white(browser: Driver, published: Checkout) -> None:
    colours = (
        "return 'paper ink rule link critical major minor good direct transposed'.split(' ').map("
        "name => getComputedStyle(document.documentElement).getPropertyValue('--' + name))"
    )
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    found = []
    for features in (dark, light):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
        opened(browser, published, "findings/sm_80-seed.html")
        found.append(browser.execute_script(colours))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": light})
    assert found[0] == found[1]
    assert all(found[0])


def test_a_revisions_page_has_no_serious_fault(browser: Driver, published: Checkout) -> None:
    page = next((published.html / "findings" / "revisions").iterdir())
    opened(browser, published, f"findings/revisions/{page.name}")
    assert serious_faults(browser) == []


def serious_faults(browser: Driver) -> list[str]:
    """By axe-core, which may not load the style sheets anew, since a page on a disk may not."""
    browser.execute_script(fetched(AXE).read_text())
    found = browser.execute_async_script("axe.run({preload: false}).then(arguments[arguments.length - 1])")
    return [
        f"{fault['id']}: {fault['nodes'][0]['html']}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


def test_without_scripts_the_table_holds_all(published: Checkout) -> None:
    page = (published.html / "findings" / "sm_80-seed.html").read_text()
    assert page.count('<tr><th scope="row">') == 18
    assert "196608 bytes of shared memory, A100 grants 166912" in page
