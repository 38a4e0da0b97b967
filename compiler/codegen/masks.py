"""Comparisons of indices that differ by lane, as "the first n lanes".

`i_o * 16 + lane < 50` says that lanes below `50 - i_o * 16` run: one subtraction for all lanes, and
a comparison of small numbers instead of 64-bit ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from compiler.codegen.frame import Frame
from compiler.codegen.lanes import I32, I64, call_intrinsic, constant, lanes_of, splat
from compiler.codegen.offset import linear
from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Binary, BinaryOp, Expr
from compiler.ir.interval import speaks_of_data

__all__ = ["lane_test"]


def lane_test(frame: Frame, expr: Binary, evaluate: Callable[[Expr], Any]) -> Any:
    """`a < b` or `a <= b` where b - a is a multiple of the lane number and something that lanes
    share; None for any other comparison."""
    if frame.lanes is None or expr.op not in (BinaryOp.LT, BinaryOp.LE):
        return None
    if expr.left.dtype != INDEX or speaks_of_data(expr):
        return None
    room = linear(frame, (expr.right, 1), (expr.left, -1))
    if expr.op is BinaryOp.LE:
        room.constant += 1
    factor = room.lane
    if not factor or abs(factor) * frame.lanes >= 1 << 30:
        return None
    # 0 < common + factor * lane
    common = room.value(frame, evaluate)
    if common is not None and lanes_of(common) is not None:
        return None
    builder = frame.builder
    total = constant(I64, room.constant)
    if common is not None:
        total = builder.add(common, total, flags=("nsw",)) if room.constant else common
    # Beyond these ends nothing changes, and within them 32 bits do.
    reach = constant(I64, abs(factor) * frame.lanes)
    total = call_intrinsic(builder, "llvm.smin.i64", I64, [total, reach])
    lowest = builder.sub(constant(I64, 0), reach)
    total = call_intrinsic(builder, "llvm.smax.i64", I64, [total, lowest])
    total = splat(builder, builder.trunc(total, I32), frame.lanes)
    steps = [-factor * lane for lane in range(frame.lanes)]
    return builder.icmp_signed("<", constant(ir.VectorType(I32, frame.lanes), steps), total)
