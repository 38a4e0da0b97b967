"""The element types of tensors in artifacts, by NumPy's names."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

_ADDED = frozenset(["bfloat16", "float4_e2m1fn", "int2", "int4", "uint2", "uint4"])
"""Types that the package `ml_dtypes` gives to NumPy; in arrays 2 and 4 bits take a byte."""
_ADDED_FLOATS = ("bfloat16", "float4_e2m1fn")
DTYPES = _ADDED | frozenset(
    ["bool", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
"""The names of the types that an artifact may have."""


def dtype_of(name: object) -> np.dtype[Any]:
    """The NumPy type of a name or type; TypeError if there is none."""
    if isinstance(name, str) and name in _ADDED:
        return _added(name)
    return np.dtype(name)  # type: ignore[call-overload]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a type is a float; those that are added are no floats to NumPy."""
    return dtype.kind == "f" or dtype.name in _ADDED_FLOATS


def limits_of(dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """The least and the greatest value of an integer type; None for other types."""
    if dtype.name in _ADDED and not is_float(dtype):
        bits = int(dtype.name[-1])
        return (
            (0, (1 << bits) - 1)
            if dtype.name[0] == "u"
            else (-(1 << bits - 1), (1 << bits - 1) - 1)
        )
    if dtype.kind not in "iu":
        return None
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)


@cache
def _added(name: str) -> np.dtype[Any]:
    """The type of a name, from a package that is needed for nothing else."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
