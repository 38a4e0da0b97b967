"""The element types of tensors in artifacts, by NumPy's names."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

DTYPES = frozenset(
    ["bool", "float16", "bfloat16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
"""The names of the types that an artifact may have."""


def dtype_of(name: object) -> np.dtype[Any]:
    """The NumPy type of a name or type; TypeError if there is none."""
    return _BFLOAT16 if name == "bfloat16" else np.dtype(name)  # type: ignore[call-overload]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a type is a float; bfloat16 is no float to NumPy."""
    return dtype.kind == "f" or dtype == _BFLOAT16
