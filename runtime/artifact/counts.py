"""Results whose extents are known only after a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.errors import RunError


def cut(name: str, array: NDArray[Any], extents: Mapping[int, int]) -> NDArray[Any]:
    """The array `name`, of the greatest possible shape, cut to its extents along some axes.

    Raises
    ------
    RunError
        An extent is negative, or greater than the array's.
    """
    if not extents:
        return array
    parts = [slice(None)] * array.ndim
    for axis, extent in extents.items():
        if not 0 <= extent <= array.shape[axis]:
            raise RunError(
                f"{name} has {extent} elements along axis {axis}: 0 to {array.shape[axis]} fit"
            )
        parts[axis] = slice(extent)
    return np.ascontiguousarray(array[tuple(parts)])
