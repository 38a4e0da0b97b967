"""The element types of tensors in artifacts, by NumPy's names."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

DTYPES = frozenset(
    ["bool", "float16", "bfloat16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
"""The names of the types that an artifact may have."""


def dtype_of(name: object) -> np.dtype[Any]:
    """The NumPy type of a name or type; TypeError if there is none."""
    if isinstance(name, str) and name == "bfloat16":
        return _bfloat16()
    return np.dtype(name)  # type: ignore[call-overload]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a type is a float; bfloat16 is no float to NumPy."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


@cache
def _bfloat16() -> np.dtype[Any]:
    """NumPy's type of it, from a package that is needed for nothing else."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)
