"""Inputs of many batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from runtime.artifact import Tensor

__all__ = ["batches_of"]

_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


def batches_of(arrays: _Arrays, tensors: Sequence[Tensor]) -> list[_Arrays]:
    """The arrays, cut along their first axis if each holds as many of what a run is given.

    Whatever else they are, they stay one batch: whether that fits is said by `check_inputs`.
    """
    counts = {_count(arrays.get(each.name), each) for each in tensors}
    if len(counts) != 1:
        return [arrays]
    number = counts.pop()
    if number < 2:
        return [arrays]
    return [
        {
            each.name: _part(arrays[each.name], len(arrays[each.name]) // number, at)
            for each in tensors
        }
        for at in range(number)
    ]


def _count(array: NDArray[Any] | None, tensor: Tensor) -> int:
    """How many of the tensor an array holds, or 0 if it is no whole number of them."""
    if array is None or not tensor.shape or not tensor.shape[0] or array.ndim != len(tensor.shape):
        return 0
    whole, rest = divmod(len(array), tensor.shape[0])
    return whole if not rest and array.shape[1:] == tensor.shape[1:] else 0


def _part(array: NDArray[Any], size: int, at: int) -> NDArray[Any]:
    return array[at * size : (at + 1) * size]
