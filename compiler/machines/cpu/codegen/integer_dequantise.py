"""Products of whole numbers and scales by integers alone, for processors without floats.

`float32(x) * scale` takes some 180 instructions in the compiler's library, and half of that here,
on the bits. It is rounded as floats are, twice: `x` to 24 bits, and the product of 48 bits to 24.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from tandem.compiler.ir.dtypes import FLOAT32, Kind
from tandem.compiler.ir.expr import Binary, Cast, Expr
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.machines.cpu.codegen.llvm import I32, I64, call_intrinsic, constant, lanes_of

_FLOAT: Final = ir.FloatType()
_HIDDEN: Final = 1 << 23
_NAME: Final = "scaled"
_EXPONENTS: Final = (32, 192)
"""Of scales whose products with integers of 32 bits are normal floats, or zero."""


def scaled_integer(expr: Binary) -> tuple[Expr, Expr] | None:
    """The integer, of up to 32 bits, and the scale of `float32(integer) * scale`; None of anything
    else."""
    if expr.op is not BinaryOp.MUL or expr.dtype != FLOAT32:
        return None
    for whole, scale in ((expr.left, expr.right), (expr.right, expr.left)):
        match whole:
            case Cast(operand=operand) if (
                operand.dtype.kind is Kind.INT and operand.dtype.bits <= I32.width
            ):
                return operand, scale
            case _:
                pass
    return None


def dequantise(builder: Any, whole: Any, scale: Any) -> Any:
    """`float32(whole) * scale`, of integers and floats in one lane or many."""
    function = builder.module.globals.get(_NAME) or _defined(builder.module)
    lanes = lanes_of(whole)
    if lanes is None:
        return builder.call(function, [_wide(builder, whole), scale])
    result = ir.Constant(ir.VectorType(_FLOAT, lanes), ir.Undefined)
    for lane in range(lanes):
        at = ir.Constant(I32, lane)
        one = [builder.extract_element(each, at) for each in (whole, scale)]
        made = builder.call(function, [_wide(builder, one[0]), one[1]])
        result = builder.insert_element(result, made, at)
    return result


def _wide(builder: Any, value: Any) -> Any:
    return value if value.type == I32 else builder.sext(value, I32)


def _defined(module: Any) -> Any:
    """The function of one lane, in a module."""
    function = ir.Function(module, ir.FunctionType(_FLOAT, [I32, _FLOAT]), _NAME)
    function.linkage = "internal"
    whole, scale = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    integers, floats = (function.append_basic_block(name) for name in ("integers", "floats"))
    bits = builder.bitcast(scale, I32)
    exponent = builder.and_(builder.lshr(bits, _number(23)), _number(255))
    least, end = _EXPONENTS
    inside = builder.icmp_unsigned("<", builder.sub(exponent, _number(least)), _number(end - least))
    other = builder.icmp_signed("!=", whole, _number(0))
    builder.cbranch(builder.and_(inside, other), integers, floats)
    builder.position_at_end(floats)
    builder.ret(builder.fmul(builder.sitofp(whole, _FLOAT), scale))
    builder.position_at_end(integers)
    sign = builder.and_(builder.xor(whole, bits), _number(-(1 << 31)))
    never = ir.Constant(ir.IntType(1), 0)
    size = call_intrinsic(builder, "llvm.abs.i32", I32, [whole, never])
    zeros = call_intrinsic(builder, "llvm.ctlz.i32", I32, [size, never])
    left = builder.shl(size, zeros)
    # Halves go to even: one bit of the result decides where the rest is a half.
    m = builder.lshr(left, _number(8))
    rest = builder.add(builder.and_(left, _number(255)), builder.and_(m, _number(1)))
    m = builder.add(m, builder.zext(builder.icmp_unsigned(">", rest, _number(128)), I32))
    n = builder.or_(builder.and_(bits, _number(_HIDDEN - 1)), _number(_HIDDEN))
    product = builder.mul(
        builder.zext(builder.shl(m, _number(7)), I64),
        builder.zext(builder.shl(n, _number(8)), I64),
    )
    high = builder.trunc(builder.lshr(product, constant(I64, 32)), I32)
    low = builder.trunc(product, I32)
    top = builder.lshr(high, _number(30))
    places = builder.add(top, _number(6))
    kept = builder.lshr(high, places)
    unit = builder.shl(_number(1), places)
    rest = builder.and_(high, builder.sub(unit, _number(1)))
    sticky = builder.zext(builder.icmp_unsigned("!=", low, _number(0)), I32)
    rest = builder.add(builder.shl(rest, _number(1)), sticky)
    rest = builder.add(rest, builder.and_(kept, _number(1)))
    kept = builder.add(kept, builder.zext(builder.icmp_unsigned(">", rest, unit), I32))
    # The hidden bit adds one to the exponent, and a fraction that overflows another.
    power = builder.sub(builder.add(builder.add(exponent, _number(30)), top), zeros)
    found = builder.or_(builder.add(builder.shl(power, _number(23)), kept), sign)
    builder.ret(builder.bitcast(found, _FLOAT))
    return function


def _number(value: int) -> Any:
    return constant(I32, value)
