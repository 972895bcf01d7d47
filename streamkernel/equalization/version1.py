"""Equalizers of checkpoint format 1, in today's terms.

They had a model for each part of a symbol, learned one sample at a time. What two models hold cannot become one
recursion to the last bit, so a restored equalizer keeps them (`windows.Regression` with `separate`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .calibration import Temperature
from .windows import NONE


def state(old: dict[str, Any], delay: int, lags: int, size: int) -> dict[str, Any]:
    """What `KernelEqualizer._get_state` gives, from what it gave in format 1.

    Parameters
    ----------
    old
        "observations", the last `lags`, the latest first; "known", the last `delay` + 1 symbols, the oldest first, as
        numbers or None, each with whether it is for training; "models", that of the imaginary part where there is one.
    delay, lags
        Of the equalizer.
    size
        Of its alphabet.

    """
    received = np.array(old["observations"][::-1], dtype=np.float64).reshape(-1, 2)
    received = received[max(0, len(received) - lags + 1) :]
    known = old["known"]
    waiting = known[max(0, len(known) - delay) :]
    receiver = {
        # How many were seen counts until there are `delay`; no more are remembered.
        "_seen": len(known),
        "_waiting": np.array(
            [number if training and number is not None else NONE for number, training in waiting], dtype=np.int64
        ),
        "_history": received.T.reshape(2, -1, 1),
        "_past": np.zeros((2, 0)),
        "models": old["models"],
        "temperature": Temperature().get_state(),
    }
    return {
        "receiver": receiver if known else None,
        "complex": old["complex"],
        "separate": True,
        "sent": np.array([NONE if number is None else number for number, _ in waiting], dtype=np.int64),
        "probabilities": np.full(size, np.nan),
        "counts": old["counts"],
    }
