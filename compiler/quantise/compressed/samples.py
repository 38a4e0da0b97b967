"""Samples of the data of products, kept for calibrated rounding."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.products import WeightedProduct

MOST_ROWS: Final = 4096
"""Rows of data of a product that are taken."""
_MOST_ELEMENTS: Final = 1 << 22
"""Elements of a value that are kept, beyond its first sample."""


class DataSamples:
    """Values of the named tensors over samples; the first ones, up to a number of elements."""

    def __init__(self, names: Collection[str]) -> None:
        self._kept: dict[str, list[NDArray[Any]]] = {name: [] for name in names}

    def add(self, name: str, value: NDArray[Any]) -> None:
        """Keep a value, if its tensor is one of those named and has not enough."""
        kept = self._kept.get(name)
        if kept is not None and sum(each.size for each in kept) < _MOST_ELEMENTS:
            kept.append(np.array(value))

    def values(self, name: str) -> list[NDArray[Any]]:
        """The kept values of a tensor."""
        return self._kept.get(name, [])

    def rows(self, tensor: str, product: WeightedProduct) -> NDArray[np.float32] | None:
        """The rows that a product multiplies, of the data's tensor; None without samples."""
        values = self.values(tensor)
        if not values:
            return None
        share = -(-MOST_ROWS // len(values))
        return np.concatenate([product.rows(value, share) for value in values])

    def gram(self, tensor: str, product: WeightedProduct) -> Gram | None:
        """The products of the columns of the data; None without samples, and for a grouped
        convolution, whose groups have data of their own."""
        rows = None if product.groups > 1 else self.rows(tensor, product)
        return None if rows is None else Gram.of(rows)
