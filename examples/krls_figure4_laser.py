"""Figures 3 and 4 of the KRLS paper: the Santa Fe laser, 100 steps from row 1000, trained on its own estimates."""

import argparse

import numpy as np

from streamkernel import KRLS, KernelForecaster, datasets, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a short training series")
parser.add_argument("--plot", metavar="PNG", help="save the forecast as a plot")
args = parser.parse_args()
first = 700 if args.quick else 0

series = datasets.SantaFeLaser(part="all", normalize=True).series()[first:1100]
past, future = series[:-100], series[-100:]
for rollout in (1, 2) if args.quick else (1, 3, 6):
    model = KernelForecaster(KRLS(kernels.RBF(0.9), threshold=0.01), lags=40, rollout=rollout, pad=True)
    model.learn_series(past)  # the paper's passes; learn_one does the same value by value
    forecast = np.array(model.forecast(100))
    error = np.mean((forecast - future) ** 2) / future.var()
    print(f"estimates up to {rollout} steps fed back: NMSE {error:.4f} ({model.model.size} points)")

if args.plot:
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1)
    above.plot(past, "k", linewidth=0.6)
    below.plot(future, "k", label="laser")
    below.plot(forecast, "--", label="forecast")
    below.legend()
    figure.savefig(args.plot)
