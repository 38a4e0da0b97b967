"""What operators say of their mathematics, for passes that know no operator by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from compiler.graph.attributes import Attributes

__all__ = ["ChannelAffine", "Linear", "Numbers"]

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ChannelAffine:
    """(data - centre) * factor + addend, with a number for each index of axis 1."""

    centre: Numbers
    factor: Numbers
    addend: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A result that is linear in a weight, plus a bias along its axis 1.

    Attributes
    ----------
    axis
        Along which the weight has a slice for each index of the result's axis 1.
    bias
        A number for each of these indices; 0 where the operator is given none.
    attributes
        With which the operator takes `weight` and `bias` as its second and third operand.
    """

    weight: NDArray[Any]
    axis: int
    bias: Numbers
    attributes: Attributes
