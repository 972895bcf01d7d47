"""Figure 1 of the KRLS paper: the dictionary stops growing, the error keeps falling, time stays linear."""

import argparse
import time

import numpy as np

from streamkernel import KRLS, datasets, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a few small training sets")
args = parser.parse_args()

KRLS(kernels.RBF(4.25)).learn_many(np.zeros((64, 2)), np.zeros(64))  # compiles
truth = datasets.SincLinear(noise=0.0, seed=2)
X_test, y_test = truth.arrays(1000)

print("samples  dictionary  test RMSE  seconds")
for count in (50, 500) if args.quick else (50, 500, 5000, 50_000):
    X, y = datasets.SincLinear(noise=0.1, seed=1).arrays(count)
    model = KRLS(kernels.RBF(4.25), threshold=1e-3)
    began = time.perf_counter()
    model.learn_many(X, y)
    seconds = time.perf_counter() - began
    error = np.sqrt(np.mean((model.predict_many(X_test) - y_test) ** 2))
    print(f"{count:7d}  {model.size:10d}  {error:9.4f}  {seconds:7.3f}")
