"""Small quantised networks whose weights are codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph import Atom, Constant
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.ir.dtypes import BOOL, UINT2, UINT4
from tandem.compiler.plan.codes import Codes
from tandem.hw.weight_formats import INT4, WeightFormat
from tests.support.compiler.plan.quantised_graphs import Net

_TYPES = {1: BOOL, 2: UINT2, 4: UINT4}


@dataclass
class CodedNet(Net):
    """A network under construction, whose layers take these formats in turn.

    Attributes
    ----------
    group
        Weights with one scale, along the input channels.
    """

    formats: Sequence[WeightFormat] = (INT4,)
    group: int = 16
    _drawn: dict[int, tuple[NDArray[np.int8], Codes]] = field(default_factory=dict)
    _count: int = 0

    def weight(self, *shape: int) -> NDArray[np.int8]:
        """Random weights of the next format, widened."""
        weights = self.formats[self._count % len(self.formats)]
        codes = random_codes(self._rng, weights, shape, self.group)
        self._count += 1
        found: NDArray[np.int8] = codes.widened.array
        self._drawn[id(found)] = found, codes
        return found

    def stored(self, name: str, weight: NDArray[np.int8]) -> Atom:
        _, codes = self._drawn[id(weight)]
        given = (codes.codes,) if codes.scales is None else (codes.codes, codes.scales)
        return self.call(f"{name}_weight", "widen", *given, given=codes.attributes)


def random_codes(
    rng: np.random.Generator, weights: WeightFormat, shape: tuple[int, ...], group: int
) -> Codes:
    """Random codes of a weight of a shape, and scales of groups along its axis 1."""
    codes = rng.integers(0, 1 << weights.bits, shape).astype(_dtype(weights.bits))
    if not weights.scaled:
        return Codes(Constant(codes), None, Widen(weights.table))
    groups = (shape[0], -(-shape[1] // group), *shape[2:])
    scales = rng.integers(0, weights.largest_scale + 1, groups).astype(_dtype(4))
    return Codes(Constant(codes), Constant(scales), Widen(weights.table, 1, group))


def _dtype(bits: int) -> np.dtype[np.generic]:
    return _TYPES[bits].numpy
