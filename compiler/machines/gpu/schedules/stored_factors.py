"""Factors of products as they are stored: bytes, and halves of float32."""

from __future__ import annotations

import numpy as np

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32
from tandem.compiler.ir.expr import Cast, Const, Expr, Load, Select
from tandem.compiler.ir.visit import substitute
from tandem.compiler.operators.stored_floats import stored_operand
from tandem.compiler.te import Tensor


def narrow(expr: Expr) -> Expr:
    """What is widened to a factor, of which a copy takes fewer bytes."""
    if isinstance(expr, Cast) and expr.operand.dtype.bits < expr.dtype.bits:
        return narrow(expr.operand)
    return expr


def half(expr: Expr) -> Expr | None:
    """A factor in float32 as the float16 that it is widened from, in this stage or in others whose
    elements it moves, some of them with numbers of float16 beyond; None if it is something else.

    ::

        select(i < 8, a[i], 0.0), a[j] = float32(x[j])    ->    select(i < 8, x[i], float16(0.0))
    """
    if expr.dtype != FLOAT32:
        return None
    match expr:
        case Const(value=value):
            return _half_constant(float(value))
        case Select(condition=condition, then=then, otherwise=otherwise):
            inside, outside = half(then), half(otherwise)
            if inside is not None and outside is not None:
                return Select(condition, inside, outside)
        case Load(buffer=Tensor(source=source), indices=indices) if source is not None:
            if source.combiner is None:
                names = (each.name for each in source.axes)
                return half(substitute(source.value, dict(zip(names, indices, strict=True))))
        case _:
            pass
    found = stored_operand(expr)
    return found if found is not None and found.dtype == FLOAT16 else None


def _half_constant(value: float) -> Expr | None:
    """A number as float16; None if it has another."""
    with np.errstate(over="ignore"):
        found = np.float32(value).astype(np.float16)
    if np.float32(found) != np.float32(value):
        return None
    return te.reinterpret(te.const(int(found.view(np.uint16)), FLOAT16.holder), FLOAT16)
