"""Channels that equalizers are compared on, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamkernel.datasets.channel import NonlinearChannel, compressive, cubic, quadratic_cubic, saleh, tanh

__all__ = ["CHANNELS", "NONLINEARITIES", "named_channel", "read_channel"]

NONLINEARITIES = {function.__name__: function for function in (compressive, cubic, quadratic_cubic, saleh, tanh)}

# Observations a decision sees, and its delay, are part of the task: all equalizers have the same.
CHANNELS: dict[str, Callable[[int | None], NonlinearChannel]] = {
    # Engel, Mannor & Meir (2004), section 5.3.
    "cubic": lambda seed: NonlinearChannel("bpsk", (1.0, 0.5), cubic, lags=2, delay=1, seed=seed),
    # The same with more to see: what a longer memory is worth.
    "cubic5": lambda seed: NonlinearChannel("bpsk", (1.0, 0.5), cubic, lags=5, delay=2, seed=seed),
    # Proakis, Digital Communications, channel B: a deep notch, which no linear filter inverts.
    "notch": lambda seed: NonlinearChannel("bpsk", (0.407, 0.815, 0.407), quadratic_cubic, lags=5, delay=2, seed=seed),
    "pam4": lambda seed: NonlinearChannel("pam4", (1.0, 0.3), tanh, lags=3, delay=1, seed=seed),
    "qpsk": lambda seed: NonlinearChannel("qpsk", (1.0, 0.5j), compressive, lags=3, delay=1, seed=seed),
    # A filter before a power amplifier near saturation.
    "qam16": lambda seed: NonlinearChannel("16qam", (1.0, 0.15 - 0.1j), tanh, lags=3, delay=1, seed=seed),
    # The same before a traveling-wave tube 6 dB below its saturation.
    "satellite": lambda seed: NonlinearChannel("16qam", (0.35, 0.07j), saleh, lags=3, delay=1, seed=seed),
}


def named_channel(name: str, seed: int | None = None) -> NonlinearChannel:
    """One of the channels that equalizers are compared on.

    Parameters
    ----------
    name
        "cubic", "cubic5" (BPSK), "notch" (BPSK, three taps), "pam4", "qpsk", "qam16" or "satellite" (16-QAM).
    seed
        Random seed number used for reproducibility.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> channel = datasets.named_channel("notch", seed=1).at_snr(15)
    >>> channel.memory, channel.lags, channel.delay
    (2, 5, 2)

    """
    if name not in CHANNELS:
        raise ValueError(f"name must be one of {', '.join(map(repr, CHANNELS))}, got {name!r}")
    return CHANNELS[name](seed)


def read_channel(path: str | Path, seed: int | None = None) -> NonlinearChannel:
    """A channel from a JSON file: alphabet, taps, nonlinearity, lags and delay, all but the taps optional.

    A complex tap or symbol is a pair [real, imaginary]; a nonlinearity is the name of one of `datasets.channel`.
    """
    try:
        description: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        known = {"alphabet", "taps", "nonlinearity", "lags", "delay"}
        if not isinstance(description, dict) or not {"taps"} <= set(description) <= known:
            raise ValueError(f"it must be an object with taps and optionally {', '.join(sorted(known - {'taps'}))}")
        for name in {"taps", "alphabet"} & set(description):
            if not isinstance(description[name], str):
                description[name] = [complex(*v) if isinstance(v, list) else v for v in description[name]]
        bend = description.get("nonlinearity")
        if bend is not None and bend not in NONLINEARITIES:
            raise ValueError(f"nonlinearity must be one of {', '.join(map(repr, NONLINEARITIES))}, got {bend!r}")
        return NonlinearChannel(**description | {"nonlinearity": NONLINEARITIES.get(str(bend)), "seed": seed})
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"cannot read a channel from {path}: {error}") from error
