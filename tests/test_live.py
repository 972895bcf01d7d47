"""The live view without a browser: what it remembers, what it sends, and to whom."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import socket
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from river import compose, conf, datasets, forest, linear_model, preprocessing, time_series

from streamkernel import (
    KRLS,
    AdaptiveConformal,
    AutoKernelForecaster,
    AutoKernelRegressor,
    HeteroscedasticKRLS,
    KernelMixture,
    LSSVMClassifier,
    live,
)
from streamkernel.live import facts, record, server, view


@pytest.fixture
def shown() -> Iterator[live.View]:
    with live.View() as opened:
        yield opened


def state_of(opened: live.View) -> Any:
    with urllib.request.urlopen(opened.url + "state") as answer:
        return json.load(answer)


def ask(
    opened: live.View, path: str = "/", method: str = "GET", **headers: str
) -> tuple[int, bytes, http.client.HTTPMessage]:
    host = f"127.0.0.1:{opened.url.split(':')[2].strip('/')}"
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in ({"Host": host} | headers).items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    with contextlib.closing(connection):
        return answer.status, answer.read(), answer.headers


def events(connection: Any) -> Iterator[Any]:
    for line in connection:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def drifting(count: int) -> Iterator[tuple[dict[str, float], float]]:
    generator = np.random.default_rng(1)
    for t in range(count):
        a, b = generator.normal(size=2).tolist()
        yield {"a": a, "b": b}, (1 if t < 400 else -3) * math.sin(a) + 0.1 * float(generator.normal())


# What is remembered ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 200, 513, 7001])
def test_bins_are_sums_over_the_whole_stream(count: int) -> None:
    generator = np.random.default_rng(count)
    rows = generator.normal(size=(count, 2)).round(6)
    kept = record.Record()
    for t, (y, prediction) in enumerate(rows.tolist()):
        kept.append(record.Row(y, prediction, prediction - 1.0, prediction + 1.0), size=t)
    assert len(kept.bins) <= record.BINS and sum(one.rows for one in kept.bins) == count == kept.count
    assert all(one.rows == kept.span for one in kept.bins[:-1])
    edges = np.cumsum([0, *(one.rows for one in kept.bins)])
    errors, steps = rows[:, 0] - rows[:, 1], np.concatenate([[0.0], np.diff(rows[:, 0])])
    for one, first, stop in zip(kept.bins, edges, edges[1:], strict=False):
        assert one.squares == pytest.approx((errors[first:stop] ** 2).sum())
        assert one.baseline == pytest.approx((steps[first:stop] ** 2).sum())
        assert one.inside == (abs(errors[first:stop]) <= 1.0).sum() and one.size == stop - 1
    newest = kept.numbers()
    assert newest["rmse"] == pytest.approx(math.sqrt(np.mean(errors[-200:] ** 2)))
    assert newest["coverage"] == pytest.approx(np.mean(abs(errors[-200:]) <= 1.0))
    assert len(kept.rows_since(0)) == min(count, record.ROWS)


def test_idle_is_the_time_since_the_newest_row(shown: live.View) -> None:
    began = time.perf_counter()
    shown.observe(1.0, 2.0)
    first, second = shown.numbers()["idle"], shown.numbers()["idle"]
    assert 0.0 <= first <= second <= time.perf_counter() - began
    shown.end()
    assert shown.numbers()["idle"] == 0.0


def test_numbers_that_are_not_finite_are_null_and_count_nowhere(shown: live.View) -> None:
    shown.observe(1.0, 2.0, 0.0, 3.0)
    shown.observe(math.nan, math.inf, -math.inf, math.inf)
    shown.observe(2.0, math.nan)
    shown.observe(3.0, 3.5, 3.0, 4.0)
    state = state_of(shown)
    assert state["rows"] == [
        [1.0, None, 2.0, 3.0],
        [2.0, None, None, 3.5],
        [0.0, None, None, 3.0],
        [3.0, None, None, 4.0],
    ]
    assert state["numbers"]["rmse"] == pytest.approx(math.sqrt((1.0 + 0.25) / 2))
    assert state["numbers"]["naive"] == pytest.approx(1.0)
    assert sum(one[5] for one in state["bins"]) == 2


# Models ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "has_band"),
    [
        (KRLS(ridge=0.1), True),
        (HeteroscedasticKRLS(ridge=0.1), True),
        (preprocessing.StandardScaler() | KRLS(ridge=0.1, max_size=20), True),
        (AdaptiveConformal(KRLS(ridge=0.1)), True),
        (KernelMixture(), True),
        (AutoKernelRegressor("low"), True),
        (preprocessing.StandardScaler() | linear_model.LinearRegression(), False),
        (forest.ARFRegressor(n_models=2, seed=1), False),
    ],
    ids=lambda value: type(facts.innermost(value)).__name__ if not isinstance(value, bool) else "",
)
def test_what_is_watched_is_predict_then_learn(model: Any, has_band: bool) -> None:
    twin = model.clone()
    rows = list(drifting(120))
    expected, bands = [], []
    for x, y in rows:
        expected.append(twin.predict_one(x))
        bands.append(twin.predict_one(x, with_interval=True) if has_band else conf.Interval(math.nan, math.nan))
        twin.learn_one(x, y)
    with live.watch(model, rows) as watched:
        assert list(watched) == pytest.approx(expected, rel=1e-9)
        state = state_of(watched.view)
    assert state["rows"][0] == [y for _, y in rows]
    lower = [math.nan if value is None else value for value in state["rows"][2]]
    assert lower == pytest.approx([band.lower for band in bands], rel=1e-6, nan_ok=True)
    assert state["numbers"]["limit"] == facts.limit(facts.innermost(model))
    assert state["numbers"]["size"] == getattr(facts.innermost(model), "size", None)


def test_drifts_and_tunings_are_marked_where_they_were() -> None:
    model = AutoKernelRegressor("low")
    with live.watch(model, drifting(600)) as watched:
        list(watched)
        state = state_of(watched.view)
    assert model.drifts and state["marks"] == {"drift": model.drifts, "tuning": model.tunings}
    assert dict(state["weights"]) == pytest.approx(facts.largest(model.weights))
    assert [name for name, _ in state["relevance"]] == ["a", "b"]
    assert state["ended"]


def test_a_model_that_learned_before_is_marked_by_rows_of_the_view() -> None:
    model, rows = AutoKernelRegressor("low"), list(drifting(450))
    for x, y in rows[:300]:
        model.learn_one(x, y)
    with live.watch(model, rows[300:]) as watched:
        list(watched)
    marks = json.loads(watched.view._state())["marks"]
    assert marks["drift"] == [drift - 300 for drift in model.drifts]


@pytest.mark.parametrize("model", [AutoKernelForecaster(), time_series.HoltWinters(alpha=0.3)])
def test_forecasters_are_seen_one_step_ahead(model: Any) -> None:
    values = [y for _, y in datasets.AirlinePassengers()][:60]
    twin = model.clone()
    with live.watch(model, values) as watched:
        predictions = list(watched)
    assert math.isnan(predictions[0])
    for t, y in enumerate(values):
        if not math.isnan(predictions[t]):
            assert predictions[t] == pytest.approx(twin.forecast(1)[0])
        twin.learn_one(y)
    assert sum(math.isnan(prediction) for prediction in predictions) < 5


@pytest.mark.parametrize("model", [LSSVMClassifier(), preprocessing.StandardScaler(), None])
def test_what_has_no_prediction_to_show_is_refused(model: Any) -> None:
    with pytest.raises(TypeError, match="model must be a regressor or a forecaster"):
        next(live.watch(model, [({"a": 1.0}, 1.0)]))


def test_a_pipeline_with_a_union_is_watched() -> None:
    model = compose.Select("a") + compose.Select("b") | KRLS(ridge=0.1)
    assert len(list(live.watch(model, drifting(20)))) == 20


def test_an_error_in_the_stream_ends_the_view_and_is_raised() -> None:
    watched = live.watch(KRLS(), [({"a": 1.0}, 1.0), ({"a": "word"}, 1.0)])
    with pytest.raises((TypeError, ValueError)):
        list(watched)
    with pytest.raises(OSError):
        state_of(watched.view)


# The server -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:80", ""])
def test_a_foreign_host_is_refused(shown: live.View, host: str) -> None:
    for path in ("/", "/state", "/events"):
        status, body, _ = ask(shown, path, Host=host)
        assert status == 403 and b"rows" not in body


def test_localhost_is_this_machine(shown: live.View) -> None:
    assert ask(shown, Host=f"LocalHost:{shown.url.split(':')[2].strip('/')}")[0] == 200


def test_other_origins_are_refused(shown: live.View) -> None:
    assert ask(shown, "/state", Origin="http://evil.example")[0] == 403
    assert ask(shown, "/state", Origin="null")[0] == 403
    assert ask(shown, "/state", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(shown, "/", Sec_Fetch_Site="cross-site")[0] == 200  # a link may open the page
    _, _, headers = ask(shown, "/state", Origin=shown.url.strip("/"))
    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/page/page.js", "/%2e%2e/view.py", "/state?x", "*"])
def test_there_is_nothing_outside(shown: live.View, path: str) -> None:
    assert ask(shown, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_is_written(shown: live.View, method: str) -> None:
    assert ask(shown, "/", method)[0] == 501


def test_it_listens_on_the_loopback_address_alone(shown: live.View) -> None:
    assert shown._server._http.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_named(shown: live.View) -> None:
    with pytest.raises(OSError, match=rf"port {shown._server.port} of 127.0.0.1"):
        live.View(port=shown._server.port)
    with pytest.raises(ValueError, match="port"):
        live.View(port=70000)


def test_the_page_needs_nothing_from_elsewhere(shown: live.View) -> None:
    _, body, _ = ask(shown)
    text = body.decode().replace("http://www.w3.org/2000/svg", "")
    assert "http" not in text and "/*script*/" not in text and "@import" not in text


def test_ten_pages_get_every_row(shown: live.View) -> None:
    pages = [events(urllib.request.urlopen(shown.url + "events", timeout=10)) for _ in range(10)]
    counts = [next(page)["numbers"]["rows"] for page in pages]
    assert counts == [0] * 10
    for t in range(500):
        shown.observe(float(t), t + 0.5)
    for page in pages:
        got: list[float] = []
        for message in page:
            assert message["first"] <= len(got)
            got += message["rows"][0][len(got) - message["first"] :]
            if message["numbers"]["rows"] == 500:
                break
        assert got == [float(t) for t in range(500)]
        page.close()


def test_more_pages_than_are_served(shown: live.View) -> None:
    pages = [urllib.request.urlopen(shown.url + "events", timeout=10) for _ in range(server.MOST_PAGES)]
    assert {page.headers["Content-Type"] for page in pages} == {"text/event-stream"}
    assert ask(shown, "/events")[0] == 503
    for page in pages:
        page.close()


def test_a_page_that_never_reads_is_dropped(shown: live.View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "PACE", 0.001)
    monkeypatch.setattr(server, "MOST_WAITING", 3)
    port = shown._server.port
    with socket.create_connection(("127.0.0.1", port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        deaf.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        deadline = time.monotonic() + 20.0
        while not shown.pages:
            time.sleep(0.01)
        while shown.pages and time.monotonic() < deadline:
            for t in range(1000):
                shown.observe(t + 0.123456789, t + 0.987654321, t - 0.123456789, t + 1.987654321)
            time.sleep(0.005)
        assert not shown.pages
    assert shown.numbers()["rows"] == shown._record.count


def test_pages_are_told_the_end_and_a_stream_that_begins_anew_is_another(shown: live.View) -> None:
    first = events(urllib.request.urlopen(shown.url + "events", timeout=10))
    run = next(first)["run"]
    shown.observe(1.0, 1.0)
    shown.end()
    assert any(message["ended"] for message in first)
    port = shown._server.port
    shown.close()
    with live.View(port=port) as again:
        assert state_of(again)["run"] != run


def test_a_connection_that_outlives_the_server_is_not_answered(shown: live.View) -> None:
    """Browsers open connections ahead of time; one that the old server answered would keep a page from the new one."""
    port = shown._server.port
    with socket.create_connection(("127.0.0.1", port), timeout=10) as early:
        ask(shown)  # by now the early one is accepted too
        shown.close()
        early.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert early.recv(100) == b""


def test_what_is_forecast_is_shown(shown: live.View) -> None:
    shown.foresee([1.0, 2.0], [0.0, 1.0], [2.0, math.inf])
    assert state_of(shown)["ahead"] == [[None, None], [1.0, 2.0], [0.0, 1.0], [2.0, None]]


def test_the_saved_page_holds_the_state(tmp_path: Any) -> None:
    path = tmp_path / "page.html"
    with live.watch(KRLS(ridge=0.1), drifting(50), title="</script><b>") as watched:
        list(watched)
        watched.save(path)
    text = path.read_text()
    embedded = text.split('id="state">')[1].split("</script>")[0]
    assert json.loads(embedded)["title"] == "</script><b>" and json.loads(embedded)["numbers"]["rows"] == 50


def test_the_saved_page_has_the_weights_of_now(tmp_path: Any) -> None:
    model = KernelMixture()
    with live.watch(model, drifting(60)) as watched:
        list(watched)
        first = facts.weights(model)
        for x, y in drifting(60):
            model.learn_one(x, -5.0 * y)  # which the page has not seen
        watched.save(tmp_path / "page.html")
    embedded = json.loads((tmp_path / "page.html").read_text().split('id="state">')[1].split("</script>")[0])
    now = facts.weights(model)
    assert dict(embedded["weights"]) == pytest.approx(now, rel=1e-3) and now != pytest.approx(first, rel=1e-2)


def test_memory_is_bounded() -> None:
    with live.View() as opened:
        for t in range(30_000):
            opened.observe(float(t), 0.0, -1.0, 1.0, 1e-6)
        kept = opened._record
        assert len(kept._rows) == record.ROWS and len(kept._steps) == record.STEPS and len(kept.bins) <= record.BINS
        assert len(opened._state()) < 1_000_000
