"""Stores that add up lanes: `X[i] = X[i] + e`, where the lanes share `X[i]`.

Horizontal reductions change the order of float additions; a schedule that vectorizes a reduction
has had to ask for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compiler.codegen import arithmetic
from compiler.codegen.lanes import call_intrinsic, constant, register_type, splat, suffix
from compiler.ir.arithmetic import neutral
from compiler.ir.dtypes import BOOL, DType, Kind
from compiler.ir.expr import Binary, BinaryOp, Expr, Load
from compiler.ir.stmt import Store
from compiler.ir.visit import subexpressions

__all__ = ["Update", "across", "update_of"]


@dataclass(frozen=True, slots=True)
class Update:
    """`X[i] = X[i] op term`."""

    op: BinaryOp
    old: Load
    term: Expr


_OPS = (
    BinaryOp.ADD,
    BinaryOp.MUL,
    BinaryOp.MIN,
    BinaryOp.MAX,
    BinaryOp.AND,
    BinaryOp.OR,
    BinaryOp.XOR,
)


def update_of(store: Store) -> Update | None:
    """What a store adds to its element, if that is all it does."""
    value = store.value
    if not isinstance(value, Binary) or value.op not in _OPS:
        return None
    old = Load(store.buffer, store.indices)
    for one, other in ((value.left, value.right), (value.right, value.left)):
        if one == old and not any(
            isinstance(each, Load) and each.buffer == store.buffer for each in subexpressions(other)
        ):
            return Update(value.op, old, other)
    return None


def across(builder: Any, op: BinaryOp, dtype: DType, start: Any, vector: Any, mask: Any) -> Any:
    """`start` and the lanes of `vector` where `mask` holds (None: all), under `op`."""
    kind = register_type(dtype)
    if mask is not None:
        nothing = splat(builder, constant(kind, neutral(op, dtype).value), vector.type.count)
        vector = builder.select(mask, vector, nothing)
    name = f"llvm.vector.reduce.{_name(op, dtype)}.{suffix(vector.type)}"
    if dtype.is_float and op in (BinaryOp.ADD, BinaryOp.MUL):
        return call_intrinsic(builder, name, kind, [start, vector], fastmath=("reassoc",))
    return arithmetic.binary(
        builder, op, dtype, start, call_intrinsic(builder, name, kind, [vector])
    )


def _name(op: BinaryOp, dtype: DType) -> str:
    if op in (BinaryOp.MIN, BinaryOp.MAX):
        least = op is BinaryOp.MIN
        if dtype == BOOL:
            return "and" if least else "or"
        if dtype.is_float:
            return "fminimum" if least else "fmaximum"
        return f"{'s' if dtype.kind is Kind.INT else 'u'}{'min' if least else 'max'}"
    name = {
        BinaryOp.ADD: "add",
        BinaryOp.MUL: "mul",
        BinaryOp.AND: "and",
        BinaryOp.OR: "or",
        BinaryOp.XOR: "xor",
    }[op]
    return f"f{name}" if dtype.is_float else name
