"""16-QAM through a saturating amplifier: symbol error rates beside linear equalizers and the bound, and soft bits."""

import argparse

import numpy as np

from streamkernel import KRLS, KernelEqualizer, datasets, kernels
from streamkernel.equalization import curves

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="few errors")
parser.add_argument("--plot", metavar="PNG", help="save the rates and the constellation as a plot")
args = parser.parse_args()
errors, run, snrs = (10, 1500, (16.0,)) if args.quick else (200, 20_000, (14.0, 16.0, 18.0))

names = ("RLS", "RLS, feedback", "Volterra RLS", "kernel", "Bayes")
points = list(curves.curve(lambda seed: datasets.named_channel("qam16", seed), snrs, names, errors, run=run))
print("symbol error rate [95 % interval] after 1000 training symbols")
for point in points:
    low, high = point.interval
    print(f"{point.snr:4.0f} dB  {point.equalizer:14s} {point.symbol_error_rate:.4f} [{low:.4f}, {high:.4f}]")

# A model of your own learns the inverse of the channel; an odd kernel has the amplifier's symmetry.
channel = datasets.named_channel("qam16", seed=1).at_snr(18)
symbols, observations = channel.sequence(2000 if args.quick else 6000)
model = KRLS(kernels.Odd(kernels.RBF(2.0)), threshold=1e-3, ridge=0.01)
equalizer = KernelEqualizer(model, lags=3, delay=1, alphabet="16qam", symmetric=True)
equalizer.equalize_many(observations[:1000], symbols[:1000])
equalizer.reset_errors()
decisions, ratios = equalizer.equalize_many(observations[1000:], symbols[1000:], training=0, soft=True)
print(f"\nwith an odd kernel: {equalizer.symbol_error_rate:.4f}, {model.size} points")
sure = np.abs(ratios).min(axis=1) > 3.0
wrong = np.abs(decisions - symbols[999:-1]) > 1e-6  # about the symbols one before
print(f"of {sure.mean():.0%} of the symbols all bits are 20 times as likely as not; {wrong[sure].mean():.2%} are wrong")

if args.plot:
    from matplotlib import pyplot

    from streamkernel import plotting

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4))
    plotting.plot_error_rates(points, bits=False, ax=axes[0])
    plotting.plot_constellation(observations[:1500], symbols[:1500], "observations", axes[1])
    figure.savefig(args.plot)
