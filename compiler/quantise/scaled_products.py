"""The pass that scales products of two activations instead of their operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir.dtypes import FLOAT32


@dataclass(frozen=True, slots=True)
class ScaleProducts:
    """Moves scalar factors of a product's operands behind the product.

    ::

        q = multiply(a, 0.35)
        k = divide(b, 2.8)            ->     p = matmul(a, b)
        s = matmul(q, k)                     s = multiply(p, 0.125)

    Exporters scale attention's operands so. In integers a scale costs nothing, and what computes
    `a` and `b` need not leave the accelerator for it.
    """

    name: str = "scale-products"

    def apply(self, function: Function) -> Function:
        """The function with scales behind products; dead values are left to `EliminateDead`."""
        types = verify(function)
        taken, made = set(types), {let.name: let for let in function.body.lets}
        lets: list[Let] = []
        for let in function.body.lets:
            call = let.value
            if not _is_product(call, types):
                lets.append(let)
                continue
            assert isinstance(call, Call), "a product"
            operands, factor = [], 1.0
            for operand in call.args:
                plain, own = _without_scale(operand, made, types)
                operands.append(plain)
                factor *= own
            if factor == 1.0 or not np.isfinite(np.float32(factor)) or not np.float32(factor):
                lets.append(let)
                continue
            product = unique_name(f"{let.name}_unscaled", taken)
            lets.append(Let(product, replace(call, args=tuple(operands)), origin=let.source))
            scale = Constant(np.asarray(factor, np.float32))
            scaled = Call(OPERATORS["multiply"], (Var(product), scale))
            lets.append(replace(let, value=scaled))
        return replace(function, body=Body(tuple(lets), function.body.result))


def _is_product(value: object, types: Mapping[str, Type]) -> bool:
    if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
        return False
    return value.callee.name == "matmul" and all(
        isinstance(operand, Var) and _float_rank(types[operand.name]) is not None
        for operand in value.args
    )


def _float_rank(type_: Type) -> int | None:
    """The rank of a float32 tensor; None for other types."""
    if isinstance(type_, TensorType) and type_.dtype == FLOAT32:
        return type_.rank
    return None


def _without_scale(
    operand: Atom, made: Mapping[str, Let], types: Mapping[str, Type]
) -> tuple[Atom, float]:
    """The operand before multiplications and divisions by scalars, and their factor."""
    factor = 1.0
    while isinstance(operand, Var) and (let := made.get(operand.name)) is not None:
        found = _scaled(let.value, types)
        if found is None:
            break
        operand, own = found
        factor *= own
    return operand, factor


def _scaled(value: object, types: Mapping[str, Type]) -> tuple[Var, float] | None:
    """The value that is multiplied or divided by a scalar, and the factor; None for others."""
    match value:
        case Call(callee=OpSpec(name="multiply"), args=(Var() as data, Constant() as scale)):
            inverse = False
        case Call(callee=OpSpec(name="multiply"), args=(Constant() as scale, Var() as data)):
            inverse = False
        case Call(callee=OpSpec(name="divide"), args=(Var() as data, Constant() as scale)):
            inverse = True
        case _:
            return None
    rank = _float_rank(types[data.name])
    if rank is None or scale.array.size != 1 or scale.array.ndim > rank:
        return None
    factor = float(scale.array.item())
    if not isfinite(factor) or not factor:
        return None
    return data, 1 / factor if inverse else factor
