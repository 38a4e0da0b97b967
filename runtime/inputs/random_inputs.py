"""Random inputs, for runs without input files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import Tensor
from tandem.runtime.element_types import dtype_of, is_float, limits_of

_BYTE_BITS = 8


def random_inputs(tensors: Sequence[Tensor], seed: int) -> dict[str, NDArray[Any]]:
    """An array for each tensor, the same for the same seed.

    Floats have the standard normal distribution; indices are uniform over the rows of their tables,
    and those of a byte or less over all values; wider integers, which may be counts, are 0 or 1.
    """
    generator = np.random.default_rng(seed)
    return {each.name: _drawn(generator, each) for each in tensors}


def _drawn(generator: np.random.Generator, tensor: Tensor) -> NDArray[Any]:
    dtype = dtype_of(tensor.dtype)
    if is_float(dtype):
        return generator.standard_normal(tensor.shape).astype(dtype)
    limits = limits_of(dtype)
    if limits is not None and tensor.rows is not None:
        return generator.integers(0, tensor.rows, tensor.shape).astype(dtype)
    if limits is not None and dtype.itemsize * 8 == _BYTE_BITS:
        low, high = limits
        # Drawn as bytes, so that a seed gives the bytes that it always gave.
        drawn = generator.integers(low, high, tensor.shape, _byte(low), endpoint=True)
        return drawn.astype(dtype)
    return generator.integers(0, 2, tensor.shape).astype(dtype)


def _byte(low: int) -> type[np.generic]:
    return np.int8 if low < 0 else np.uint8
