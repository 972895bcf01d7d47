"""Published tables: the search order, the formats, and the download path against a server on this machine."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import http.server
import inspect
import io
import os
import pathlib
import pickle
import re
import socket
import sys
import threading

import numpy as np
import pytest
from river.datasets import base
from scipy.io import savemat

from streamkernel import datasets
from streamkernel.datasets import catalog, fetch, files, parse, raetsch
from streamkernel.datasets.fetch import Original, Packaged

DATA = os.environ.get("STREAMKERNEL_DATA")
SIZES = {  # samples and features
    datasets.Abalone: (4177, 10),
    datasets.AutoMPG: (392, 7),
    datasets.AutoPrice: (159, 15),
    datasets.BostonHousing: (506, 13),
    datasets.CompActiv: (8192, 12),
    datasets.Concrete: (1030, 8),
    datasets.CPUPerformance: (209, 6),
    datasets.Digits: (1797, 64),
    datasets.GermanCredit: (1000, 61),
    datasets.LiverDisorders: (345, 6),
    datasets.MG: (1385, 6),
    datasets.PimaDiabetes: (768, 8),
    datasets.Ripley: (1250, 2),
    datasets.Servo: (167, 12),
    datasets.SpaceGA: (3107, 6),
    datasets.WPBC: (194, 32),
    datasets.WineRed: (1599, 11),
    datasets.WineWhite: (4898, 11),
}
TABLES = list(SIZES)
RED = b"2,red,10\n3,blue,20\n?,red,1\n"
X_RED, Y_RED = [[2.0, 0.0, 1.0], [3.0, 1.0, 0.0]], [10.0, 20.0]


def need(name):
    """The data folder, if it holds the file; otherwise the test is skipped."""
    if not DATA:
        pytest.skip("STREAMKERNEL_DATA is not set")
    if not pathlib.Path(DATA, name).is_file():
        pytest.skip(f"{name} is not in STREAMKERNEL_DATA ({DATA})")
    return pathlib.Path(DATA)


# A small table of our own, published by a server of our own


class Handler(http.server.BaseHTTPRequestHandler):
    content: dict[str, bytes]
    hits: list[str]

    def do_GET(self):
        self.hits.append(self.path)
        data = self.content.get(self.path.removeprefix("/short").removeprefix("/endless"))
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        if not self.path.startswith("/endless"):
            self.send_header("Content-Length", str(len(data) + (1000 if self.path.startswith("/short") else 0)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    handler = type("Local", (Handler,), {"content": {"/toy.data": RED}, "hits": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.handler, running.url = handler, f"http://127.0.0.1:{running.server_port}"
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty data folder, an empty cache, and no settings from outside."""
    monkeypatch.setenv("STREAMKERNEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STREAMKERNEL_DATA", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / "data").mkdir()
    return tmp_path


@pytest.fixture
def toy(server, places, monkeypatch):
    """Register the table `toy` and return its class; `toy.publish(...)` changes its entry."""
    X, y = np.array(X_RED), np.array(Y_RED)
    entry = catalog.Entry(
        columns=("size", "color"),
        target="price",
        n_samples=2,
        originals=(Original(f"{server.url}/toy.data", "toy.data", fetch.sha256(RED)),),
        parse=parse.Delimited((0, 1, 2)),
        digest=files.digest(X, y),
        levels={"color": ("blue", "red")},
    )
    monkeypatch.setitem(catalog.TABLES, "toy", entry)

    class Toy(files.Table):
        """A toy."""

        _name = "toy"

        @staticmethod
        def publish(**changes):
            monkeypatch.setitem(catalog.TABLES, "toy", dataclasses.replace(catalog.TABLES["toy"], **changes))

        @staticmethod
        def address(path, **changes):
            Toy.publish(originals=(Original(server.url + path, "toy.data", **changes),))

    return Toy


def cached(places):
    return sorted(path.name for path in (places / "cache").glob("*")) if (places / "cache").exists() else []


