"""Parts of arrays by their start and length."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tandem.base.jit import inlined

Scalar = TypeVar("Scalar", bound=np.generic)


@inlined
def view(array: npt.NDArray[Scalar], start: int, count: int) -> npt.NDArray[Scalar]:
    """`array[start : start + count]`; the range must lie inside the array, and is not checked in
    compiled code."""
    return array[start : start + count]
