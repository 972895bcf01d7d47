"""River's forecasting evaluation: monthly airline passengers, six months ahead, iterated and direct."""

import argparse

from river import compose, datasets, evaluate, metrics, time_series

from streamkernel import KRLS, KernelForecaster, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="the first 60 months")
args = parser.parse_args()

kernel = kernels.Linear() + 1
models = {
    "KRLS, iterated": compose.Discard("month") | KernelForecaster(KRLS(kernel, ridge=1.0), lags=(1, 2, 3, 12, 13)),
    "KRLS, direct": compose.Discard("month") | KernelForecaster(KRLS(kernel, ridge=1.0), lags=12, horizon=6),
    "river HoltWinters": time_series.HoltWinters(alpha=0.1),
}
for name, model in models.items():
    stream = list(datasets.AirlinePassengers())[: 60 if args.quick else None]
    metric = evaluate.evaluate(stream, model, metrics.MAE(), horizon=6)
    print(f"{name:18s} MAE by months ahead:", ", ".join(f"{value:.1f}" for value in metric.get()))
