"""Conversions between float16 and float32 by an instruction, where a processor has one for each.

The loop language has formulas of integers for them (`operators.stored_floats`). Instructions give
the same bits but for what is no number, of which they give one that has other bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32
from tandem.compiler.ir.expr import Expr, Reinterpret
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import in_lanes, register_type
from tandem.compiler.operators.stored_floats import rounded_operand, stored_operand

_HALF = ir.HalfType()


def converted(frame: Frame, expr: Reinterpret, value_of: Callable[[Expr], Any]) -> Any:
    """The value of an expression that widens a float16 or rounds to one; None of any other, and
    where formulas are used."""
    if not frame.converts_halves:
        return None
    builder = frame.builder
    if expr.dtype == FLOAT32:
        stored = stored_operand(expr)
        if stored is None or stored.dtype != FLOAT16:
            return None
        bits = value_of(stored)
        half = builder.bitcast(bits, in_lanes(_HALF, bits))
        return builder.fpext(half, in_lanes(register_type(FLOAT32), half))
    wide = rounded_operand(expr) if expr.dtype == FLOAT16 else None
    if wide is None:
        return None
    value = value_of(wide)
    half = builder.fptrunc(value, in_lanes(_HALF, value))
    return builder.bitcast(half, in_lanes(register_type(FLOAT16), half))