def test_download_fills_the_cache_once(toy, server, places, capfd):
    reports = []
    dataset = toy(progress=lambda done, total: reports.append((done, total)))
    assert server.handler.hits == []  # nothing is read before it is asked for
    assert repr(dataset)
    X, y = dataset.arrays()
    assert X.tolist() == X_RED and y.tolist() == Y_RED
    assert dataset.features == ("size", "color_blue", "color_red")
    assert next(iter(dataset)) == ({"size": 2.0, "color_blue": 0.0, "color_red": 1.0}, 10.0)
    assert toy().arrays()[1].tolist() == Y_RED
    assert server.handler.hits == ["/toy.data"] and cached(places) == ["toy.data"]
    assert reports[0] == (0, len(RED)) and reports[-1] == (len(RED), len(RED))
    assert capfd.readouterr() == ("", "")


def test_arrays_are_copies(toy):
    dataset = toy()
    dataset.arrays()[0][:] = 0
    assert dataset.arrays()[0].tolist() == X_RED


def test_wrong_checksum(toy, server, places):
    toy.address("/toy.data", sha256="0" * 64)
    with pytest.raises(datasets.DatasetError, match=rf"{server.url}/toy.data: checksum .* is not the expected 0000"):
        toy().arrays()
    assert cached(places) == []


def test_an_error_without_words_is_named(toy, server, places, monkeypatch):
    def silent(*arguments, **options):
        raise TimeoutError

    monkeypatch.setattr(fetch.urllib.request, "urlopen", silent)
    toy.address("/toy.data")
    with pytest.raises(datasets.DatasetError, match=r"the transfer broke after 0 bytes \(TimeoutError\)"):
        toy().arrays()


@pytest.mark.parametrize("known", [True, False])
def test_broken_transfer_leaves_nothing_and_the_next_try_succeeds(toy, server, places, known):
    toy.address("/short/toy.data", sha256=fetch.sha256(RED) if known else None)
    with pytest.raises(datasets.DatasetError, match=rf"the transfer broke after {len(RED)}"):
        toy().arrays()
    assert cached(places) == []
    toy.address("/toy.data")
    assert toy().arrays()[1].tolist() == Y_RED


def test_a_server_that_gives_no_length(toy):
    toy.address("/endless/toy.data")
    assert toy().arrays()[1].tolist() == Y_RED


def test_not_found_names_address_and_folders(toy, server, places):
    toy.address("/gone.data")
    with pytest.raises(datasets.DatasetError) as caught:
        toy(folder=places / "data").arrays()
    message = str(caught.value)
    assert f"{server.url}/gone.data: the server answered 404" in message
    assert str(places / "data") in message and str(places / "cache") in message
    assert "\n" not in message and "STREAMKERNEL_DATA" in message


def test_refused_connection(toy, places):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/toy.data"  # bound, but nobody listens
        toy.publish(originals=(Original(address, "toy.data"),))
        with pytest.raises(datasets.DatasetError) as caught:
            toy().arrays()
    assert f"{address}: no connection" in str(caught.value) and "\n" not in str(caught.value)


def test_unknown_host(toy, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    toy.publish(originals=(Original("http://host.invalid/toy.data", "toy.data"),))
    with pytest.raises(datasets.DatasetError, match=r"http://host.invalid/toy.data: no connection"):
        toy().arrays()


def test_a_silent_server_times_out(toy, monkeypatch):
    monkeypatch.setattr(fetch, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        toy.publish(originals=(Original(f"http://127.0.0.1:{silent.getsockname()[1]}/toy.data", "toy.data"),))
        with pytest.raises(datasets.DatasetError, match="timed out"):
            toy().arrays()


def test_only_http(toy, places):
    toy.publish(originals=(Original("file:///etc/hostname", "toy.data"),))
    with pytest.raises(ValueError, match="url must begin with http"):
        toy().arrays()


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<html>please log in</html>", "not the toy data"),
        (b"2,red,10\n", "its shape is"),
        (b"2,red,10\n3,blue,21\n", "its content has checksum"),
        (b"2,red,10\n3,green,20\n", "unknown values .'green'"),
        (b"2,red,10\n3,blue,dear\n", "could not convert"),
        (b"\x1f\x8bnot gzip", "not the toy data"),
        (b"\xff\xfe", "not the toy data"),
    ],
)
def test_wrong_content_is_refused_and_forgotten(toy, server, places, page, reason):
    toy.address("/toy.data")
    server.handler.content["/toy.data"] = page
    with pytest.raises(datasets.DatasetError, match=reason):
        toy().arrays()
    assert cached(places) == []
    server.handler.content["/toy.data"] = RED
    assert toy().arrays()[1].tolist() == Y_RED


