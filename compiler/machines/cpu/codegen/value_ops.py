"""Operations on integers and floats, in one lane or many, none of which can trap.

LLVM leaves division by zero, the overflow of a division and too large shifts undefined; the loop
language defines them (`BinaryOp`, `Cast`), so operands are replaced by defined ones first. LLVM
removes that again where operands are constants.
"""

from __future__ import annotations

from typing import Any, assert_never

from llvmlite import ir

from tandem.compiler.ir.dtypes import BOOL, DType, Kind
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.machines.cpu.codegen.llvm import (
    I32,
    call_intrinsic,
    constant,
    in_lanes,
    register_type,
    suffix,
)

_COMPARISONS = {
    BinaryOp.LT: "<",
    BinaryOp.LE: "<=",
    BinaryOp.EQ: "==",
    BinaryOp.NE: "!=",
}


_OF_FLOATS = {
    BinaryOp.ADD: ir.IRBuilder.fadd,
    BinaryOp.SUB: ir.IRBuilder.fsub,
    BinaryOp.MUL: ir.IRBuilder.fmul,
    BinaryOp.DIV: ir.IRBuilder.fdiv,
}
_OF_INTEGERS = {
    BinaryOp.ADD: ir.IRBuilder.add,
    BinaryOp.SUB: ir.IRBuilder.sub,
    BinaryOp.MUL: ir.IRBuilder.mul,
    BinaryOp.AND: ir.IRBuilder.and_,
    BinaryOp.OR: ir.IRBuilder.or_,
    BinaryOp.XOR: ir.IRBuilder.xor,
}


