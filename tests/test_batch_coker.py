"""CoKER: the joint optimum of each kernel, the weights as a minimum, and the laws that follow from the definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

from streamkernel import ensembles, kernels
from streamkernel.batch import CoKER, CoKERClassifier, KernelRidge
from streamkernel.batch.experts import Experts, default_kernels, in_sample_loss
from streamkernel.ensembles import coupled_weights

RIDGE = 0.1
KERNELS = (kernels.RBF(0.8), kernels.Laplacian(3.0), kernels.Polynomial(2, scale=0.3), kernels.Linear())


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, 5.0 + np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=40)


@pytest.fixture
def unseen():
    return np.random.default_rng(1).normal(size=(15, 3))


def dense(kernel, X, y):
    """The minimum of eq. (9) over α and b together: both slopes zero, as one linear system."""
    n = len(X)
    matrix = np.block([[kernel(X) + RIDGE * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(matrix, np.append(y, 0.0))
    return solution[:n], solution[n]


def objective(gram, coefficients, bias, y):
    """Eq. (9)."""
    residuals = gram @ coefficients + bias - y
    return residuals @ residuals + RIDGE * coefficients @ gram @ coefficients


# The weights


@pytest.mark.parametrize("r", [1.3, 1.7, 2.0, 3.0, 8.0])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_minimum(r, seed):
    losses = np.random.default_rng(seed).uniform(0.2, 3.0, 6)

    def total(logits):
        weights = np.exp(logits - logits.max())
        return float(((weights / weights.sum()) ** r * losses).sum())

    found = optimize.minimize(total, np.zeros(6), tol=1e-12, options={"gtol": 1e-10})
    weights = np.exp(found.x) / np.exp(found.x).sum()
    np.testing.assert_allclose(coupled_weights(losses, r), weights, atol=1e-5)
    assert total(np.log(coupled_weights(losses, r))) <= found.fun * (1.0 + 1e-12)


@pytest.mark.parametrize("r", [1.3, 3.0])
def test_printed_exponent_is_not_the_minimum(r):
    losses = np.array([1.0, 2.0, 4.0])
    printed = (1.0 / losses) ** (r - 1.0)
    printed /= printed.sum()
    own = coupled_weights(losses, r)
    assert (own**r * losses).sum() < 0.97 * (printed**r * losses).sum()
    np.testing.assert_allclose(coupled_weights(losses, 2.0), (1.0 / losses) / (1.0 / losses).sum(), rtol=1e-15)


def test_limits_of_r():
    losses = [3.0, 1.0, 1.1, 2.0]
    assert coupled_weights(losses, 1.0 + 1e-6).tolist() == [0.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(coupled_weights(losses, 1e9), 0.25, rtol=1e-8)
    sharpness = [coupled_weights(losses, r).max() for r in (1.1, 1.5, 2.0, 5.0, 50.0)]
    assert sharpness == sorted(sharpness, reverse=True)


@pytest.mark.parametrize("r", [1.0 + 1e-12, 1.01, 2.0, 100.0])
def test_weights_of_extreme_losses(r):
    assert coupled_weights([0.0, 1.0, 0.0], r).tolist() == [0.5, 0.0, 0.5]
    tiny = coupled_weights([1e-300, 1.0, 1e300], r)
    assert tiny.sum() == pytest.approx(1.0) and np.isfinite(tiny).all() and tiny[0] == tiny.max()
    np.testing.assert_allclose(coupled_weights([7.0, 7.0], r), 0.5, rtol=1e-15)


def test_weights_do_not_depend_on_the_unit_of_the_loss():
    losses = np.array([0.3, 1.0, 2.5])
    np.testing.assert_allclose(coupled_weights(losses, 1.4), coupled_weights(1e8 * losses, 1.4), rtol=1e-13)


# The experts


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_bias_and_coefficients_are_the_joint_optimum(problem, kernel):
    X, y = problem
    model = CoKER([kernel], ridge=RIDGE).fit(X, y)
    alpha, bias = model.dual_coef_[0], model.intercept_[0]
    gram = kernel(X)
    inverse = np.linalg.inv(gram + RIDGE * np.eye(40))
    assert bias == pytest.approx(inverse.sum(axis=0) @ y / inverse.sum(), rel=1e-9)
    np.testing.assert_allclose(alpha, dense(kernel, X, y)[0], atol=1e-8)

    slope = (objective(gram, alpha, bias + 1e-4, y) - objective(gram, alpha, bias - 1e-4, y)) / 2e-4
    assert slope == pytest.approx(0.0, abs=1e-7)
    rng = np.random.default_rng(0)
    best = objective(gram, alpha, bias, y)
    for _ in range(20):
        assert objective(gram, alpha + 0.01 * rng.normal(size=40), bias + 0.01 * rng.normal(), y) > best


def test_printed_bias_is_not_the_joint_optimum(problem):
    X, y = problem
    gram = KERNELS[0](X)
    alpha = np.linalg.solve(gram + RIDGE * np.eye(40), y)  # (11)
    bias = (y - gram @ alpha).mean()  # (12)
    model = CoKER(KERNELS[:1], ridge=RIDGE).fit(X, y)
    assert objective(gram, model.dual_coef_[0], model.intercept_[0], y) < 0.5 * objective(gram, alpha, bias, y)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_one_expert_is_that_expert(problem, unseen, kernel):
    X, y = problem
    model = CoKER([kernel], ridge=RIDGE).fit(X, y)
    assert model.weights_.tolist() == [1.0]
    alpha, bias = dense(kernel, X, y)
    np.testing.assert_allclose(model.predict(unseen), kernel(unseen, X) @ alpha + bias, atol=1e-8)
    np.testing.assert_array_equal(model.predict(unseen), model.predict_all(unseen)[0])
    alone = KernelRidge(kernel, ridge=RIDGE, bias=True, center=False).fit(X, y)
    np.testing.assert_allclose(model.predict(unseen), alone.predict(unseen), atol=1e-10)
    np.testing.assert_allclose(model.leave_one_out_residuals_, alone.leave_one_out_residuals_, atol=1e-10)


def test_leave_one_out_loss_is_brute_force(problem):
    X, y = problem
    losses = np.zeros(len(KERNELS))
    for i in range(40):
        kept = np.arange(40) != i
        for j, kernel in enumerate(KERNELS):
            alpha, bias = dense(kernel, X[kept], y[kept])
            losses[j] += (y[i] - kernel(X[i : i + 1], X[kept]) @ alpha - bias).item() ** 2
    model = CoKER(KERNELS, ridge=RIDGE, r=1.5).fit(X, y)
    np.testing.assert_allclose(model.losses_, losses, rtol=1e-9)
    np.testing.assert_allclose(model.weights_, losses**-2.0 / (losses**-2.0).sum(), rtol=1e-8)


def test_in_sample_loss_is_as_printed(problem):
    X, y = problem
    model = CoKER(KERNELS, ridge=RIDGE, zeta="in_sample").fit(X, y)
    slow = [objective(k(X), a, b, y) for k, a, b in zip(KERNELS, model.dual_coef_, model.intercept_, strict=True)]
    np.testing.assert_allclose(model.losses_, slow, rtol=1e-12)
    # At the optimum Kα + b − y = −λα and 1'α = 0, so the loss is λα'y.
    np.testing.assert_allclose(model.losses_, RIDGE * model.dual_coef_ @ y, rtol=1e-8)
    np.testing.assert_allclose(model.weights_, coupled_weights(slow, 2.0), rtol=1e-10)


def test_loss_of_given_coefficients():
    gram, targets = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0], [0.0]])
    # α = (0.8, −0.6): Kα = (1, −1), Kα + b − y = (0.5, −0.5), α'Kα = 1.4
    loss = in_sample_loss(gram, np.array([[0.8], [-0.6]]), np.array([0.5]), targets, ridge=0.1)
    assert loss == pytest.approx(0.5**2 + 0.5**2 + 0.1 * 1.4)


def test_the_default_loss_sees_through_a_kernel_that_fits_noise():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 2)), rng.normal(size=60)
    smooth, noisy = kernels.RBF(2.0), 1000.0 * kernels.RBF(0.01)
    by_loo = CoKER([smooth, noisy]).fit(X, X[:, 0] + 0.3 * noise)
    printed = CoKER([smooth, noisy], zeta="in_sample").fit(X, X[:, 0] + 0.3 * noise)
    assert by_loo.weights_[0] > 0.8
    assert printed.weights_[1] > 0.9


def test_prediction_is_the_weighted_mean(problem, unseen):
    X, y = problem
    model = CoKER(KERNELS, ridge=RIDGE).fit(X, y)
    alone = [CoKER([kernel], ridge=RIDGE).fit(X, y).predict(unseen) for kernel in KERNELS]
    np.testing.assert_allclose(model.predict_all(unseen), alone, atol=1e-12)
    np.testing.assert_allclose(model.predict(unseen), model.weights_ @ np.array(alone), atol=1e-12)
    assert model.weights_.sum() == pytest.approx(1.0)
    residuals = np.array([CoKER([kernel], ridge=RIDGE).fit(X, y).leave_one_out_residuals_ for kernel in KERNELS])
    np.testing.assert_allclose(model.leave_one_out_residuals_, model.weights_ @ residuals, atol=1e-12)


def test_ensemble_reaches_the_best_expert_and_the_mean(problem, unseen):
    X, y = problem
    best = CoKER(KERNELS, r=1.0 + 1e-9).fit(X, y)
    alone = best.predict_all(unseen)
    np.testing.assert_allclose(best.predict(unseen), alone[best.losses_.argmin()], rtol=1e-12)
    even = CoKER(KERNELS, r=1e12).fit(X, y)
    np.testing.assert_allclose(even.predict(unseen), alone.mean(axis=0), rtol=1e-9)


# Laws of the inputs


@pytest.mark.parametrize("given", [None, KERNELS], ids=["default", "given"])
@pytest.mark.parametrize("zeta", ["loo", "in_sample"])
def test_targets_may_be_shifted_and_scaled(problem, unseen, given, zeta):
    X, y = problem
    model, moved = CoKER(given, zeta=zeta).fit(X, y), CoKER(given, zeta=zeta).fit(X, 100.0 - 3.0 * y)
    np.testing.assert_allclose(moved.predict(unseen), 100.0 - 3.0 * model.predict(unseen), rtol=1e-9)
    np.testing.assert_allclose(moved.weights_, model.weights_, rtol=1e-7)
    np.testing.assert_allclose(moved.losses_, 9.0 * model.losses_, rtol=1e-7)


def test_order_of_samples_and_kernels_does_not_matter(problem, unseen):
    X, y = problem
    order = np.random.default_rng(0).permutation(40)
    model, shuffled = CoKER(KERNELS).fit(X, y), CoKER(KERNELS[::-1]).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.predict(unseen), model.predict(unseen), rtol=1e-9)
    np.testing.assert_allclose(shuffled.weights_[::-1], model.weights_, rtol=1e-8)


def test_a_common_unit_of_the_features_does_not_matter_to_the_default(problem, unseen):
    X, y = problem
    model, metric = CoKER().fit(X, y), CoKER().fit(1e6 * X, y)
    np.testing.assert_allclose(metric.predict(1e6 * unseen), model.predict(unseen), rtol=1e-8)


def test_default_kernels_on_awkward_samples():
    assert len(default_kernels(np.zeros((5, 2)))) == len(default_kernels(np.eye(5))) == 12
    constant = CoKER().fit(np.full((5, 2), 3.0), np.arange(5.0))
    np.testing.assert_allclose(constant.predict([[3.0, 3.0]]), 2.0)
    same = CoKER().fit(np.eye(4), np.full(4, 7.0))
    np.testing.assert_allclose(same.predict(np.eye(4)), 7.0)
    assert same.weights_.sum() == pytest.approx(1.0)


def test_duplicate_samples_are_learned(problem, unseen):
    X, y = problem
    doubled = CoKER(KERNELS, ridge=2 * RIDGE, zeta="in_sample").fit(np.vstack([X, X]), np.append(y, y))
    once = CoKER(KERNELS, ridge=RIDGE, zeta="in_sample").fit(X, y)
    np.testing.assert_allclose(doubled.predict(unseen), once.predict(unseen), rtol=1e-8)


def test_features_by_name(problem, unseen):
    X, y = problem
    frame, new = (pd.DataFrame(values, columns=["c", "a", "b"]) for values in (X, unseen))
    by_name = [kernels.RBF({"a": 1.0, "b": 2.0, "c": 3.0}), kernels.Linear()]
    by_place = [kernels.RBF((3.0, 1.0, 2.0)), kernels.Linear()]
    np.testing.assert_allclose(
        CoKER(by_name).fit(frame, y).predict(new), CoKER(by_place).fit(X, y).predict(unseen), rtol=1e-10
    )
    labels = y > y.mean()
    np.testing.assert_allclose(
        CoKERClassifier(by_name).fit(frame, labels).decision_function(new),
        CoKERClassifier(by_place).fit(X, labels).decision_function(unseen),
        rtol=1e-10,
    )


# Classification


def test_classifier_is_regression_on_signs():
    X, y = make_moons(80, noise=0.2, random_state=0)
    model = CoKERClassifier(KERNELS, ridge=RIDGE).fit(X, np.array(["no", "yes"])[y])
    regression = CoKER(KERNELS, ridge=RIDGE).fit(X, 2.0 * y - 1.0)
    np.testing.assert_allclose(model.decision_function(X), regression.predict(X), atol=1e-12)
    np.testing.assert_allclose(model.weights_, regression.weights_, rtol=1e-12)
    assert set(model.predict(X)) == {"no", "yes"}


def test_classes_share_the_weights():
    X, y = make_blobs(90, centers=3, n_features=2, cluster_std=2.0, random_state=1)
    model = CoKERClassifier(KERNELS, ridge=RIDGE).fit(X, y)
    against = [CoKER(KERNELS, ridge=RIDGE).fit(X, np.where(y == j, 1.0, -1.0)) for j in range(3)]
    np.testing.assert_allclose(model.losses_, np.sum([single.losses_ for single in against], axis=0), rtol=1e-10)
    decisions = np.stack([model.weights_ @ single.predict_all(X) for single in against], axis=1)
    np.testing.assert_allclose(model.decision_function(X), decisions, atol=1e-10)
    assert model.score(X, y) > 0.8


def test_probabilities_are_calibrated_on_held_out_decisions():
    X, y = make_moons(1200, noise=0.35, random_state=0)
    model = CoKERClassifier().fit(X[:200], y[:200])
    probabilities = model.predict_proba(X[200:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X[200:]))
    raw = np.clip((1 + model.decision_function(X[200:])) / 2, 1e-3, 1 - 1e-3)
    assert log_loss(y[200:], probabilities) < log_loss(y[200:], raw)


# The stream


def test_stream_goes_on_where_the_batch_ended(problem, unseen):
    X, y = problem
    frame, new = (pd.DataFrame(values, columns=["c", "a", "b"]) for values in (X, unseen))
    model = CoKER(KERNELS, ridge=RIDGE, r=1.5).fit(frame, y)
    stream = model.to_stream(bias=1e6)
    assert isinstance(stream, ensembles.KernelMixture)
    assert list(stream.weights) == pytest.approx(model.weights_.tolist(), rel=1e-9)
    found = [stream.predict_one(x) for x in new.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(new), atol=1e-4)
    stream.learn_one(new.to_dict("records")[0], 5.0)
    assert stream.power == 1.5
    assert model.to_stream(weighting="bma", discount=0.9).weighting == "bma"
    with pytest.raises(ValueError, match="bias must be a number > 0, got 0"):
        model.to_stream(bias=0)


def test_classifier_stream_goes_on_where_the_batch_ended():
    X, y = make_blobs(100, centers=3, n_features=2, cluster_std=2.0, random_state=1)
    model = CoKERClassifier([kernels.RBF(2.0), kernels.RBF(5.0)], ridge=RIDGE).fit(X, y)
    stream = model.to_stream(threshold=1e-8, max_size=None, bias=1e4)
    assert isinstance(stream, ensembles.KernelMixtureClassifier)
    agree = [stream.predict_one(dict(enumerate(x))) == label for x, label in zip(X, model.predict(X), strict=True)]
    assert np.mean(agree) > 0.97


# Bad input


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            {"kernels": kernels.RBF(1.0)},
            TypeError,
            "kernels must be a sequence of streamkernel.kernels or None, got RBF",
        ),
        ({"kernels": "rbf"}, TypeError, "kernels must be a sequence of streamkernel.kernels or None, got 'rbf'"),
        ({"kernels": []}, ValueError, r"kernels must hold at least one kernel, got \[\]"),
        ({"kernels": [kernels.RBF(1.0), "rbf"]}, TypeError, r"kernels\[1\] must be one of .* got 'rbf'"),
        ({"ridge": 0.0}, ValueError, "ridge must be a number > 0, got 0.0"),
        ({"ridge": "a"}, TypeError, "ridge must be a number > 0, got 'a'"),
        ({"r": 1.0}, ValueError, "r must be a number > 1, got 1.0"),
        ({"r": np.inf}, ValueError, "r must be a number > 1, got inf"),
        ({"zeta": "cv"}, ValueError, "zeta must be one of 'loo', 'in_sample', got 'cv'"),
    ],
)
@pytest.mark.parametrize("model", [CoKER, CoKERClassifier])
def test_bad_arguments_are_named(model, arguments, error, text):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(error, match=text):
        model(**arguments).fit(X, y)


def test_a_ridge_lost_in_rounding_is_refused(problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"ridge 0\.1 is lost in the rounding of Polynomial\(5, scale=1000\.0\)"):
        CoKER([kernels.RBF(1.0), kernels.Polynomial(5, scale=1000.0)]).fit(X, y)
    with pytest.raises(ValueError, match="is lost in the rounding"), np.errstate(over="ignore"):
        CoKER([kernels.Linear()]).fit(1e200 * X, y)


@pytest.mark.parametrize("model", [CoKER, CoKERClassifier])
def test_bad_data_is_refused_and_changes_nothing(model):
    X, y = make_moons(20, noise=0.1, random_state=0)
    fitted = model().fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :1])
    np.testing.assert_array_equal(fitted.predict(X), before)
    with pytest.raises(ValueError, match="NaN"):
        model().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match=r"1 sample|one class"):
        model().fit(X[:1], y[:1])


def test_clone_keeps_the_kernels():
    model = clone(CoKER(list(KERNELS), r=1.5))
    assert tuple(model.kernels) == KERNELS
    assert model.r == 1.5


def test_experts_have_one_row_for_each_kernel_and_a_column_for_each_output(problem, unseen):
    X, y = problem
    experts = Experts(KERNELS, X, range(3), np.column_stack([y, -y]), RIDGE)
    assert experts.coefficients.shape == experts.left_out.shape == (4, 40, 2)
    predictions = experts(unseen)
    assert predictions.shape == (4, 15, 2)
    np.testing.assert_allclose(predictions[:, :, 0], -predictions[:, :, 1], atol=1e-12)


@pytest.mark.parametrize("zeta", ["loo", "in_sample"])
@pytest.mark.parametrize("model", [CoKER, CoKERClassifier])
def test_scikit_learn_checks(model, zeta):
    check_estimator(model(zeta=zeta), on_skip=None)
