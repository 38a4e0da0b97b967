"""Weights of more than 8 bits as int8 weights of repeated inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.dtypes import INT8

_MOST_PARTS = 3
"""The maximum number of int8 weights whose sum is one weight: 255 is 127 + 127 + 1."""


@dataclass(frozen=True, slots=True, eq=False)
class NarrowWeights:
    """int8 weights that give the sums of wider ones, on data whose inputs are repeated.

    An input that is multiplied by 200 is one that is multiplied by 127, and once more by 73.

    Attributes
    ----------
    values
        int8[O, inputs of a group, ...].
    inputs
        The input for each of these, of all groups; None for the inputs as they are.
    """

    values: NDArray[np.int8]
    inputs: NDArray[np.int64] | None

    @staticmethod
    def of(values: NDArray[Any], groups: int = 1) -> NarrowWeights | None:
        """The narrow weights for `values` [O, I / groups, ...]; None if a weight is the sum of too
        many."""
        if values.dtype == np.int8:
            return NarrowWeights(values, None)
        own = values.shape[1]
        parts: list[NDArray[np.int8]] = []
        taken: list[NDArray[np.int64]] = []
        rest, inputs = values.astype(np.int64), np.arange(own)
        while not parts or inputs.size:
            if len(parts) == _MOST_PARTS:
                return None
            part = np.clip(rest, INT8.low, INT8.high)
            parts.append(part.astype(np.int8))
            taken.append(inputs)
            rest = rest - part
            wide = rest.any(axis=(0, *range(2, rest.ndim)))
            rest, inputs = rest[:, wide], inputs[wide]
        if len(parts) == 1:
            return NarrowWeights(parts[0], None)
        of_group = np.concatenate(taken)
        whole = np.arange(groups)[:, None] * own + of_group
        return NarrowWeights(np.concatenate(parts, axis=1), whole.reshape(-1))
