"""Constants that a graph has as codes, and as which numbers patterns see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.compressed import Widen
from tandem.hw.weight_formats import WeightFormat, spread_scales

_KEPT = 8
"""Widened constants that are kept: a layer is matched several times."""
_BITS = {2: 1, 4: 2, 16: 4}
"""The width of a code, by the entries of its table."""


@dataclass(frozen=True, slots=True)
class Codes:
    """The operands of a `widen` whose codes are constant.

    Attributes
    ----------
    codes
        A code for each weight.
    scales
        A scale for each group of weights, or None.
    attributes
        The table, and the groups.
    """

    codes: Constant
    scales: Constant | None
    attributes: Widen

    @property
    def format(self) -> WeightFormat:
        """What the codes mean."""
        table = self.attributes.table
        return WeightFormat("codes", _BITS[len(table)], table, scaled=self.scales is not None)

    @property
    def scale_of_each(self) -> NDArray[np.uint8]:
        """The scale of each weight; without scales, 1."""
        codes = self.codes.array
        if self.scales is None:
            return np.ones(codes.shape, np.uint8)
        scales, axis = self.scales.array.astype(np.uint8), self.attributes.axis
        return spread_scales(scales, self.attributes.group, axis, codes.shape[axis])

    @property
    def flattened(self) -> Codes:
        """Codes of a kernel [O, C, KH, KW] as [O, C * KH * KW, 1, 1]. The weights of a group are no
        neighbours then, so that every weight has its own scale."""
        outputs = self.codes.array.shape[0]

        def flat(array: NDArray[Any]) -> Constant:
            return Constant(np.ascontiguousarray(array.reshape(outputs, -1, 1, 1)))

        codes = flat(self.codes.array)
        if self.scales is None:
            return Codes(codes, None, self.attributes)
        scales = flat(self.scale_of_each.astype(self.scales.array.dtype))
        return Codes(codes, scales, replace(self.attributes, axis=1, group=1))

    @property
    def call(self) -> Call:
        """The operator that widens them."""
        operands = (self.codes,) if self.scales is None else (self.codes, self.scales)
        return Call(OPERATORS["widen"], operands, self.attributes)

    @property
    def widened(self) -> Constant:
        """The int8 values."""
        return _widened(self)


@lru_cache(maxsize=_KEPT)
def _widened(codes: Codes) -> Constant:
    given = codes.codes.array.astype(np.uint8)
    return Constant(codes.format.widened(given, codes.scale_of_each))
