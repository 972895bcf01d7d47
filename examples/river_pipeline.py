"""A river pipeline: standardized features, a kernel regressor, river's own evaluation, beside a linear model."""

import argparse

from river import datasets, evaluate, linear_model, metrics, preprocessing

from streamkernel import KRLS, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="the first 200 samples")
args = parser.parse_args()

kernel = kernels.RBF(3.0) + kernels.Linear() + 1
models = {
    "KRLS": preprocessing.StandardScaler() | KRLS(kernel, threshold=1e-4, ridge=0.1, max_size=100),
    "LinearRegression": preprocessing.StandardScaler() | linear_model.LinearRegression(),
}
for name, model in models.items():
    stream = list(datasets.TrumpApproval())[: 200 if args.quick else None]
    print(name, evaluate.progressive_val_score(stream, model, metrics.MAE()))
