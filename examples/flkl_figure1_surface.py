"""Figure 1(a) of the kernel learning paper: decision surfaces on Ripley's synthetic problem, one scale beside two."""

import argparse

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from streamkernel import datasets
from streamkernel.batch import FLKL, LSSVM

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="every third training sample")
parser.add_argument("--plot", metavar="PNG", help="save the surfaces as a plot")
args = parser.parse_args()

X, y = datasets.Ripley("train").arrays()
unseen, truth = datasets.Ripley("test").arrays()
if args.quick:
    X, y = X[::3], y[::3]

models = {"LS-SVM, one scale by leave-one-out": LSSVM(), "LS-SVM, two scales at the first level": FLKL()}
for name, model in models.items():
    pipeline = models[name] = make_pipeline(StandardScaler(), model).fit(X, y)
    error = 100.0 * np.mean(pipeline.predict(unseen) != truth)
    relevances = ", ".join(f"{theta:.3g}" for theta in model.relevance_.values())
    print(f"{name}: {error:.1f} % wrong on {len(truth)} test samples; θ = {relevances}, λ = {model.ridge_:.3g}")

if args.plot:
    from matplotlib import pyplot

    from streamkernel.batch.plots import plot_decision_surface

    figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
    for axes, (name, model) in zip(panels, models.items(), strict=True):
        plot_decision_surface(axes, model, X, y).set_title(name)
    figure.savefig(args.plot)
