"""A stream of words, gaps and wild scales with a change in the middle, and not one parameter; then what was chosen."""

import argparse
import math

import numpy as np
from river import metrics

from streamkernel import AutoKernelRegressor

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a short stream")
args = parser.parse_args()
count = 300 if args.quick else 3000

random = np.random.default_rng(1)
model, error, inside = AutoKernelRegressor(), metrics.RMSE(), 0
for t in range(count):
    pressure, speed = 1e5 + 2e3 * random.normal(), math.exp(random.normal())
    mode = str(random.choice(["eco", "boost"]))
    x = {"pressure": pressure if random.random() < 0.95 else None, "speed": speed, "mode": mode, "serial": 4711}
    y = math.sin((pressure - 1e5) / 1e3) + (2.0 if mode == "boost" else 0.0) * math.log(speed)
    y = (y if t < count // 2 else 3.0 - y) + 0.2 * random.normal()

    interval = model.predict_one(x, with_interval=True)
    inside += interval.lower <= y <= interval.upper
    error.update(y, model.predict_one(x))
    model.learn_one(x, y)

print(f"{error}, {100 * inside / count:.1f} % of the targets inside their 90 % interval\n")
print(model.explain())
