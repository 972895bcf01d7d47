"""Linear adaptive equalizers with decision feedback, on complex arrays: recursive least squares and normalized LMS."""

from __future__ import annotations

from typing import Any

from .jit import jit


@jit
def equalize(
    rows: Any,
    known: Any,
    alphabet: Any,
    feedback: int,
    state: Any,
    rule: tuple[float, float, bool],
    workspace: Any,
    decided: Any,
) -> None:
    """Decide on every row, then learn the known symbol, or the decision where `directed`.

    Requires: `rows` are the features that do not depend on decisions; `known` are symbols' numbers, or −1; `state` is
    the weights, their covariance and the last `feedback` symbols, the newest first; `rule` is the forgetting, the
    length of a step, zero for recursive least squares, and whether decisions are learned; `workspace` is two vectors
    of as many numbers as there are weights.
    Ensures: the estimate of a symbol is Σ weights · features.
    """
    weights, covariance, past = state
    forgetting, step, directed = rule
    sample, gain = workspace
    width = rows.shape[1]
    total = width + feedback
    for t in range(rows.shape[0]):
        for i in range(width):
            sample[i] = rows[t, i]
        for i in range(feedback):
            sample[width + i] = past[i]
        estimate = 0j
        for i in range(total):
            estimate += weights[i] * sample[i]
        best, nearest = 0, abs(estimate - alphabet[0])
        for k in range(1, alphabet.shape[0]):
            distance = abs(estimate - alphabet[k])
            if distance < nearest:
                best, nearest = k, distance
        decided[t] = best
        learned = known[t] if known[t] >= 0 else best
        if known[t] >= 0 or directed:
            error = alphabet[learned] - estimate
            if step > 0.0:
                power = 1e-12
                for i in range(total):
                    power += abs(sample[i]) ** 2
                for i in range(total):
                    weights[i] += step / power * error * sample[i].conjugate()
            else:
                spread = forgetting + 0.0
                for i in range(total):
                    value = 0j
                    for j in range(total):
                        value += covariance[i, j] * sample[j].conjugate()
                    gain[i] = value
                    spread += (sample[i] * value).real
                for i in range(total):
                    weights[i] += gain[i] / spread * error
                for i in range(total):
                    scale = gain[i] / spread
                    for j in range(total):
                        covariance[i, j] = (covariance[i, j] - scale * gain[j].conjugate()) / forgetting
        for i in range(feedback - 1, 0, -1):
            past[i] = past[i - 1]
        if feedback > 0:
            past[0] = alphabet[learned]
