"""Names for the arrays that the core works on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Matrices = NDArray[np.float64]
Program = NDArray[np.int64]
Table = NDArray[np.int64]
Tables = NDArray[np.int64]
Indices = NDArray[np.int64]
