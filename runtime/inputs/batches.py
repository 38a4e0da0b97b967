"""Arrays of several batches along their first axis, split into single batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import Tensor
from tandem.runtime.errors import InputError

_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


def batches_of(arrays: _Arrays, tensors: Sequence[Tensor]) -> list[_Arrays]:
    """The batches of the arrays, if all arrays hold the same number of batches.

    Other arrays are returned as one batch, which `check_inputs` checks.
    """
    counts = {number_of_batches(arrays.get(tensor.name), tensor) for tensor in tensors}
    count = counts.pop() if len(counts) == 1 else 0
    if count < 2:
        return [{**arrays, **_batch(arrays, tensors, 0)} if count else arrays]
    return [_batch(arrays, tensors, number) for number in range(count)]


def samples_of(
    path: Path, arrays: _Arrays, tensors: Sequence[Tensor]
) -> Iterator[dict[str, NDArray[Any]]]:
    """The batches of the arrays of a file.

    Raises
    ------
    InputError
        An array that is missing, of another element type, or of no whole number of batches;
        different numbers of batches.
    """
    counts = set()
    for tensor in tensors:
        array = arrays.get(tensor.name)
        if array is None:
            raise InputError(f"{path}: input {tensor.name} is missing")
        size = _batch_size(tensor)
        whole = np.atleast_1d(array) if not tensor.shape else array
        fits = whole.ndim and whole.shape[1:] == tensor.shape[1:] and not len(whole) % max(size, 1)
        if not fits or whole.dtype.name != tensor.dtype:
            raise InputError(
                f"{path}: input {tensor.name} is {tensor}, or several of them along the first "
                f"axis, not {array.dtype}{list(array.shape)}"
            )
        counts.add(len(whole) // max(size, 1))
    if len(counts) != 1:
        raise InputError(f"{path}: its arrays hold different numbers of batches")
    for number in range(counts.pop()):
        yield _batch(arrays, tensors, number)


def number_of_batches(array: NDArray[Any] | None, tensor: Tensor) -> int:
    """The number of batches in an array, or 0 if that is no whole number."""
    if array is not None and not tensor.shape:
        # Scalars, stacked or alone.
        return array.size if array.ndim < 2 else 0
    if array is None or not tensor.shape[0] or array.ndim != len(tensor.shape):
        return 0
    count, rest = divmod(len(array), tensor.shape[0])
    return count if not rest and array.shape[1:] == tensor.shape[1:] else 0


def _batch(arrays: _Arrays, tensors: Sequence[Tensor], number: int) -> dict[str, NDArray[Any]]:
    """Batch `number` of each array, in the shapes of the tensors."""
    batch = {}
    for tensor in tensors:
        size = _batch_size(tensor)
        part = np.atleast_1d(arrays[tensor.name])[number * size : (number + 1) * size]
        batch[tensor.name] = part.reshape(tensor.shape)
    return batch


def _batch_size(tensor: Tensor) -> int:
    """The extent of a batch along the first axis; 1 for a scalar, whose batches are stacked."""
    return tensor.shape[0] if tensor.shape else 1
