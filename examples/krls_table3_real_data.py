"""Table 3 of the KRLS paper: Boston housing and Comp-activ (found or downloaded, see `streamkernel.datasets`)."""

import argparse

import numpy as np

from streamkernel import KRLS, datasets, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="one split")
args = parser.parse_args()

cases = [
    ("Boston", datasets.BostonHousing, kernels.RBF(1.3) + 1, 400, 3.52),
    ("Comp-activ", datasets.CompActiv, kernels.RBF(0.9) + 1, 6000, 3.09),
]
print("table       RMSE  paper  dictionary")
for name, dataset, kernel, count, printed in cases:
    X, y = dataset().arrays()
    errors, sizes = [], []
    for seed in range(1 if args.quick else 10):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:count], order[count:]
        low, width = X[train].min(axis=0), np.ptp(X[train], axis=0)
        model = KRLS(kernel, threshold=1e-3)
        model.learn_many((X[train] - low) / width, y[train])
        errors.append(np.sqrt(np.mean((model.predict_many((X[test] - low) / width) - y[test]) ** 2)))
        sizes.append(model.size / count)
    print(f"{name:10s}  {np.mean(errors):4.2f}  {printed:5.2f}  {np.mean(sizes):10.1%}")
