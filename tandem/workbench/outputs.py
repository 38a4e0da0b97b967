"""The outputs of a run as JSON, and the classes that they rank highest."""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Array: TypeAlias = NDArray[Any]
_TOP = 5


def output_json(name: str, array: _Array) -> dict[str, object]:
    """The entry of an output in the command's JSON."""
    return {
        "name": name,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "top5": top5(array),
    }


def top5(array: _Array) -> list[int] | None:
    """Indices of the five greatest values, greatest first and the lower index before an equal one;
    None unless the array holds the class scores of one input."""
    if array.ndim not in (1, 2) or array.size != array.shape[-1] or array.size < 2:
        return None
    values = array.reshape(-1)
    order = np.argsort(values, kind="stable")
    # The groups of equal values in descending order; within a group the indices ascend.
    _, first = np.unique(values[order], return_index=True)
    ends = [*first[1:], len(order)]
    classes = [
        int(index)
        for begin, end in zip(first[::-1], ends[::-1], strict=True)
        for index in order[begin:end]
    ]
    return classes[:_TOP]
