"""Quantisation by integers alone, for processors that have no instructions for floats.

`round(x / step)`, clipped, takes some five hundred instructions where the compiler's library
divides and rounds floats, and forty here, on the bits of `x`. The result is the float formula's in
every bit: a float division rounds to 24 bits before `round` rounds to a whole number, and both are
followed exactly.

With x = m * 2^a and step = n * 2^b, of which m and n have 24 bits, and d = a - b, the quotient is
m / n * 2^d. `k` is a whole number next to it, by a product with the reciprocal of n; h = k + 1/2 is
where rounding changes. 2 n times the quotient's distance from h is a difference of integers:

    distance = m * 2^(d + 1) - (2 k + 1) * n

Quotients that are nearer to h than half a unit in their last place become h when they are divided:
`reach` is that in the same unit. Then `round` takes the even neighbour.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir

from tandem.compiler.ir.dtypes import FLOAT32, DType
from tandem.compiler.ir.expr import Binary, Const, Expr, Unary
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.machines.cpu.codegen.llvm import I32, I64, constant, lanes_of

_FRACTION: Final = 23
"""Bits of a float's fraction."""
_HIDDEN: Final = 1 << _FRACTION
_INFINITY: Final = 0x7F80_0000
_WIDEST: Final = 16
"""Results have at most so many bits."""
_EXPONENTS: Final = range(3, 255 - _WIDEST)
"""Of steps for which quotients of denormal numbers are nearly 0, and infinity's beyond."""


def quotient_of(expr: Expr) -> tuple[Expr, float] | None:
    """`x` and `step` of `round(x / step)` of float32, if integers can compute it; else None.

    A step is positive, and neither so small that denormal numbers matter nor near to infinity.
    """
    match expr:
        case Unary(
            op=UnaryOp.ROUND,
            operand=Binary(op=BinaryOp.DIV, left=number, right=Const(value=step)),
        ) if expr.dtype == FLOAT32 and _exponent_of(float(step)) in _EXPONENTS:
            return number, float(step)
        case _:
            return None


def fits(low: float, high: float) -> bool:
    """Whether results between these bounds can be computed so."""
    return -(1 << _WIDEST) < low <= high < 1 << _WIDEST


def quantise(builder: Any, value: Any, step: float, low: int, high: int, new: DType) -> Any:
    """`round(value / step)` of float32, between `low` and `high`, as an integer of type `new`; 0
    for NaN. `quotient_of` and `fits` say which steps and bounds there may be."""
    lanes = lanes_of(value)
    if lanes is None:
        return _as_type(builder, _quantised(builder, value, step, low, high), new)
    # Such processors have no vectors: lanes are computed one by one.
    result = ir.Constant(ir.VectorType(ir.IntType(new.bits), lanes), ir.Undefined)
    for lane in range(lanes):
        at = ir.Constant(I32, lane)
        one = _quantised(builder, builder.extract_element(value, at), step, low, high)
        result = builder.insert_element(result, _as_type(builder, one, new), at)
    return result


def _quantised(builder: Any, value: Any, step: float, low: int, high: int) -> Any:
    word = int(np.float32(step).view(np.uint32))
    exponent, n = word >> _FRACTION, word & (_HIDDEN - 1) | _HIDDEN
    bits = builder.bitcast(value, I32)
    size = builder.and_(bits, _number(0x7FFF_FFFF))
    d = builder.sub(builder.lshr(size, _number(_FRACTION)), _number(exponent))
    blocks = [builder.append_basic_block(name) for name in ("quotient", "beyond", "quantised")]
    # From d = -1, as quotients are below 1/2 before, to where they are beyond the widest result.
    inside = builder.icmp_unsigned("<", builder.add(d, _number(1)), _number(_WIDEST + 2))
    builder.cbranch(inside, blocks[0], blocks[1])
    builder.position_at_end(blocks[0])
    nearest = _nearest(builder, bits, d, n)
    sign = builder.ashr(bits, _number(31))
    signed = builder.sub(builder.xor(nearest, sign), sign)
    signed = builder.select(builder.icmp_signed("<", signed, _number(low)), _number(low), signed)
    signed = builder.select(builder.icmp_signed(">", signed, _number(high)), _number(high), signed)
    builder.branch(blocks[2])
    builder.position_at_end(blocks[1])
    is_negative = builder.icmp_signed("<", bits, _number(0))
    most = builder.select(is_negative, _number(low), _number(high))
    is_small = builder.icmp_signed("<", d, _number(0))
    is_nan = builder.icmp_unsigned(">", size, _number(_INFINITY))
    most = builder.select(builder.or_(is_small, is_nan), _number(0), most)
    builder.branch(blocks[2])
    builder.position_at_end(blocks[2])
    result = builder.phi(I32)
    result.add_incoming(signed, blocks[0])
    result.add_incoming(most, blocks[1])
    return result


def _nearest(builder: Any, bits: Any, d: Any, n: int) -> Any:
    """The whole number next to m / n * 2^d, of the sizes of numbers; d from -1 to 16."""
    m = builder.or_(builder.and_(bits, _number(_HIDDEN - 1)), _number(_HIDDEN))
    # m / n * 2^30: the high half of a product of m with 31 bits and the reciprocal.
    left = builder.zext(builder.shl(m, _number(7)), I64)
    product = builder.mul(left, constant(I64, min((1 << 55) // n, (1 << 32) - 1)))
    ratio = builder.trunc(builder.lshr(product, constant(I64, 32)), I32)
    k = builder.lshr(ratio, builder.sub(_number(30), d))
    distance = builder.sub(
        builder.shl(m, builder.add(d, _number(1))),
        builder.add(builder.mul(k, _number(2 * n)), _number(n)),
    )
    # The quotient's exponent is d, or one less where m < n: but for rounding down to 1, where
    # the distance is 0 at most, the ratio tells.
    whole = builder.lshr(ratio, _number(30))
    reach = builder.lshr(_number(n), builder.sub(_number(_FRACTION + 1), builder.add(d, whole)))
    # An odd k goes up from h - reach, an even one beyond h + reach.
    odd = builder.and_(k, _number(1))
    bound = builder.xor(reach, builder.sub(_number(0), odd))
    up = builder.icmp_signed(">", distance, bound)
    return builder.add(k, builder.zext(up, I32))


def _number(value: int) -> Any:
    return constant(I32, value)


def _as_type(builder: Any, value: Any, new: DType) -> Any:
    return value if new.bits == I32.width else builder.trunc(value, ir.IntType(new.bits))


def _exponent_of(step: float) -> int:
    """The exponent field of a positive, finite, normal float32; 0 of another number."""
    single = np.float32(step)
    word = int(single.view(np.uint32))
    return 0 if not 0 < single < np.inf or float(single) != step else word >> _FRACTION
