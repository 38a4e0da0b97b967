"""Operands of a product of two int8 matrices whose zero points the product leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Var
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.parts import Concat, Pad
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.forms import Int8Value

_BASE = int(INT8.high)


@dataclass(frozen=True, slots=True)
class CentredOperands:
    """int8 matrices whose product, plus a constant, is that of two others less their zero points.

    With zero points u of the left matrix and v of the right one

        sum (a - u) * (b - v) = sum a * b  -  v * sum a  -  u * sum b  +  depth * u * v

    where the second term is a number for each row and the third one for each column. Such a number
    is written in base 127. Its digits become columns of the left matrix, or rows of the right one,
    and their places, 127 and 1, lie opposite: there are as many digits of place 127 as the largest
    number takes. A zero point near 0 takes two digits or three, one of -128 as many as the depth.

    Attributes
    ----------
    depth
        The extent of the reduced axis.
    constant
        What the product lacks.
    """

    left: Var
    right: Var
    depth: int
    constant: int

    @staticmethod
    def of(
        builder: Builder,
        name: str,
        left: Int8Value,
        right: Int8Value,
        ranks: tuple[int, int],
        depth: int,
    ) -> CentredOperands:
        """The operands for the product `name` of two values with these numbers of axes."""
        u, v = left.scale.zero, right.scale.zero
        a, b, last, first = left.var, right.var, ranks[0] - 1, ranks[1] - 2
        of_rows, of_columns = _digits(v, depth), _digits(u, depth)
        if u:
            columns = _written(builder, name, right.var, first, ranks[1], -u, of_columns)
            b = builder.call(name, "_columns", "concat", [b, columns], Concat(first))
            a = _with_places(builder, name, a, last, ranks[0], of_columns)
        if v:
            rows = _written(builder, name, left.var, last, ranks[0], -v, of_rows)
            a = builder.call(name, "_rows", "concat", [a, rows], Concat(last))
            b = _with_places(builder, name, b, first, ranks[1], of_rows)
        return CentredOperands(a, b, centred_depth(depth, u, v), depth * u * v)


def centred_depth(depth: int, *zeros: int) -> int:
    """The extent of the axis that a product of operands with zero points reduces."""
    return depth + sum(_digits(zero, depth) for zero in zeros)


def _digits(zero: int, depth: int) -> int:
    """The number of digits that `zero` times a sum of `depth` integers may have; 0 for no term."""
    largest = abs(zero) * -int(INT8.low) * depth
    return -(-(largest // _BASE) // _BASE) + 1 if largest else 0


def _written(
    builder: Builder, name: str, data: Var, axis: int, rank: int, factor: int, digits: int
) -> Var:
    """The sums along an axis times a factor as digits along that axis: those of place 127, then one
    of place 1."""

    def numbers(*values: int) -> Constant:
        shape = [len(values) if number == axis else 1 for number in range(rank)]
        return Constant(np.array(values, np.int32).reshape(shape))

    def within(limits: range) -> Var:
        low, high = numbers(*(-each for each in limits)), numbers(*limits)
        above = builder.call(name, "_digits", "maximum", [high_part, low])
        return builder.call(name, "_digits", "minimum", [above, high])

    wide = builder.widen(name, data)
    sums = builder.call(name, "_sums", "reduce_sum", [wide], Reduction((axis,), True))
    term = builder.call(name, "_term", "multiply", [sums, numbers(factor)])
    # Towards zero, so that both parts have the sign of the term.
    high_part = builder.call(name, "_high", "divide", [term, numbers(_BASE)])
    whole = builder.call(name, "_whole", "multiply", [high_part, numbers(_BASE)])
    low_part = builder.call(name, "_low", "subtract", [term, whole])
    upto, before = (
        within(range(start, start + _BASE * (digits - 1), _BASE)) for start in (_BASE, 0)
    )
    parts = builder.call(name, "_digits", "subtract", [upto, before])
    found = builder.call(name, "_digits", "concat", [parts, low_part], Concat(axis))
    return builder.call(name, "_digits", "cast", [found], Cast(INT8))


def _with_places(builder: Builder, name: str, data: Var, axis: int, rank: int, digits: int) -> Var:
    """A matrix with the places of digits behind it, along an axis."""
    for place, count in ((_BASE, digits - 1), (1, 1)):
        pads = [0] * (2 * rank)
        pads[rank + axis] = count
        data = builder.call(name, "_places", "pad", [data], Pad(tuple(pads), value=place))
    return data
