"""Expressions of two loops and lanes whose instructions are looked at, and run here."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INDEX,
    INT8,
    INT32,
    DType,
)
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import Frame, LaneVar
from tests.support.compiler.machines.cpu.emitted import (
    SSE,
    frame_of,
    run_emitted,
)

SIZE = 64
A, N = Buffer("A", (SIZE,), FLOAT32), Buffer("N", (SIZE,), INT32)
C = Buffer("C", (SIZE,), INT8)
HALVES = Buffer("H", (SIZE,), FLOAT16)
FIRST, SECOND, KNOWN, LANE = (Var(name, INDEX) for name in "ijul")
FLOATS = np.linspace(-40, 40, SIZE, dtype=np.float32)
INTEGERS = np.random.default_rng(1).integers(-(1 << 31), 1 << 31, SIZE).astype(np.int32)
LANES = 4


def opened(target: CpuTarget = SSE, lanes: int | None = None, base: int | str = 0) -> Frame:
    """Loops over i up to 60 and j up to 59, of numbers that are not known; u is 3, and l is in
    lanes from a base."""
    frame = frame_of(target, A, N, HALVES, C, numbers="ij")
    frame.bindings["u"] = 3
    frame.ranges |= {"i": Interval(0, 60), "j": Interval(0, 59), "u": Interval(3, 3)}
    if lanes is not None:
        frame.lanes, frame.active = lanes, (True,) * lanes
        frame.bindings["l"] = LaneVar(
            base if isinstance(base, int) else frame.bindings[base], lanes
        )
        frame.ranges["l"] = Interval(0, 60)
    return frame


def result(frame: Frame, value: Any, dtype: DType, i: int = 0, j: int = 0) -> list[Any]:
    """The lanes of a value, computed here."""
    if dtype == BOOL:
        lanes = getattr(value.type, "count", None)
        byte = ir.IntType(8)
        value = frame.builder.zext(value, byte if lanes is None else ir.VectorType(byte, lanes))
    frame.builder.store(value, frame.places["C"].pointer, align=1)
    found = np.zeros(getattr(value.type, "count", 1), dtype.numpy)
    run_emitted(frame, FLOATS, INTEGERS, FLOATS.astype(np.float16), found, i, j)
    return list(found.tolist())


def found(frame: Frame, expr: Expr, i: int = 0, j: int = 0) -> list[Any]:
    """The lanes of an expression, computed here at i and j."""
    return result(frame, evaluate(frame, expr), expr.dtype, i, j)


def a(at: Expr) -> Expr:
    """An element of A, of floats."""
    return Load(A, (at,))


def n(at: Expr) -> Expr:
    """An element of N, of integers."""
    return Load(N, (at,))
