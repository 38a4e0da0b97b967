"""Horizontal reductions: stores `X[i] = X[i] + e` in which the lanes share `X[i]`.

Float additions are reassociated, which schedules that vectorize a reduction allow.
"""

from __future__ import annotations

from typing import Any

from tandem.compiler.ir.arithmetic import neutral
from tandem.compiler.ir.dtypes import BOOL, DType, Kind
from tandem.compiler.ir.expr import Binary, Expr, Load
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.stmt import Store
from tandem.compiler.machines.cpu.codegen import value_ops
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import (
    I32,
    call_intrinsic,
    constant,
    register_type,
    splat,
    suffix,
)

_OPS = (
    BinaryOp.ADD,
    BinaryOp.MUL,
    BinaryOp.MIN,
    BinaryOp.MAX,
    BinaryOp.AND,
    BinaryOp.OR,
    BinaryOp.XOR,
)


def update_of(store: Store) -> tuple[BinaryOp, Expr] | None:
    """`op` and `term` of a store `X[i] = X[i] op term`; None for any other store."""
    value = store.value
    if not isinstance(value, Binary) or value.op not in _OPS:
        return None
    old = Load(store.buffer, store.indices)
    for old_side, term in ((value.left, value.right), (value.right, value.left)):
        if old_side == old and store.buffer.name not in expr_facts(term).loads:
            return value.op, term
    return None


def reduce_lanes(frame: Frame, op: BinaryOp, dtype: DType, start: Any, vector: Any) -> Any:
    """The reduction by `op` of `start` and the active lanes of `vector`."""
    builder, mask, kind = frame.builder, frame.mask, register_type(dtype)
    if mask is not None:
        identity = splat(builder, constant(kind, neutral(op, dtype).value), vector.type.count)
        vector = builder.select(mask, vector, identity)
    name = f"llvm.vector.reduce.{_name(op, dtype)}.{suffix(vector.type)}"
    if dtype.is_float and op in (BinaryOp.ADD, BinaryOp.MUL):
        return call_intrinsic(builder, name, kind, [start, vector], fastmath=("reassoc",))
    if dtype.is_float and not frame.target.has_fpu:
        # LLVM would call a function that few C libraries have.
        for lane in range(vector.type.count):
            term = builder.extract_element(vector, constant(I32, lane))
            start = value_ops.binary(builder, op, dtype, start, term)
        return start
    return value_ops.binary(
        builder, op, dtype, start, call_intrinsic(builder, name, kind, [vector])
    )


def _name(op: BinaryOp, dtype: DType) -> str:
    """LLVM's name of a reduction."""
    name = op.name.lower()
    if op not in (BinaryOp.MIN, BinaryOp.MAX):
        return f"f{name}" if dtype.is_float else name
    if dtype == BOOL:
        return "and" if op is BinaryOp.MIN else "or"
    if dtype.is_float:
        return f"f{name}imum"
    return f"{'s' if dtype.kind is Kind.INT else 'u'}{name}"
