"""Candidates spread over Ray actors score as in one loop, to the last bit."""

from __future__ import annotations

import doctest
import importlib.util
import itertools
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from river import linear_model, metrics, preprocessing

from streamkernel import KRLS, LSSVMClassifier, kernels
from streamkernel.distributed.candidates import Contest, named

ROOT = pathlib.Path(__file__).parents[1]

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason='needs ray: pip install "streamkernel[ray]"'
)


def candidates() -> dict[str, Any]:
    return {
        "narrow": KRLS(kernels.RBF(0.5), ridge=0.1, max_size=10),
        "wide": KRLS(kernels.RBF(2.0), ridge=0.1, max_size=10),
        "forgetting": KRLS(kernels.RBF(1.0), ridge=0.1, forgetting=0.99, max_size=10),
        "linear": preprocessing.StandardScaler() | linear_model.LinearRegression(),
    }


def stream(count: int) -> Iterator[tuple[dict[str, float], float]]:
    rng = np.random.default_rng(0)
    for a, b, e in zip(*rng.normal(size=(3, count)).tolist(), strict=True):
        yield {"a": a, "b": b}, a * b + 0.1 * e


def serial(samples: Any, models: dict[str, Any], metric: Any) -> dict[str, float]:
    """The obvious loop."""
    scores = {name: metric.clone() for name in models}
    for x, y in samples:
        for name, model in models.items():
            scores[name].update(y, model.predict_one(x))
            model.learn_one(x, y)
    return {name: score.get() for name, score in scores.items()}


def test_batches_make_no_difference() -> None:
    expected = serial(stream(500), candidates(), metrics.RMSE())
    contest = Contest(candidates(), metrics.RMSE())
    rows = stream(500)
    while batch := list(itertools.islice(rows, 77)):
        contest.learn(batch)
    assert {name: result.metric.get() for name, result in contest.get_results().items()} == expected


def test_probabilities_where_the_metric_wants_them() -> None:
    contest = Contest({0: LSSVMClassifier(kernels.RBF(1.0))}, metrics.LogLoss())
    contest.learn([(x, y > 0.0) for x, y in stream(200)])
    assert 0.0 < contest.results[0].metric.get() < 0.6


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one candidate"):
        named([])
    with pytest.raises(TypeError, match="candidate 1 must be a river estimator, got 'KRLS'"):
        named([KRLS(), "KRLS"])
    with pytest.raises(ValueError, match="does not go with candidate 'a'"):
        Contest({"a": KRLS()}, metrics.Accuracy())
    with pytest.raises(TypeError) as caught:
        Contest({"a": KRLS()}, metrics.MAE()).learn([({"x": "text"}, 1.0)])
    assert "candidate 'a'" in caught.value.__notes__[0]


def test_without_the_engine_the_error_says_what_to_install() -> None:
    for module, package, extra in (("ray", "ray", "ray"), ("spark", "pyspark", "spark")):
        code = (
            f"import sys; sys.modules[{package!r}] = None\n"
            f"try:\n    import streamkernel.distributed.{module}\n"
            "except ImportError as error:\n    print(error)"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert f'pip install "streamkernel[{extra}]"' in result.stdout


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    yield
    ray.shutdown()


@needs_ray
@pytest.mark.filterwarnings("ignore")  # of Ray itself, about what it will change
def test_four_candidates_twenty_thousand_rows(cluster: None) -> None:
    from streamkernel.distributed.ray import evaluate_candidates

    given = candidates()
    before = given["narrow"].to_bytes()
    results = evaluate_candidates(stream(20_000), given, metrics.RMSE(), batch_size=1500)
    alone = candidates()
    expected = serial(stream(20_000), alone, metrics.RMSE())
    assert {name: result.metric.get() for name, result in results.items()} == expected
    assert list(results) == list(given)
    assert results["wide"].model.to_bytes() == alone["wide"].to_bytes()
    assert given["narrow"].to_bytes() == before


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_failing_candidate_fails_the_search(cluster: None) -> None:
    from streamkernel.distributed.ray import evaluate_candidates

    with pytest.raises(TypeError, match="feature 'x' is 'text'"):
        evaluate_candidates([({"x": "text"}, 1.0)], [KRLS(kernels.RBF(1.0))], metrics.MAE(), actors=1)
    with pytest.raises(ValueError, match="batch_size"):
        evaluate_candidates([], [KRLS()], metrics.MAE(), batch_size=0)
    assert evaluate_candidates([], [KRLS()], metrics.MAE())[0].model.size == 0


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_the_page_runs(cluster: None) -> None:
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8").partition("## Candidates on Ray")[2]
    test = doctest.DocTestParser().get_doctest(page, {}, "distributed.md", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).attempted > 5
    assert runner.failures == 0


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_the_bench_runs(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cluster: None
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))  # bench/ is not part of the installed package
    from bench import scale

    assert scale.main(["--quick", "--only", "Ray", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[:2] for line in printed.splitlines()[1:]] == [
        [job, "Ray"] for job in ("start", "keys", "candidates")
    ]
    monkeypatch.setattr(scale.importlib.util, "find_spec", lambda name: None)
    assert scale.main(["--quick", "--json", "--only", "Ray", "--only", "Spark", "--out", str(tmp_path)]) == 0
    assert [line["note"] for line in json.loads(capsys.readouterr().out)] == [
        'skipped: pip install "streamkernel[ray]"',
        'skipped: pip install "streamkernel[spark]"',
    ]
