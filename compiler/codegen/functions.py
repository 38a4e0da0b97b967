"""Functions of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from compiler.codegen import elementary
from compiler.codegen.formulas import Calculator
from compiler.codegen.lanes import I64, call_intrinsic, constant, lanes_of, suffix
from compiler.ir.dtypes import DType
from compiler.ir.expr import UnaryOp

__all__ = ["call_function", "power"]

_INSTRUCTIONS = {
    UnaryOp.SQRT: "sqrt",
    UnaryOp.FLOOR: "floor",
    UnaryOp.CEIL: "ceil",
    UnaryOp.ROUND: "roundeven",
}
"""Exact ones, which processors have."""

_FORMULAS: dict[UnaryOp, Callable[[Calculator, Any], Any]] = {
    UnaryOp.EXP: elementary.exp,
    UnaryOp.LOG: elementary.log,
    UnaryOp.TANH: elementary.tanh,
    UnaryOp.ERF: elementary.erf,
}
"""What networks live on, in vectors."""


def call_function(builder: Any, op: UnaryOp, dtype: DType, value: Any, contract: bool) -> Any:
    """`op` of a float, or of each lane. `contract`: see `Calculator`.

    What is neither an instruction nor a formula the C library computes, under the same name.
    """
    if op in _INSTRUCTIONS:
        name = f"llvm.{_INSTRUCTIONS[op]}.{suffix(value.type)}"
        return call_intrinsic(builder, name, value.type, [value])
    if op in _FORMULAS:
        return _FORMULAS[op](Calculator(builder, dtype, value, contract), value)
    return _library(builder, op.value, dtype, value)


def power(builder: Any, dtype: DType, a: Any, b: Any) -> Any:
    """`a` to the power `b`, of floats, or of each lane."""
    return _library(builder, "pow", dtype, a, b)


def _library(builder: Any, name: str, dtype: DType, *values: Any) -> Any:
    """A function of the C library, a lane at a time."""
    name = name if dtype.bits == 64 else f"{name}f"
    lanes = lanes_of(values[0])
    if lanes is None:
        return call_intrinsic(builder, name, values[0].type, values)
    result = ir.Constant(values[0].type, ir.Undefined)
    for lane in range(lanes):
        where = constant(I64, lane)
        each = [builder.extract_element(value, where) for value in values]
        result = builder.insert_element(
            result, call_intrinsic(builder, name, each[0].type, each), where
        )
    return result