def test_a_damaged_cache_is_downloaded_anew(toy, server, places):
    toy().arrays()
    (places / "cache" / "toy.data").write_bytes(b"damaged")
    assert toy().arrays()[1].tolist() == Y_RED
    assert (places / "cache" / "toy.data").read_bytes() == RED and len(server.handler.hits) == 2


def test_a_cache_that_cannot_be_written(toy, places):
    (places / "cache").write_text("a file, not a folder")
    assert toy().arrays()[1].tolist() == Y_RED


def test_many_at_once(toy, places):
    results, errors = [], []

    def work():
        try:
            results.append(toy().arrays()[1].tolist())
        except Exception as error:  # a thread's error would be lost
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and results == [Y_RED] * 8
    assert cached(places) == ["toy.data"]  # and no partial file


def test_an_interrupted_download_leaves_no_partial_file(toy, places):
    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        toy(progress=interrupt).arrays()
    assert cached(places) == []


def test_search_order(toy, server, places, monkeypatch):
    """Each place that has the table is preferred to the ones after it: they are added from the last to the first."""
    used = []

    def encode(entry, rows, original=files._encode):
        used.append(rows[0][0])
        return original(entry, rows)

    monkeypatch.setattr(files, "_encode", encode)
    toy.publish(digest=None, packaged=((Packaged("toy_package", "toy.data"), parse.Delimited((0, 1, 2))),))
    rows = "{},red,10\n3,blue,20\n"

    def first():
        return toy(folder=places / "data").arrays()[0][0, 0]

    assert first() == 2  # the address
    (places / "cache" / "toy.data").write_bytes(RED)
    assert first() == 2 and len(server.handler.hits) == 1  # the cache
    package = places / "site" / "toy_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('the package must not be imported')")
    (package / "toy.data").write_text(rows.format(40))
    monkeypatch.syspath_prepend(str(places / "site"))
    assert first() == 40
    (places / "env").mkdir()
    monkeypatch.setenv("STREAMKERNEL_DATA", str(places / "env"))
    assert first() == 40
    (places / "env" / "toy.csv").write_text("color,price,size\nred,10,50\nblue,20,3\n")  # by name, in any order
    assert first() == 50
    toy.publish(originals=(Original(f"{server.url}/toy.data", "toy.data"),))
    (places / "data" / "toy.data").write_text(rows.format(60))  # the original file, by its own name
    assert first() == 60
    (places / "data" / "toy.csv").write_text("size,color,price\n70,red,10\n3,blue,20\n")
    assert first() == 70
    assert used == ["2", "2", "40", "40", "50", "60", "70"]
    assert "toy_package" not in sys.modules


def test_a_folder_with_a_wrong_file_is_an_error(toy, places):
    (places / "data" / "toy.csv").write_text("size,price\n1,2\n")
    with pytest.raises(datasets.DatasetError, match=r"toy\.csv: not the toy data, no column color"):
        toy(folder=places / "data").arrays()
    (places / "data" / "toy.csv").unlink()
    (places / "data" / "toy.data").write_bytes(b"other")
    with pytest.raises(datasets.DatasetError, match=r"toy\.data: checksum"):
        toy(folder=places / "data").arrays()


