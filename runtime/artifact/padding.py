"""Padding of tensors in blocks: elements that are undefined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class PaddedAxis(Struct, frozen=True, forbid_unknown_fields=True):
    """An axis in blocks, such as images or channels, whose last block is not full.

    Element i is at i // block along the tensor's axis `outer` and at i % block along the axis
    `inner`, whose extent is the block. Where a tensor has several planes, as of bytes, one behind
    the other along `outer`, this holds in each plane.

    What is behind the last element is padding, which is undefined: devices leave different values
    there, which influence nothing that is defined.

    Attributes
    ----------
    extent
        The number of elements.
    """

    extent: int
    outer: int
    inner: int

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether whole planes of blocks with so many elements fill a tensor of this shape."""
        if self.extent < 1 or not 0 <= self.outer < self.inner < len(shape):
            return False
        parts, block = shape[self.outer], shape[self.inner]
        return block > 0 and parts > 0 and parts % self._blocks(block) == 0

    def defined(self, shape: Sequence[int]) -> NDArray[np.bool_]:
        """Whether an element is no padding: a mask that broadcasts to `shape`, which fits."""
        parts, block = shape[self.outer], shape[self.inner]
        number = np.arange(parts)[:, None] % self._blocks(block) * block + np.arange(block)
        others = [axis for axis in range(len(shape)) if axis not in (self.outer, self.inner)]
        return np.expand_dims(number < self.extent, others)

    def _blocks(self, block: int) -> int:
        return -(-self.extent // block)
