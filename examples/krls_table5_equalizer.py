"""Table 5 of the KRLS paper: equalization of a nonlinear channel, beside the least error that is possible."""

import argparse

import numpy as np

from streamkernel import KRLS, KernelEqualizer, datasets, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="one short sequence")
args = parser.parse_args()
runs, count = (1, 500) if args.quick else (10, 5000)

print("delay  polynomial  paper    RBF  Bayes bound")
for delay, printed in ((0, 0.279), (1, 0.070), (2, 0.043)):
    rates: dict[str, list[float]] = {"polynomial": [], "rbf": []}
    for seed in range(runs):
        symbols, observations = datasets.NonlinearChannel(seed=seed).sequence(500 + count)
        models = {
            "polynomial": KRLS(kernels.Polynomial(3), threshold=1e-3),
            "rbf": KRLS(kernels.RBF(0.7), threshold=1e-3, ridge=3.0),
        }
        for name, model in models.items():
            equalizer = KernelEqualizer(model, lags=2, delay=delay, directed=False)
            equalizer.equalize_many(observations[:500], symbols[:500])
            equalizer.reset_errors()
            equalizer.equalize_many(observations[500:], symbols[500:], training=0)
            rates[name].append(equalizer.bit_error_rate)
    bound = datasets.NonlinearChannel(delay=delay).bayes_error(samples=2000 if args.quick else 100_000)
    polynomial, rbf = np.mean(rates["polynomial"]), np.mean(rates["rbf"])
    print(f"{delay:5d}  {polynomial:10.3f}  {printed:5.3f}  {rbf:5.3f}  {bound:11.3f}")
