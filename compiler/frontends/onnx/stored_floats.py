"""Operators on float16 and bfloat16, which compute in float32 and round their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tandem.compiler.frontends.onnx.builder import Builder
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.ir.dtypes import FLOAT32, DType


def widened(builder: Builder, value: Value) -> Value:
    """A value of float16 or bfloat16 as float32; other values unchanged."""
    if not value.dtype.is_stored_float:
        return value
    (found,) = builder.call("cast", [value], Cast(FLOAT32))
    return replace(found, counts=value.counts)


def narrowed(
    node: Node, operands: Sequence[Value | None], results: Sequence[Value]
) -> tuple[Value, ...]:
    """Results rounded to the type of the operands that ONNX says they share their type with."""
    types: dict[str, DType] = {}
    for position, operand in enumerate(operands):
        if operand is not None and operand.dtype.is_stored_float:
            types.setdefault(node.operand_type(position), operand.dtype)
    return tuple(
        replace(
            node.cast(result, types.get(node.result_type(position), FLOAT32)), counts=result.counts
        )
        if result.dtype == FLOAT32
        else result
        for position, result in enumerate(results)
    )