def binary(builder: Any, op: BinaryOp, dtype: DType, a: Any, b: Any) -> Any:
    """`op` of two values of `dtype` with equal numbers of lanes; `op` is not POW."""
    if op.compares:
        return _compare(builder, op, dtype, a, b)
    match dtype.kind:
        case Kind.FLOAT:
            return _float(builder, op, a, b)
        case Kind.INT | Kind.UINT | Kind.BOOL:
            return _integer(builder, op, dtype, a, b)
        case Kind.FLOAT16 | Kind.BFLOAT16 | Kind.FLOAT4:
            raise AssertionError(f"{op.value} of {dtype} is refused by the verifier")
        case _:
            assert_never(dtype.kind)


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of floats, rounded once."""
    return call_intrinsic(builder, f"llvm.fma.{suffix(a.type)}", a.type, [a, b, c])


def _compare(builder: Any, op: BinaryOp, dtype: DType, a: Any, b: Any) -> Any:
    sign = _COMPARISONS[op]
    if dtype.is_float:
        if op is BinaryOp.NE:
            return builder.fcmp_unordered(sign, a, b)
        return builder.fcmp_ordered(sign, a, b)
    if dtype.kind is Kind.INT:
        return builder.icmp_signed(sign, a, b)
    return builder.icmp_unsigned(sign, a, b)


def _float(builder: Any, op: BinaryOp, a: Any, b: Any) -> Any:
    if op in (BinaryOp.MIN, BinaryOp.MAX):
        return _extreme(builder, "<" if op is BinaryOp.MIN else ">", a, b)
    return _OF_FLOATS[op](builder, a, b)


def _extreme(builder: Any, sign: str, a: Any, b: Any) -> Any:
    """The minimum ("<") or maximum (">"): NaN if a or b is NaN, and b if both are zeros."""
    if _is_number(b):
        return builder.select(builder.fcmp_unordered(sign, a, b), a, b)
    # One instruction computes this select; it returns b if a or b is NaN.
    result = builder.select(builder.fcmp_ordered(sign, a, b), a, b)
    return builder.select(builder.fcmp_unordered("uno", a, a), a, result)


def _is_number(value: Any) -> bool:
    """Whether a value is a constant other than NaN."""
    if not isinstance(value, ir.Constant):
        return False
    if value.constant is None:  # zeros
        return True
    if isinstance(value.constant, list | tuple):
        return all(_is_number(each) for each in value.constant)
    return isinstance(value.constant, float) and value.constant == value.constant


def _integer(builder: Any, op: BinaryOp, dtype: DType, a: Any, b: Any) -> Any:
    signed = dtype.kind is Kind.INT
    match op:
        case BinaryOp.FLOORDIV | BinaryOp.MOD:
            return _divide(builder, op, dtype, a, b)
        case BinaryOp.MIN | BinaryOp.MAX:
            least = op is BinaryOp.MIN
            if dtype == BOOL:
                return builder.and_(a, b) if least else builder.or_(a, b)
            name = f"llvm.{'s' if signed else 'u'}{'min' if least else 'max'}.{suffix(a.type)}"
            return call_intrinsic(builder, name, a.type, [a, b])
        case BinaryOp.SHL | BinaryOp.SHR:
            return _shift(builder, op, dtype, a, b)
        case _:
            return _OF_INTEGERS[op](builder, a, b)


def _divide(builder: Any, op: BinaryOp, dtype: DType, a: Any, b: Any) -> Any:
    kind = a.type
    zero, one = constant(kind, 0), constant(kind, 1)
    by_zero = builder.icmp_unsigned("==", b, zero)
    if dtype.kind is not Kind.INT:
        divisor = builder.select(by_zero, one, b)
        if op is BinaryOp.MOD:
            return builder.urem(a, divisor)  # modulo 1 is 0 already
        return builder.select(by_zero, zero, builder.udiv(a, divisor))
    if dtype.bits == 1:  # no 1 to divide by; 0 // x and x // 0 are 0, and -1 // -1 wraps to -1
        return builder.and_(a, b) if op is BinaryOp.FLOORDIV else zero
    # -1 is a case of its own too: the quotient of the least number would overflow.
    by_minus_one = builder.icmp_signed("==", b, constant(kind, -1))
    divisor = builder.select(builder.or_(by_zero, by_minus_one), one, b)
    rest = builder.srem(a, divisor)
    # LLVM's division truncates, the loop language's rounds down: they differ where rest and divisor
    # have different signs.
    inexact = builder.icmp_signed("!=", rest, zero)
    down = builder.and_(inexact, builder.icmp_signed("<", builder.xor(rest, divisor), zero))
    if op is BinaryOp.MOD:
        return builder.add(rest, builder.select(down, divisor, zero))
    quotient = builder.sub(builder.sdiv(a, divisor), builder.select(down, one, zero))
    quotient = builder.select(by_minus_one, builder.sub(zero, a), quotient)
    return builder.select(by_zero, zero, quotient)


def _shift(builder: Any, op: BinaryOp, dtype: DType, a: Any, b: Any) -> Any:
    kind = a.type
    if op is BinaryOp.SHR and dtype.kind is Kind.INT:
        most = constant(kind, dtype.bits - 1)
        amount = call_intrinsic(builder, f"llvm.umin.{suffix(kind)}", kind, [b, most])
        return builder.ashr(a, amount)
    zero = constant(kind, 0)
    inside = builder.icmp_unsigned("<", b, constant(kind, dtype.bits))
    amount = builder.select(inside, b, zero)
    shifted = builder.shl(a, amount) if op is BinaryOp.SHL else builder.lshr(a, amount)
    return builder.select(inside, shifted, zero)


def negative(builder: Any, dtype: DType, a: Any) -> Any:
    """-a, wrapped: the least number of an integer type is its own negative."""
    return builder.fneg(a) if dtype.is_float else builder.sub(constant(a.type, 0), a)


def absolute(builder: Any, dtype: DType, a: Any) -> Any:
    """|a|, wrapped: the least number of an integer type is its own magnitude."""
    match dtype.kind:
        case Kind.FLOAT:
            return call_intrinsic(builder, f"llvm.fabs.{suffix(a.type)}", a.type, [a])
        case Kind.INT:
            keep = ir.Constant(ir.IntType(1), 0)
            return call_intrinsic(builder, f"llvm.abs.{suffix(a.type)}", a.type, [a, keep])
        case Kind.UINT | Kind.BOOL:
            return a
        case Kind.FLOAT16 | Kind.BFLOAT16 | Kind.FLOAT4:
            raise AssertionError(f"the magnitude of {dtype} is refused by the verifier")
        case _:
            assert_never(dtype.kind)


def cast(builder: Any, value: Any, old: DType, new: DType) -> Any:
    """A value converted to another type, as `Cast` defines it."""
    kind = in_lanes(register_type(new), value)
    if old == new:
        return value
    if new == BOOL:
        zero = constant(value.type, 0)
        compare = builder.fcmp_unordered if old.is_float else builder.icmp_unsigned
        return compare("!=", value, zero)
    match old.is_float, new.is_float:
        case True, True:
            return (
                builder.fpext(value, kind) if new.bits > old.bits else builder.fptrunc(value, kind)
            )
        case True, False:
            return _whole(builder, value, new, kind)
        case False, True:
            make = builder.sitofp if old.kind is Kind.INT else builder.uitofp
            return make(value, kind)
        case _:
            if new.bits < old.bits:
                return builder.trunc(value, kind)
            if new.bits == old.bits:
                return value
            widen = builder.sext if old.kind is Kind.INT else builder.zext
            return widen(value, kind)


def reinterpret(builder: Any, value: Any, new: DType) -> Any:
    """The value of another type of equal width that has the same bits."""
    kind = in_lanes(register_type(new), value)
    return value if kind == value.type else builder.bitcast(value, kind)


def clamp_to_integer(builder: Any, value: Any, low: float, high: float, new: DType) -> Any:
    """`low` <= a float <= `high`, truncated to an integer type of fewer than 32 bits; 0 for NaN."""
    number = builder.fcmp_ordered("ord", value, value)
    least = constant(value.type, low)
    # One instruction each, in which NaN becomes `low`.
    kept = builder.select(builder.fcmp_ordered(">", value, least), value, least)
    most = constant(value.type, high)
    kept = builder.select(builder.fcmp_ordered("<", kept, most), kept, most)
    wide = builder.fptosi(kept, in_lanes(I32, value))
    result = builder.trunc(wide, in_lanes(register_type(new), value))
    return result if low == 0 else builder.select(number, result, constant(result.type, 0))


def _whole(builder: Any, value: Any, new: DType, kind: Any) -> Any:
    """A float rounded towards zero, saturated to the integer type; 0 for NaN.

    LLVM's saturating intrinsic runs lane by lane on x86. The plain conversion's results for numbers
    out of range are never selected.
    """
    signed = new.kind is Kind.INT
    # Processors convert to at least 32 bits.
    wide = kind if new.bits >= 32 else in_lanes(I32, value)
    convert = builder.fptosi if signed or new.bits < 32 else builder.fptoui
    result = convert(value, wide)
    if wide != kind:
        result = builder.trunc(result, kind)
    above = builder.fcmp_unordered(">=", value, constant(value.type, float(new.high + 1)))
    below = builder.fcmp_unordered("<=", value, constant(value.type, float(new.low)))
    result = builder.select(above, constant(kind, new.high), result)
    result = builder.select(below, constant(kind, new.low), result)
    if not signed:
        return result  # NaN compares as below
    number = builder.fcmp_ordered("ord", value, value)
    return builder.select(number, result, constant(kind, 0))
