"""The live page in a real browser: it draws, its numbers are the stream's, it comes back, and it does not grow."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from streamkernel import AutoKernelRegressor, live
from streamkernel.live import record, view

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium or chromedriver is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1200,1000",
)
PATIENCE = 20.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def wait_for(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.03)


def text(browser: Any, identifier: str) -> str:
    return str(browser.execute_script(f"return document.getElementById('{identifier}').textContent"))


def rows_shown(browser: Any) -> int:
    return int(text(browser, "n-rows").replace("\u202f", ""))


def ink(browser: Any, chart: str, color: str) -> int:
    """How many pixels of a chart have about the color of a name."""
    code = """
    const c = document.getElementById(arguments[0]), g = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    const hex = colors[arguments[1]], want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    let found = 0;
    for (let i = 0; i < g.length; i += 4)
      found += g[i + 3] > 200 && want.every((w, k) => Math.abs(w - g[i + k]) < 24);
    return found;
    """
    return int(browser.execute_script(code, chart, color))


def open_page(browser: Any, opened: live.View) -> None:
    browser.get(opened.url)
    wait_for(lambda: browser.execute_script("return connected && run !== null"))


def complaints(browser: Any) -> list[str]:
    """What the browser said of the page, but for servers that are gone and for reading pixels back."""
    said = [entry["message"] for entry in browser.get_log("browser")]
    return [line for line in said if "ERR_CONNECTION" not in line and "getImageData" not in line]


def observe(opened: live.View, first: int, count: int) -> None:
    for t in range(first, first + count):
        y = math.sin(t / 20)
        opened.observe(y, y + 0.1, y - 0.2, y + (0.3 if t % 10 else -0.1), 1e-5)


def test_the_numbers_and_charts_are_the_streams(browser: Any) -> None:
    generator, model = np.random.default_rng(1), AutoKernelRegressor("low")
    samples = [({"a": a, "b": b}, 2 * math.sin(a) + 0.1 * b) for a, b in generator.normal(size=(700, 2)).tolist()]
    rows = [(x, y if t < 400 else -3 * y) for t, (x, y) in enumerate(samples)]
    with live.watch(model, rows, title="two waves") as watched:
        open_page(browser, watched.view)
        assert text(browser, "status-text") == "waiting for the first row"
        predictions = list(watched)
        wait_for(lambda: text(browser, "status-text") == "the stream has ended")
        errors = np.array([y for _, y in rows[-200:]]) - predictions[-200:]
        numbers = watched.view.numbers()
        assert rows_shown(browser) == 700 and text(browser, "title") == "two waves"
        assert browser.execute_script("return numbers.rmse") == pytest.approx(math.sqrt(np.mean(errors**2)), rel=1e-12)
        assert float(text(browser, "n-rmse")) == pytest.approx(numbers["rmse"], rel=1e-3)
        assert text(browser, "n-coverage") == f"{100 * numbers['coverage']:.1f} %"
        assert int(text(browser, "n-size")) == model.size
        assert text(browser, "n-drift") == str(len(model.drifts)) != "0"
        assert browser.execute_script("return data.rows[1]") == pytest.approx(predictions)
        assert browser.execute_script("return data.rows[0]") == [y for _, y in rows]
        assert f"drift at row {model.drifts[-1]}" in text(browser, "marks")
        assert text(browser, "relevance").startswith("a")
        wait_for(lambda: not browser.execute_script("return dirty"))
        for chart in ("stream", "error", "coverage", "size"):
            assert ink(browser, chart, "model") > 100, chart
        for chart in ("error", "coverage", "size"):
            assert ink(browser, chart, "drift") > 50, chart
        assert ink(browser, "stream", "target") > 100
        watched.view.observe(1.0, 1.0)  # not shown any more, but no harm
    assert complaints(browser) == []


def test_it_is_used_by_keys_alone(browser: Any) -> None:
    with live.View(title="keys") as opened:
        observe(opened, 0, 1000)
        open_page(browser, opened)
        body = browser.find_element("tag name", "body")
        wait_for(lambda: rows_shown(browser) == 1000)
        body.send_keys(" ")
        assert text(browser, "pause") == "Go on" and "paused" in text(browser, "status-text")
        observe(opened, 1000, 200)
        wait_for(lambda: rows_shown(browser) == 1200)
        assert browser.execute_script("return frozen.rows[0].length") == 1000
        body.send_keys("+")
        assert browser.execute_script("return shown") == 150
        body.send_keys("\ue012")  # left
        assert browser.execute_script("return offset") == 38
        body.send_keys("0")
        assert browser.execute_script("return [frozen, offset]") == [None, 0]
        body.send_keys("t")
        assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
        wait_for(lambda: not browser.execute_script("return dirty"))
        assert ink(browser, "stream", "missed") > 10
        reached = set()
        for _ in range(12):
            browser.switch_to.active_element.send_keys("\ue004")  # tab
            reached.add(browser.switch_to.active_element.get_attribute("id"))
        assert {"pause", "last", "closer", "wider", "follow", "theme", "stream", "error"} <= reached
    assert complaints(browser) == []


def test_it_comes_back_when_the_server_does(browser: Any) -> None:
    opened = live.View(title="first")
    observe(opened, 0, 50)
    open_page(browser, opened)
    wait_for(lambda: rows_shown(browser) == 50)
    opened._server.close()  # without a word
    wait_for(lambda: "no connection" in text(browser, "status-text"))
    with live.View(title="second", port=opened._server.port) as again:
        observe(again, 0, 20)
        wait_for(lambda: text(browser, "title") == "second" and rows_shown(browser) == 20)
        assert browser.execute_script("return data.rows[0].length") == 20


def test_a_hundred_thousand_rows_do_not_grow_the_page(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "PACE", 0.02)
    monkeypatch.setattr(view, "REST", 1.0)

    def heap() -> int:
        browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(int(metric["value"]) for metric in metrics if metric["name"] == "JSHeapUsedSize")

    with live.View(title="long") as opened:
        open_page(browser, opened)
        browser.execute_cdp_cmd("Performance.enable", {})
        used = []
        for first in range(0, 100_000, 1000):
            observe(opened, first, 1000)
            wait_for(lambda done=first + 1000: rows_shown(browser) == done)
            if first in (19_000, 99_000):
                used.append(heap())
        kept = 80_000 * 4 * 8  # bytes by which a page that keeps the rows in between grows
        assert used[1] - used[0] < kept / 5  # what the browser compiled meanwhile is some of it
        lengths = browser.execute_script("return [data.rows[0].length, data.bins.length]")
        assert lengths[0] == record.ROWS and lengths[1] <= record.BINS
        assert browser.execute_script("return data.bins.reduce((sum, bin) => sum + bin[0], 0)") == 100_000
    assert complaints(browser) == []


def test_it_fits_a_phone(browser: Any) -> None:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        with live.View(title="a rather long name of a stream, with units") as opened:
            observe(opened, 0, 300)
            open_page(browser, opened)
            wait_for(lambda: rows_shown(browser) == 300)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
            wait_for(lambda: ink(browser, "stream", "model") > 100)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_saved_page_opens_without_a_server(browser: Any, tmp_path: Any) -> None:
    with live.View(title="kept") as opened:
        observe(opened, 0, 400)
        opened.foresee([0.0, 0.1], [-1.0, -1.0], [1.0, 1.1])
        opened.save(tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    wait_for(lambda: rows_shown(browser) == 400)
    assert text(browser, "status-text") == "the stream has ended"
    wait_for(lambda: ink(browser, "stream", "model") > 100)
    assert complaints(browser) == []
