"""LLVM values of expressions.

A value is a scalar unless it depends on the variable of a vectorized loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, assert_never

from llvmlite import ir

from tandem.compiler.ir.code_tables import table_of
from tandem.compiler.ir.dtypes import INDEX, INT32, UINT8, UINT64, DType, Kind
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.interval import depends_on_data, interval
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.ops import cast
from tandem.compiler.ir.visit import subexpressions
from tandem.compiler.machines.cpu.codegen import (
    code_tables,
    half_conversions,
    integer_dequantise,
    integer_quantise,
    load_store,
    value_ops,
)
from tandem.compiler.machines.cpu.codegen.frame import Frame, LaneVar
from tandem.compiler.machines.cpu.codegen.lane_patterns import values_by_lane
from tandem.compiler.machines.cpu.codegen.llvm import (
    I32,
    I64,
    broadcast_lanes,
    call_intrinsic,
    constant,
    lanes_of,
    register_type,
    splat,
)
from tandem.compiler.machines.cpu.codegen.math_functions import call_function, power
from tandem.compiler.machines.cpu.codegen.offset import known_number, known_truth, offset_sum

_MOST_MASKED = 8
"""The most loads of both sides of a condition that all run under masks: of more, as where many
tensors are joined, a branch leaves out the most."""
_LEAST_CONVERTED = 32
"""Processors convert floats to integers of at least so many bits."""


def evaluate(frame: Frame, expr: Expr) -> Any:
    """The value of an expression: a scalar, or a vector if it may differ between lanes."""
    match expr:
        case Const(value=value, dtype=dtype):
            return constant(register_type(dtype), value)
        case Var():
            return _variable(frame, expr)
        case Load():
            return load_store.load(frame, expr, partial(evaluate, frame))
        case Unary():
            return _unary(frame, expr)
        case Binary():
            return _binary(frame, expr)
        case Cast(operand=operand, dtype=dtype):
            entry = _entry(frame, expr)
            if entry is not None:
                return entry
            quantised = _quantised(frame, operand, dtype)
            if quantised is not None:
                return quantised
            clamped = _clamped(operand, dtype) if dtype.bits < _LEAST_CONVERTED else None
            if clamped is not None:
                inner, low, high = clamped
                return value_ops.clamp_to_integer(
                    frame.builder, evaluate(frame, inner), low, high, dtype
                )
            value = evaluate(frame, operand)
            return value_ops.cast(frame.builder, value, operand.dtype, dtype)
        case Reinterpret(operand=operand, dtype=dtype):
            half = half_conversions.converted(frame, expr, partial(evaluate, frame))
            if half is not None:
                return half
            return value_ops.reinterpret(frame.builder, evaluate(frame, operand), dtype)
        case Select():
            return _select(frame, expr)
        case _:
            assert_never(expr)


def _entry(frame: Frame, expr: Cast) -> Any:
    """The entries of small tables in lanes, where there are instructions for that; else None."""
    found = None if frame.lanes is None else table_of(expr)
    if found is None:
        return None
    code, table = found
    codes = evaluate(frame, cast(code, UINT8))
    return code_tables.looked_up_entries(frame, codes, table)


def _quantised(frame: Frame, expr: Expr, dtype: DType) -> Any:
    """A number that is divided, rounded and clipped, on a processor without floats, where integers
    can compute it; None of anything else."""
    if frame.target.has_fpu or dtype.kind is not Kind.INT or dtype.bits > INT32.bits:
        return None
    clamped = _clamped(expr, dtype)
    quotient = None if clamped is None else integer_quantise.quotient_of(clamped[0])
    if clamped is None or quotient is None or not integer_quantise.fits(*clamped[1:]):
        return None
    (number, step), (_, low, high) = quotient, clamped
    value = evaluate(frame, number)
    return integer_quantise.quantise(frame.builder, value, step, int(low), int(high), dtype)


def _clamped(expr: Expr, dtype: DType) -> tuple[Expr, float, float] | None:
    """`x`, `low` and `high` of `min(max(x, low), high)` of floats, between limits that fit into an
    integer type; else None."""
    if not expr.dtype.is_float or not dtype.is_integer:
        return None
    match expr:
        case Binary(
            op=BinaryOp.MIN,
            left=Binary(op=BinaryOp.MAX, left=inner, right=Const(value=low)),
            right=Const(value=high),
        ) if dtype.low <= low <= high <= dtype.high:
            return inner, float(low), float(high)
        case _:
            return None


def _variable(frame: Frame, expr: Var) -> Any:
    binding = frame.binding(expr)
    if not isinstance(binding, LaneVar):
        return frame.number(binding)
    known = frame.recall(("lanes", expr.name))
    if known is not None:
        return known
    numbers = constant(ir.VectorType(I64, binding.count), list(range(binding.count)))
    if binding.base != 0:
        base = splat(frame.builder, frame.number(binding.base), binding.count)
        numbers = frame.builder.add(base, numbers, flags=("nsw",))
    return frame.keep(("lanes", expr.name), numbers)


def _unary(frame: Frame, expr: Unary) -> Any:
    value, dtype = evaluate(frame, expr.operand), expr.dtype
    match expr.op:
        case UnaryOp.NEG:
            return value_ops.negative(frame.builder, dtype, value)
        case UnaryOp.NOT:
            return frame.builder.not_(value)
        case UnaryOp.ABS:
            return value_ops.absolute(frame.builder, dtype, value)
        case _:
            return call_function(frame.builder, expr.op, dtype, value, frame.target)


def _binary(frame: Frame, expr: Binary) -> Any:
    dtype = expr.left.dtype
    if dtype == INDEX:
        number = known_number(expr, frame)
        if number is not None:
            return constant(I64, INDEX.wrap(number))
    test = _lane_test(frame, expr)
    if test is not None:
        return test
    if expr.op is BinaryOp.ADD and dtype.is_float and frame.target.has_fma(dtype.bits):
        for product, other in ((expr.right, expr.left), (expr.left, expr.right)):
            if isinstance(product, Binary) and product.op is BinaryOp.MUL:
                parts = (evaluate(frame, each) for each in (product.left, product.right, other))
                return value_ops.fused(frame.builder, *broadcast_lanes(frame.builder, *parts))
    scaled = None if frame.target.has_fpu else integer_dequantise.scaled_integer(expr)
    if scaled is not None:
        parts = (evaluate(frame, each) for each in scaled)
        return integer_dequantise.dequantise(frame.builder, *broadcast_lanes(frame.builder, *parts))
    left, right = evaluate(frame, expr.left), evaluate(frame, expr.right)
    left, right = broadcast_lanes(frame.builder, left, right)
    if expr.op in (BinaryOp.FLOORDIV, BinaryOp.MOD) and dtype == INDEX:
        if _natural(frame, expr.left) and _natural(frame, expr.right, least=1):
            dtype = UINT64  # the same result in fewer instructions
    if expr.op is BinaryOp.POW:
        return power(frame.builder, dtype, left, right)
    return value_ops.binary(frame.builder, expr.op, dtype, left, right)


def _lane_test(frame: Frame, expr: Binary) -> Any:
    """`a < b` or `a <= b` if b - a is linear in the lane number; None for any other comparison.

    `i_o * 16 + lane < 50` means that lanes below `50 - i_o * 16` run: one subtraction for all lanes
    and a comparison of 32-bit numbers, instead of 64-bit ones in each lane.
    """
    if frame.lanes is None or expr.op not in (BinaryOp.LT, BinaryOp.LE):
        return None
    if expr.left.dtype != INDEX or depends_on_data(expr):
        return None
    slack = offset_sum(frame, (expr.right, 1), (expr.left, -1))
    if expr.op is BinaryOp.LE:
        slack.constant += 1
    factor = slack.lane
    if not factor or abs(factor) * frame.lanes >= 1 << 30:
        return None
    # The test is 0 < slack, which is common + constant + factor * lane.
    common = slack.value(frame, partial(evaluate, frame))
    if common is not None and lanes_of(common) is not None:
        return None
    builder = frame.builder
    total = constant(I64, slack.constant)
    if common is not None:
        total = builder.add(common, total, flags=("nsw",)) if slack.constant else common
    # Clamped to the range of factor * lane, the sum fits into 32 bits and the result is the same.
    reach = constant(I64, abs(factor) * frame.lanes)
    total = call_intrinsic(builder, "llvm.smin.i64", I64, [total, reach])
    lowest = builder.sub(constant(I64, 0), reach)
    total = call_intrinsic(builder, "llvm.smax.i64", I64, [total, lowest])
    total = splat(builder, builder.trunc(total, I32), frame.lanes)
    steps = [-factor * lane for lane in range(frame.lanes)]
    return builder.icmp_signed("<", constant(ir.VectorType(I32, frame.lanes), steps), total)


def _natural(frame: Frame, expr: Expr, least: int = 0) -> bool:
    """Whether an index is provably no less than `least`."""
    low = interval(expr, frame.ranges).low
    return low is not None and low >= least


def _select(frame: Frame, expr: Select) -> Any:
    builder = frame.builder
    decided = known_truth(expr.condition, frame)
    if decided is not None:
        return evaluate(frame, expr.then if decided else expr.otherwise)
    condition = evaluate(frame, expr.condition)
    sides = (expr.then, expr.otherwise)
    if lanes_of(condition) is None and frame.lanes is not None and _masks_well(frame, sides):
        # Vectors that cross a branch cost more than masks, above all those of odd numbers of lanes.
        condition = splat(builder, condition, frame.lanes)
    if lanes_of(condition) is not None:
        truths = values_by_lane(frame, expr.condition)
        opposite = None if truths is None else [1 - each for each in truths]
        values = []
        for side, chosen, known in (
            (sides[0], condition, truths),
            (sides[1], builder.not_(condition), opposite),
        ):
            with frame.masked(chosen, known):
                values.append(evaluate(frame, side))
        return builder.select(condition, *(splat(builder, value, frame.lanes) for value in values))
    if all(_harmless(frame, side) for side in sides):
        values = [evaluate(frame, side) for side in sides]
        return builder.select(condition, *broadcast_lanes(builder, *values))
    return _branch(frame, condition, sides)


def _masks_well(frame: Frame, sides: Sequence[Expr]) -> bool:
    """Whether these expressions have few loads, of which some could be out of bounds and all have
    free masks."""
    loads = [load for side in sides for load in subexpressions(side) if isinstance(load, Load)]
    if len(loads) > _MOST_MASKED or all(load_store.in_bounds(frame, load) for load in loads):
        return False
    return all(load_store.masks_well(frame, load) for load in loads)


def _harmless(frame: Frame, expr: Expr) -> bool:
    """Whether an expression can be evaluated speculatively: all its loads are in bounds."""
    loads = (each for each in subexpressions(expr) if isinstance(each, Load))
    return all(load_store.in_bounds(frame, each) for each in loads)


def _branch(frame: Frame, condition: Any, sides: tuple[Expr, Expr]) -> Any:
    """The value of the side that a scalar condition chooses; only that side is evaluated."""
    builder = frame.builder
    blocks = [builder.append_basic_block(name) for name in ("then", "otherwise", "chosen")]
    builder.cbranch(condition, blocks[0], blocks[1])
    values, ends = [], []
    for side, block in zip(sides, blocks, strict=False):
        builder.position_at_end(block)
        with frame.region():
            values.append(evaluate(frame, side))
        ends.append(builder.block)
    # A scalar on one side becomes a vector if the other side is one.
    lanes = next((n for n in map(lanes_of, values) if n is not None), None)
    for number, end in enumerate(ends):
        builder.position_at_end(end)
        values[number] = splat(builder, values[number], lanes)
        builder.branch(blocks[2])
    builder.position_at_end(blocks[2])
    result = builder.phi(values[0].type)
    for value, end in zip(values, ends, strict=True):
        result.add_incoming(value, end)
    return result
