"""A function that changes on the way: three ways to forget in one river pipeline, and a checkpoint in the middle."""

import argparse

import numpy as np
from river import metrics

from streamkernel import KRLS, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a short stream")
args = parser.parse_args()
count = 300 if args.quick else 4000

random = np.random.default_rng(1)
X = random.uniform(-3.0, 3.0, (count, 2))
phase = np.linspace(0.0, 3.0, count)
y = np.sin(X[:, 0] + phase) + 0.5 * X[:, 1] + 0.1 * random.standard_normal(count)

models = {
    "no forgetting": KRLS(kernels.RBF(2.0), ridge=0.01),
    "back to the prior": KRLS(kernels.RBF(2.0), ridge=0.01, forgetting=0.99),
    "random walk": KRLS(kernels.RBF(2.0), ridge=0.01, forgetting=0.9999, forget="walk"),
}
for name, model in models.items():
    metric = metrics.RMSE()
    for i, (row, target) in enumerate(zip(X.tolist(), y.tolist())):
        x = dict(enumerate(row))
        metric.update(target, model.predict_one(x))
        model.learn_one(x, target)
        if i == count // 2:
            model = KRLS.from_bytes(model.to_bytes())  # goes on bit for bit
    print(f"{name:18s} {metric}")
