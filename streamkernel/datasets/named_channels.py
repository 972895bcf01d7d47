"""Channels that equalizers are compared on, by name."""

from __future__ import annotations

from collections.abc import Callable

from streamkernel.datasets.channel import NonlinearChannel, compressive, cubic, quadratic_cubic, saleh, tanh

__all__ = ["CHANNELS", "named_channel"]

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
