"""Sums of rows at positions, the inverse of a gather."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np

from tandem.compiler.graph.operators.gradients.shaping import moved, reshaped
from tandem.compiler.graph.terms import Term, apply, where
from tandem.compiler.ir.dtypes import INT64
from tandem.compiler.operators.scatter import ScatterReduction

MOST_ONE_HOT: Final = 1 << 24
"""The greatest number of elements of a matrix of zeros and ones that is multiplied in place of a
scatter, whose work is the same and whose schedule is slower."""


def added_along(term: Term, axis: int, indices: Term, extent: int) -> Term:
    """A tensor of an extent along an axis, to whose elements at `indices` the term's are added.

    The indices, a vector, are numbered as the term's axis; those out of range count as the nearest
    element, as in a gather.
    """
    (count,) = indices.type.static_shape("indices")
    front = moved(term, axis, 0)
    rest = front.type.static_shape("a gradient")[1:]
    rows = reshaped(front, (count, prod(rest)))
    places = within(indices, extent)
    dtype = term.type.dtype.numpy
    if count * extent <= MOST_ONE_HOT and count and extent:
        values = term.constant(np.array([0, 1], dtype))
        marks = apply("one_hot", places, values, depth=extent, axis=0)
        sums = apply("matmul", marks, rows)
    else:
        zeros = apply("expand", term.scalar(0), shape=(extent, prod(rest)))
        row = apply("unsqueeze", places, axes=(1,))
        sums = apply("scatter_nd", zeros, row, rows, reduction=ScatterReduction.ADD)
    return moved(reshaped(sums, (extent, *rest)), 0, axis)


def within(indices: Term, extent: int) -> Term:
    """Indices counted from 0, as int64, of the nearest element where they are out of range."""
    numbers = indices.with_dtype(INT64)
    counted = where(apply("less", numbers, 0), numbers + extent, numbers)
    return apply("clip", counted, min=0, max=max(extent - 1, 0))
