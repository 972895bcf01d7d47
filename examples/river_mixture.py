"""Which kernel, and how fast to forget? A mixture of experts in a river pipeline finds out, and says what it found."""

import argparse

from river import evaluate, metrics, preprocessing
from river.datasets import synth

from streamkernel import KRLS, KernelMixture, kernels

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a short stream")
args = parser.parse_args()
count = 300 if args.quick else 3000

experts = [
    KRLS(kernels.RBF(width) + 1.0, threshold=1e-2, ridge=0.05, forgetting=pace, forget="walk", max_size=100)
    for width in (2.0, 6.0)
    for pace in (1.0, 0.999, 0.98)
]
contestants = {repr(expert.kernel) + f", forgetting {expert.forgetting}": expert for expert in experts}
contestants["the mixture of all"] = KernelMixture(experts)
for name, model in contestants.items():
    stream = synth.FriedmanDrift("gra", position=(count // 3, 2 * count // 3), seed=1).take(count)
    pipeline = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(regressor=model)
    print(f"{name:40s} {evaluate.progressive_val_score(stream, pipeline, metrics.RMSE())}")

print("\nweights at the end:", " ".join(f"{weight:.2f}" for weight in model.weights))
