"""Terms of dot products in packed operands.

data[.., k]             adjacent terms side by side, k = s * depth + d
weight[.., l, d]        those of one dot product
weight[.., s, l, d]     those of several dot products, which share a vector of data
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.te import reduce_axis
from tandem.compiler.te.tensor import ReduceAxis

_MOST_PADDED = 1.25
"""The most terms, with padding, of dot products that share data, relative to those of single ones:
what loading data lane by lane costs."""


@dataclass(frozen=True, slots=True)
class DotTerms:
    """The adjacent terms of a sum.

    Attributes
    ----------
    extents
        Empty without a dot product; the terms of one; or the number of dot products that share
        data, and the terms of one.
    """

    extents: tuple[int, ...]

    @classmethod
    def of(cls, dot: PrimFunc | None, terms: int) -> DotTerms:
        """The terms of a dot product of `CPU_INTRINSICS` in sums of so many terms, which are padded
        to whole dot products."""
        if dot is None:
            return cls(())
        depth, steps = dot.inputs[1].size, CPU_INTRINSICS[dot.name].steps
        single, shared = (-(-terms // each) * each for each in (depth, steps * depth))
        return cls((steps, depth) if steps > 1 and shared <= _MOST_PADDED * single else (depth,))

    @property
    def count(self) -> int:
        """The number of terms; 1 without a dot product."""
        return math.prod(self.extents)

    @property
    def data_extents(self) -> tuple[int, ...]:
        """The innermost extents of packed data."""
        return (self.count,) if self.extents else ()

    def weight_extents(self, channels: int) -> tuple[int, ...]:
        """The innermost extents of packed weights, for sums of so many channels."""
        return (*self.extents[:-1], channels, *self.extents[-1:])

    @property
    def weight_names(self) -> tuple[str, ...]:
        """The names of these axes."""
        return (*self.steps, "l", *"k"[: len(self.extents)])

    @property
    def steps(self) -> tuple[str, ...]:
        """The name of the axis of steps, if there are several."""
        return ("s",) if len(self.extents) > 1 else ()

    def split(self, indices: Sequence[Expr]) -> tuple[Expr, Expr]:
        """The channel and the term of an element of packed weights, by its innermost indices."""
        *steps, channel, term = indices if self.extents else (*indices, index(0))
        return channel, steps[0] * self.extents[-1] + term if steps else term

    def index(self, group: Expr, term: Expr) -> Expr:
        """The number of a term in the whole sum, whose groups have `count` terms."""
        return group * self.count + term if self.extents else group

    def axes(self) -> tuple[ReduceAxis, ...]:
        """Reduction axes over the terms: `s` and `k`, `k`, or none."""
        names = (*self.steps, "k") if self.extents else ()
        return tuple(map(reduce_axis, self.extents, names))

    def data_index(self, axes: Sequence[ReduceAxis]) -> Expr:
        """The term in a sum over `axes`, which is the innermost index of packed data."""
        *steps, term = axes or (index(0),)
        return steps[0] * self.extents[-1] + term if steps else term

    def weight_indices(self, channel: Expr, axes: Sequence[ReduceAxis]) -> tuple[Expr, ...]:
        """The innermost indices of packed weights in a sum over `axes`."""
        return (*axes[:-1], channel, *axes[-1:])


SINGLE_TERMS = DotTerms(())
"""Terms that no dot product reduces."""
