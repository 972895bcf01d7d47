"""Table 4 and Figure 2 of the KRLS paper: the Mackey-Glass series, 200 steps iterated, with intervals."""

import argparse

import numpy as np

from streamkernel import KRLS, KRR, KernelForecaster, datasets, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="one short forecast")
parser.add_argument("--plot", metavar="PNG", help="save a plot of the last forecast")
args = parser.parse_args()
train, horizon = (300, 20) if args.quick else (1040, 200)

for tau, width in ((17, 0.5), (30, 0.6)):
    kernel = kernels.RBF(width)
    models = {"paper's threshold": KRLS(kernel, threshold=1e-4), "all kept": KRR(kernel, ridge=1e-8, threshold=None)}
    for label, regressor in models.items():
        series = datasets.MackeyGlass(tau=tau, seed=1).series(train + horizon)
        model = KernelForecaster(regressor, lags=10, stride=4, n_paths=20, seed=1)
        for y in series[:train]:
            model.learn_one(y)
        forecast = np.array(model.forecast(horizon))
        error = np.sqrt(np.mean((forecast - series[train:]) ** 2))
        print(f"MG({tau}), {label}: RMSE({horizon}) {error:.5f}, {model.model.size} points in the dictionary")

intervals = model.forecast(10, with_interval=True)
print("the next values:", ", ".join(f"{i.center:.3f} ± {i.width / 2:.3f}" for i in intervals[:3]))
if args.plot:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.plot(series[train:], "k", label="series")
    axes.plot(forecast, "--", label="iterated forecast")
    axes.legend()
    figure.savefig(args.plot)
