"""A Wiener system whose filter changes: learning curves in dB of KRLS-T, a sliding window, KRLS and the LMS family."""

import argparse

import numpy as np

from streamkernel import KRLS, KRR, kernels
from streamkernel.filters import KLMS, QKLMS, learning_curve

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="fewer samples")
parser.add_argument("--plot", metavar="PNG", help="save the curves as a plot")
args = parser.parse_args()
block = 100 if args.quick else 500

# y = tanh(h'x) with noise 20 dB below; figure 3 of the KRLS-T paper, whose test outputs have no noise.
random = np.random.default_rng(1)
filters = np.array([[1.0, -0.3817, -0.1411, 0.5789, 0.191], [1.0, -0.0870, 0.9852, -0.2826, -0.1711]])
rows = np.lib.stride_tricks.sliding_window_view(random.uniform(size=3 * block + 504), 5)[:, ::-1]
X, test = np.ascontiguousarray(rows[: 3 * block]), np.ascontiguousarray(rows[3 * block :])
both = np.tanh(rows @ filters.T)
y = np.concatenate([both[:block, 0], both[block : 3 * block, 1]])
y += 0.1 * y.std() * random.standard_normal(len(y))

models = {
    "KRLS-T": KRLS(kernels.RBF(1.0), 1e-9, 1e-2, 0.999, "prior", 50),
    "SW-KRLS": KRR(kernels.RBF(1.0), ridge=1e-2, threshold=None, max_size=50),
    "KRLS": KRLS(kernels.RBF(1.0), 1e-2),
    "KLMS": KLMS(kernels.RBF(1.0), 0.5, 500),
    "QKLMS": QKLMS(kernels.RBF(1.0), 0.5, 0.1),
}
curves = {}
print(f"test error in dB; the filter changes after {block} samples")
print("filter    before the change  right after     at the end")
for name, model in models.items():
    before = learning_curve(model, X[:block], y[:block], test, both[3 * block :, 0])
    after = learning_curve(model, X[block:], y[block:], test, both[3 * block :, 1])
    curves[name] = np.append(before.samples, block + after.samples), np.append(before.decibels, after.decibels)
    print(f"{name:8s} {before.decibels[-1]:18.1f} {after.decibels[0]:12.1f} {after.decibels[-5:].mean():14.1f}")

if args.plot:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    for name, (samples, values) in curves.items():
        axes.plot(samples, values, label=name)
    axes.set(xlabel="samples learned", ylabel="test error (dB)")
    axes.legend()
    figure.savefig(args.plot)
