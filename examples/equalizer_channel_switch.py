"""A channel whose taps change places: an equalizer that forgets converges again, one that does not is held back."""

import argparse

from streamkernel import KRLS, KernelEqualizer, datasets, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="short sequences")
args = parser.parse_args()
block = 100 if args.quick else 500

before = datasets.NonlinearChannel(taps=(1.0, 0.5), noise=0.2, seed=2).sequence(4 * block)
after = datasets.NonlinearChannel(taps=(0.5, 1.0), noise=0.2, seed=3).sequence(4 * block)
print(f"bit error rate per {block} symbols; the channel changes at |")
for forgetting in (1.0, 0.99):
    model = KRLS(kernels.RBF(1.0), threshold=0.01, ridge=0.01, forgetting=forgetting)
    equalizer = KernelEqualizer(model, lags=2, delay=1)
    rates = []
    for symbols, observations in (before, after):
        for start in range(0, len(symbols), block):
            equalizer.reset_errors()
            equalizer.equalize_many(observations[start : start + block], symbols[start : start + block])
            rates.append(f"{equalizer.bit_error_rate:.3f}")
    print(f"forgetting {forgetting:4.2f}:", *rates[:4], "|", *rates[4:])
