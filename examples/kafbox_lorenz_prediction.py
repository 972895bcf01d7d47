"""The Lorenz series one and ten steps ahead by the filters of the field: errors in dB, sizes, costs."""

import argparse
import time

import numpy as np

from streamkernel import KRLS, KRR, kernels, run
from streamkernel.filters import KAPA, KLMS, KNLMS, NORMA, QKLMS, FixedBudgetKRLS, decibels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a short series")
args = parser.parse_args()

# Euler's method with a step of 0.01, the third coordinate.
series = np.empty(700 if args.quick else 5000)
x, y, z = 10.0, 7.0, 35.0
for t in range(len(series)):
    series[t] = z
    x, y, z = x + 0.1 * (y - x), y + 0.01 * (x * (28.0 - z) - y), z + 0.01 * (x * y - 8.0 / 3.0 * z)

kernel = kernels.RBF(32.0)
filters = {
    "KRLS, ν = 1e-4": lambda: KRLS(kernel, 1e-4),
    "KRLS, ν = 5e-7": lambda: KRLS(kernel, 5e-7),
    "KRLS-T, M = 100": lambda: KRLS(kernel, 1e-6, 1e-6, max_size=100),
    "SW-KRLS, M = 100": lambda: KRR(kernel, ridge=1e-6, threshold=None, max_size=100),
    "FB-KRLS, M = 100": lambda: FixedBudgetKRLS(kernel, 1e-6, max_size=100),
    "KLMS": lambda: KLMS(kernel, 0.9, max_size=500),
    "QKLMS": lambda: QKLMS(kernel, 0.9, 2.0),
    "KNLMS": lambda: KNLMS(kernel, 0.99, 0.5),
    "KAPA": lambda: KAPA(kernel, 0.99, 0.1),
    "NORMA": lambda: NORMA(kernel, 0.5),
}
print("                    one step         ten steps")
print("filter               dB  points       dB  points   µs a sample")
for name, make in filters.items():
    cells = []
    for horizon in (1, 10):
        rows = np.lib.stride_tricks.sliding_window_view(series[:-horizon], 6)
        model, targets = make(), series[5 + horizon :]
        run(model, rows[:2], targets[:2])  # compiled before it is timed
        began = time.process_time()
        errors = run(model, rows[2:], targets[2:]).errors
        cost = 1e6 * (time.process_time() - began) / len(errors)
        cells.append(f"{decibels(np.mean(errors[len(errors) // 5 :] ** 2)):7.2f}  {model.size:6d}")
    print(f"{name:16s}", "  ".join(cells), f"{cost:13.1f}")
