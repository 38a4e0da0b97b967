"""Floats of 16 bits around operators that compute in float32."""

from __future__ import annotations

import pytest
from onnx import helper

from tandem.compiler.frontends.onnx.builder import Builder
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.stored_floats import narrowed, widened
from tandem.compiler.frontends.onnx.values import Count, Value
from tandem.compiler.graph import TensorType, Var
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT8, INT64, DType

BUILDER = Builder(set())
"""Where all values of these tests are."""


def value(dtype: DType, *, counted: bool = False) -> Value:
    type_ = TensorType((2, 3), dtype)
    made = Value(type_, Var(BUILDER.param("x", type_).name))
    if not counted:
        return made
    size = TensorType((), INT64)
    count = Count(Value(size, Var(BUILDER.param("n", size).name)), "n")
    return Value(type_, made.atom, counts={1: count})


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16])
def test_operands_become_float32(dtype: DType) -> None:
    given = value(dtype, counted=True)
    found = widened(BUILDER, given)
    assert found.dtype == FLOAT32
    assert found.counts == given.counts
    assert found.atom != given.atom


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64, INT8])
def test_other_operands_stay(dtype: DType) -> None:
    given = value(dtype)
    assert widened(BUILDER, given) is given


def node(operator: str, inputs: int, outputs: int) -> Node:
    definition = standard(operator, 21, "")
    assert definition is not None
    names = [f"x{at}" for at in range(inputs)], [f"y{at}" for at in range(outputs)]
    proto = helper.make_node(operator, *names, name="n")
    return Node(proto, definition, [], {*names[1]}, BUILDER)


def test_results_have_the_type_of_the_operands() -> None:
    add = node("Add", 2, 1)
    result = value(FLOAT32, counted=True)
    for operands, dtype in (
        ([value(FLOAT16), value(FLOAT16)], FLOAT16),
        ([value(BFLOAT16), None], BFLOAT16),
        ([None, value(FLOAT16)], FLOAT16),
        ([value(FLOAT32), value(FLOAT32)], FLOAT32),
    ):
        (found,) = narrowed(add, operands, [result])
        assert found.dtype == dtype
        assert found.counts == result.counts


def test_results_of_another_type_stay() -> None:
    whole = value(INT8)
    assert narrowed(node("Add", 2, 1), [value(FLOAT16)] * 2, [whole]) == (whole,)
    # Values have the operand's type, their places int64.
    top = node("TopK", 2, 2)
    values, places = narrowed(top, [value(FLOAT16), value(INT64)], [value(FLOAT32), value(INT64)])
    assert (values.dtype, places.dtype) == (FLOAT16, INT64)