def test_a_bar_on_a_terminal_only(toy, monkeypatch):
    pytest.importorskip("tqdm")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    toy().arrays()
    assert "toy.data" in terminal.getvalue()


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("STREAMKERNEL_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.cache_folder() == tmp_path / "streamkernel"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert datasets.cache_folder() == tmp_path / "local" / "streamkernel"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert datasets.cache_folder().parts[-3:] == ("Library", "Caches", "streamkernel")
    monkeypatch.setenv("STREAMKERNEL_CACHE", str(tmp_path / "own"))
    assert datasets.cache_folder() == tmp_path / "own"


# Formats


def test_formats():
    assert parse.libsvm([b"1.5 1:2 3:4\n-1 2:7\n"]) == [["2", "0", "4", "1.5"], ["0", "7", "0", "-1"]]
    document = b"% note\n@relation r\n@attribute a {'x y', z}\n@DATA\n'x y',1,good\nz,2,bad\n"
    assert parse.arff([document]) == [["x y", "1", "good"], ["z", "2", "bad"]]
    mpg = b'18.0   8   307.0  130.0  3504.  12.0  70  1\t"a car"\n25.0 4 98.0 ? 2046. 19.0 71 1\t"no power"\n'
    mpg_parse = catalog.TABLES["auto-mpg"].parse
    assert mpg_parse([mpg]) == [["8", "307.0", "130.0", "3504.", "12.0", "70", "1", "18.0"]]
    assert mpg_parse([gzip.compress(mpg)]) == mpg_parse([mpg])
    assert parse.ripley([b"xs ys yc\n 1 2 0\n", b"xs ys yc\n 3 4 1\n"]) == [["1", "2", "0"], ["3", "4", "1"]]
    buffer = io.BytesIO()
    np.save(buffer, np.array([[86], [141]]))
    assert parse.npy_series([buffer.getvalue()]) == [["86"], ["141"]]


def test_every_table_has_an_address_a_name_and_a_check():
    seen = [original.name for entry in catalog.TABLES.values() for original in entry.originals]
    assert len(set(seen)) == len(seen)  # they share one cache
    for entry in catalog.TABLES.values():
        assert all(original.url.startswith("http") for original in entry.originals)
        assert (entry.digest is None) != (entry.means is None)
    assert set(catalog.TABLES) == {table._name for table in TABLES} | {"santafe"}


def originals_of(name, rows):
    """The rows of our CSV written in the format of the publisher."""
    quoted = lambda row: ",".join(f"'{cell}'" if " " in cell or "<" in cell else cell for cell in row)  # noqa: E731
    pick = {
        "auto-mpg": lambda r: f'{r[7]}  {"  ".join(r[:7])}\t"a car"',
        "auto-price": lambda r: ",".join([*r[:2], *"abcdefg", *r[2:7], "x", "y", r[7], "z", *r[8:]]),
        "cpu-performance": lambda r: ",".join(["vendor", "model", *r, "0"]),
        "german-credit": quoted,
        "pima-diabetes": quoted,
        "winequality-red": ";".join,
        "winequality-white": ";".join,
        "wpbc": lambda r: ",".join(["id", "N", r[-1], *r[:-1]]),
        "ripley": lambda r: f" {r[0]} {r[1]} {r[3]}",
        "santafe": lambda r: r[2],
    }
    svm = lambda r: f"{r[-1]} " + " ".join(f"{i}:{float(v):.8g}" for i, v in enumerate(r[:-1], 1))  # noqa: E731
    pick |= dict.fromkeys(("cpu-small", "mg", "space-ga"), svm)
    lines = [pick.get(name, ",".join)(row) for row in rows]
    if name == "santafe":
        buffer = io.BytesIO()
        np.save(buffer, np.array(lines, dtype=np.int64))
        return [buffer.getvalue()]
    heads = {"german-credit": "@data\n", "pima-diabetes": "@data\n", "concrete": "h\n", "ripley": "xs ys yc\n"}
    head = heads.get(name, "h\n" if name.startswith("wine") else "")
    parts = [lines[:250], lines[250:]] if name == "ripley" else [lines]
    return [(head + "\n".join(part) + "\n").encode() for part in parts]


@pytest.mark.parametrize("name", sorted(set(catalog.TABLES) - {"digits"}))
def test_the_publishers_format_gives_the_same_arrays(name):
    folder = need(f"{name}.csv")
    with open(folder / f"{name}.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    X, y = files.load(name, folder)
    same_X, same_y = files._finish(name, "text", lambda: catalog.TABLES[name].parse(originals_of(name, rows)))
    assert same_X == pytest.approx(X, rel=1e-6)
    assert np.array_equal(y, same_y)


# The tables themselves


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_a_river_data_set_before_it_is_read(table):
    dataset = table()
    assert isinstance(dataset, base.Dataset) and table.__name__ in repr(dataset)
    assert len(dataset.features) == dataset.n_features == len(set(dataset.features))
    assert (dataset.n_samples, dataset.n_features) == SIZES[table]
    with pytest.raises(ValueError, match="folder must be an existing folder"):
        table(folder="nowhere-to-be-found")


@pytest.mark.parametrize("table", TABLES)
def test_a_table_documents_itself(table):
    text = inspect.getdoc(table)
    assert re.findall(r"^(\w+)\n-+$", text, re.MULTILINE) == ["Parameters", "Examples", "References"]
    assert f"datasets.{table.__name__}(" in text and "[^1]: " in text
    shown = repr(table())  # river's: the description, the facts, the parameters
    assert shown.startswith(text.splitlines()[0]) and "Where to look for the data first." in shown
    assert repr(pickle.loads(pickle.dumps(table()))) == shown


@pytest.mark.parametrize("table", TABLES)
def test_table_arrays_and_iteration(table):
    if table is datasets.Digits:
        pytest.importorskip("sklearn")
    else:
        need(f"{table._name}.csv")
    dataset = table()
    X, y = dataset.arrays()
    assert X.dtype == np.float64 and X.shape == (dataset.n_samples, dataset.n_features) and np.isfinite(X).all()
    assert y.dtype == (np.float64 if dataset.task == base.REG else int if table is datasets.Digits else bool)
    rows = list(dataset.take(50))
    assert np.array_equal([list(x.values()) for x, _ in rows], X[:50])
    assert [target for _, target in rows] == y[:50].tolist()
    assert list(dataset.take(50)) == rows
    assert len(list(dataset)) == dataset.n_samples


def test_known_facts_of_the_tables():
    need("boston.csv")
    X, y = datasets.BostonHousing().arrays()
    assert y.mean() == pytest.approx(22.5328, abs=1e-4) and X[0, 0] == 0.00632
    X, y = datasets.Abalone().arrays()
    assert X[:, :3].sum(axis=0).tolist() == [1307, 1342, 1528] and y.max() == 29
    assert datasets.PimaDiabetes().arrays()[1].sum() == 268
    assert datasets.GermanCredit().arrays()[1].sum() == 300
    assert datasets.LiverDisorders().arrays()[1].sum() == 200
    train, test = (datasets.Ripley(part).arrays()[1] for part in ("train", "test"))
    assert (len(train), train.sum(), len(test), test.sum()) == (250, 125, 1000, 500)
    assert datasets.Digits().n_classes == 10


def test_santa_fe():
    need("santafe.csv")
    laser = datasets.SantaFeLaser(part="all")
    series = laser.series()
    assert len(series) == 10093 and series[:3].tolist() == [86, 141, 95]
    assert [len(datasets.SantaFeLaser(part=part).series()) for part in ("A", "A.cont")] == [1000, 9093]
    X, y = datasets.SantaFeLaser().arrays()
    assert X.shape == (1000, 40) and np.array_equal(y, series[:1000])
    assert not X[0].any() and X[1, 0] == 86 and not X[1, 1:].any()  # zeros before the start
    X, y = datasets.SantaFeLaser(part="all", rows=(1001, 1100), normalize=True).arrays()
    assert np.array_equal(y, (series[1000:1100] - 2) / 253)
    assert np.array_equal(X[0], (series[960:1000][::-1] - 2) / 253)
    X, y = datasets.SantaFeLaser(part="A.cont", rows=(3, 4), lags=2, horizon=2).arrays()
    assert y.tolist() == series[1003:1005].tolist() and X[0].tolist() == series[[1001, 1000]].tolist()
    rows = list(datasets.SantaFeLaser(rows=(500, 501)))
    assert [target for _, target in rows] == series[499:501].tolist() and list(rows[0][0]) == list(range(40))
    assert "SantaFeLaser" in repr(laser)


# Raetsch


@pytest.mark.parametrize("name", datasets.Raetsch.names)
def test_raetsch(name):
    need(f"raetsch/{name}.npz")
    dataset = datasets.Raetsch(name)
    X, y = dataset.arrays()
    assert X.shape[1] == dataset.n_features and y.dtype == bool and 0 < y.mean() < 1
    official, generated = dataset.splits(), dataset.splits("generated")
    assert len(official) + len(generated) == (20 if name in ("image", "splice") else 100)
    assert len(dataset.realizations) == len(official)
    for train, test in (official + generated)[:: max(1, len(official + generated) // 5)]:
        assert len(np.intersect1d(train, test)) == 0
        assert np.concatenate([train, test]).min() >= 0 and np.concatenate([train, test]).max() < len(y)
    assert [target for _, target in dataset.take(9)] == y[:9].tolist()


def test_raetsch_archive(server, places, monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(270, 13)), np.where(np.arange(270) % 2, 1.0, -1.0)
    order = np.array([random.permutation(270) + 1 for _ in range(3)])
    record = {"x": X, "t": y[:, None], "train": order[:, :170], "test": order[:, 170:]}
    buffer = io.BytesIO()
    savemat(buffer, {"heart": record})
    server.handler.content["/benchmarks.mat"] = buffer.getvalue()
    monkeypatch.setattr(raetsch, "ARCHIVE", Original(f"{server.url}/benchmarks.mat", "benchmarks.mat"))
    dataset = datasets.Raetsch("heart")
    assert np.array_equal(dataset.arrays()[0], X) and np.array_equal(dataset.arrays()[1], y > 0)
    assert len(dataset.splits()) == 3 and dataset.splits("generated") == [] and dataset.realizations == (1, 2, 3)
    assert np.array_equal(dataset.splits()[0][0], order[0, :170] - 1)
    with pytest.raises(ValueError, match=r"kind must be .*'all'"):
        dataset.splits("all")
    with pytest.raises(datasets.DatasetError, match="not the Raetsch banana data"):
        datasets.Raetsch("banana").arrays()
    with pytest.raises(datasets.DatasetError, match="see Ripley"):
        datasets.Raetsch("synthetic").arrays()


@pytest.mark.parametrize(("split", "row"), [("train_idx", -1), ("test_idx", -1), ("train_idx", 270), ("test_idx", 270)])
def test_raetsch_splits_name_rows_that_are_there(split, row, tmp_path):
    order = np.array([np.arange(270)] * 2)
    content = {"X": np.zeros((270, 13)), "y": np.where(np.arange(270) % 2, 1, -1)}
    content |= {"train_idx": order[:, :170], "test_idx": order[:, 170:]}
    (tmp_path / "raetsch").mkdir()
    np.savez(tmp_path / "raetsch" / "heart.npz", **content)
    assert len(datasets.Raetsch("heart", folder=tmp_path).splits()) == 2
    content[split][1, 3] = row
    np.savez(tmp_path / "raetsch" / "heart.npz", **content)
    with pytest.raises(datasets.DatasetError, match=f"{split} names rows it does not have"):
        datasets.Raetsch("heart", folder=tmp_path).splits()
