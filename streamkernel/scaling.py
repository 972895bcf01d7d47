"""Features in fixed units: a scaling that was found elsewhere and stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from river import base, utils

from . import checks
from .checkpoint import Checkpointed
from .kernels import Feature


class FixedScaler(base.MiniBatchTransformer, Checkpointed):
    """(value − center) / unit of every feature, the same for good.

    A scaler that goes on learning moves what a model has learned under it. This one holds what a fit has found.

    Parameters
    ----------
    centers
        What is subtracted, by feature.
    units
        What is divided by, by feature.

    Examples
    --------

    >>> from streamkernel.scaling import FixedScaler
    >>> scaler = FixedScaler({"a": 1.0, "b": 0.0}, {"a": 2.0, "b": 1.0})
    >>> scaler.transform_one({"a": 5.0, "b": 3.0})
    {'a': 2.0, 'b': 3.0}
    >>> scaler.transform_one({"c": 5.0})
    Traceback (most recent call last):
    ...
    ValueError: the sample has the features 'c', which the scaler does not know: it was fitted on 'a', 'b'

    """

    def __init__(self, centers: Mapping[Feature, float], units: Mapping[Feature, float]) -> None:
        if set(centers) != set(units):
            raise ValueError(f"centers and units must have the same features, got {centers!r} and {units!r}")
        for feature in centers:
            checks.number(f"centers[{feature!r}]", centers[feature])
            checks.number(f"units[{feature!r}]", units[feature], low=0.0, open_low=True)
        self.centers = centers
        self.units = units

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"centers": {}, "units": {}}

    def learn_one(self, x: Mapping[Feature, Any]) -> None:
        """Nothing is learned."""

    def learn_many(self, X: Any) -> None:
        """Nothing is learned."""

    def transform_one(self, x: Mapping[Feature, Any]) -> dict[Feature, float]:
        """The sample in the fixed units."""
        self._check(x)
        return {name: (value - self.centers[name]) / self.units[name] for name, value in x.items()}

    def transform_many(self, X: Any) -> Any:
        """The samples in the fixed units."""
        data = utils.dataframe.into_frame(X)
        columns = data.columns
        self._check(columns)
        centers, units = (np.array([values[name] for name in columns]) for values in (self.centers, self.units))
        scaled = (utils.dataframe.to_numpy(data) - centers) / units
        return utils.dataframe.to_native_frame(scaled, columns=columns, like=data)

    def _check(self, names: Any) -> None:
        if unknown := [name for name in names if name not in self.centers]:
            shown, known = (", ".join(map(repr, group)) for group in (unknown, self.centers))
            raise ValueError(
                f"the sample has the features {shown}, which the scaler does not know: it was fitted on {known}"
            )

    def _get_state(self) -> dict[str, Any]:
        return {}

    def _set_state(self, state: dict[str, Any]) -> None:
        return
