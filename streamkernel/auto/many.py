"""Many raw samples at once: frames with words and gaps, or arrays, to samples by name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import utils

Sample = dict[Hashable, Any]


def samples_of(X: Any) -> tuple[list[Sample], Any]:
    """The rows of a data frame, or of an array whose columns are 0, 1, ..., as dicts; and the frame, None for an array.

    Examples
    --------

    >>> import pandas as pd
    >>> from streamkernel.auto.many import samples_of
    >>> samples_of(pd.DataFrame({"a": [1.0, 2.0], "word": ["x", None]}))[0]
    [{'a': 1.0, 'word': 'x'}, {'a': 2.0, 'word': None}]
    >>> samples_of([[1.0, 2.0]])[0]
    [{0: 1.0, 1: 2.0}]

    """
    if isinstance(X, np.ndarray | list | tuple):
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions (samples, features), got shape {array.shape}")
        names = range(array.shape[1])
        return [dict(zip(names, row, strict=True)) for row in array.tolist()], None
    data = utils.dataframe.into_frame(X)
    columns = [data.get_column(name).to_list() for name in data.columns]  # data[name] is not for tuples
    return [dict(zip(data.columns, row, strict=True)) for row in zip(*columns, strict=True)], data


def like(values: Any, data: Any) -> Any:
    """Predictions as a series where the samples were a frame."""
    return values if data is None else utils.dataframe.to_native_series(values, name=None, like=data)
