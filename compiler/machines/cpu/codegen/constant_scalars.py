"""Constants of kernels that lie in buffers of one element, as constants where they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from tandem.compiler.ir.arithmetic import binary_function, cast_function, value_of
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.visit import map_expressions, rewrite, rewrite_expr, writes


def inline_constants(function: PrimFunc) -> PrimFunc:
    """A program whose scalar buffers with a constant are read as that constant.

    ::

        s[] = 0.02                              s[] = 0.02
        zero[] = 0                       ->     zero[] = 0
        y[i] = x[i] / s[] + float(zero[])       y[i] = x[i] / 0.02 + 0.0

    Casts, sums and differences of constants are computed. The code generator of LLVM removes the
    buffers; here the constants are needed before it.
    """
    stores = [*writes(function.body)]
    times = Counter(store.buffer.name for store in stores)
    known = {
        store.buffer.name: store.value
        for store in stores
        if isinstance(store.value, Const) and not store.indices and times[store.buffer.name] == 1
    }
    if not known:
        return function
    body = rewrite(
        function.body,
        lambda stmt: map_expressions(
            stmt, lambda expr: rewrite_expr(expr, lambda inner: _folded(inner, known))
        ),
    )
    return replace(function, body=body)


def _folded(expr: Expr, known: Mapping[str, Const]) -> Expr:
    match expr:
        case Load(buffer=buffer) if buffer.name in known:
            return known[buffer.name]
        case Cast(operand=Const() as operand, dtype=dtype):
            return _constant(cast_function(operand.dtype, dtype)(value_of(operand)), expr)
        case Binary(op=op, left=Const() as left, right=Const() as right) if not op.compares:
            function = binary_function(op, left.dtype)
            return _constant(function(value_of(left), value_of(right)), expr)
        case _:
            return expr


def _constant(value: float, like: Expr) -> Const:
    return Const(float(value) if like.dtype.is_float else value, like.dtype)
