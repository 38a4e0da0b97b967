"""Formats of compressed weights: codes of few bits, which a table and a scale widen to int8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tandem.hw.errors import ConfigError

SCALE_BITS: Final = 4
"""The width of the scale of a group, an unsigned integer."""


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """What a stored weight means: `table[code]`, times the scale of its group where groups have
    scales, is an int8 value; what is multiplied in the array is that value. (Real numbers are these
    values times the scale of their output channel, as ever.)

    Attributes
    ----------
    name
        As in options and texts.
    bits
        The width of a code: 1, 2 or 4.
    table
        The int8 value of each code: 2^bits of them.
    scaled
        Whether a group of weights has a scale: 0 to 15, a factor of its values. A product keeps
        its low eight bits; a quantiser chooses scales whose products fit.
    """

    name: str
    bits: int
    table: tuple[int, ...]
    scaled: bool = False

    def __post_init__(self) -> None:
        if self.bits not in (1, 2, 4):
            raise ConfigError(
                f"format {self.name}: codes of {self.bits} bits; 1, 2 or 4 are allowed"
            )
        if len(self.table) != 1 << self.bits:
            raise ConfigError(
                f"format {self.name}: a table of {len(self.table)} entries; codes of {self.bits} "
                f"bits need {1 << self.bits}"
            )
        if outside := [value for value in self.table if not -128 <= value <= 127]:
            raise ConfigError(f"format {self.name}: {outside[0]} is no int8 value")

    @property
    def largest_scale(self) -> int:
        """The largest scale with which all values of the table are int8; 1 without scales."""
        if not self.scaled:
            return 1
        above, below = max(0, *self.table), min(0, *self.table)
        bounds = [127 // above] * (above > 0) + [128 // -below] * (below < 0)
        return min([(1 << SCALE_BITS) - 1, *bounds])

    def bits_per_weight(self, group: int) -> float:
        """What a weight takes of the memory where `group` of them have a scale."""
        return self.bits + (SCALE_BITS / group if self.scaled else 0)

    def widened(self, codes: NDArray[np.uint8], scales: NDArray[np.uint8]) -> NDArray[np.int8]:
        """The int8 values of codes; `scales` are of the same shape, or of one that spreads to it.
        A format without scales ignores them."""
        values = np.array(self.table, np.int16)[codes]
        if self.scaled:
            values = values * scales
        return values.astype(np.uint16).astype(np.uint8).view(np.int8)


def spread_scales(
    scales: NDArray[np.uint8], group: int, axis: int, extent: int
) -> NDArray[np.uint8]:
    """The scale of each weight, where `group` weights along an axis of this extent share one; the
    last group may be partial."""
    return np.take(np.repeat(scales, group, axis), range(extent), axis)


INT4: Final = WeightFormat("int4", 4, (*range(8), *range(-8, 0)), scaled=True)
"""Integers of four bits in two's complement, in groups: progressive quantisation (QServe, Lin et
al., MLSys'25), an integer scale for each group and a real one for each channel."""

MXFP4: Final = WeightFormat(
    "mxfp4", 4, (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12), scaled=True
)
"""E2M1 of the OCP Microscaling Formats (v1.0), doubled: scales of groups are powers of two, and 1,
2, 4 and 8 are exact."""

NF4: Final = WeightFormat(
    "nf4", 4, (-12, -8, -6, -5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 9, 12), scaled=True
)
"""Sixteen quantiles of a normal distribution (QLoRA, Dettmers et al., NeurIPS'23), in twelfths."""

TERNARY: Final = WeightFormat("ternary", 2, (0, 1, -2, -1))
"""-1, 0 and 1 in two bits; a code in two's complement."""

BINARY: Final = WeightFormat("binary", 1, (-1, 1))
"""-1 and 1."""

FORMATS: Final = (INT4, MXFP4, NF4, TERNARY, BINARY)
"""The formats that have names. Any other table is a format too."""
