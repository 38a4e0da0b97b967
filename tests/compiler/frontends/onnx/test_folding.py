"""What is computed at import is what the graph's operators compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.errors import GraphError, UnsupportedError
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.folding import fold
from tandem.compiler.graph import Attributes, Dim
from tandem.compiler.graph.attributes import NO_ATTRIBUTES
from tandem.compiler.graph.evaluate import Interpreter, run_call
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Cast, Modulo
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import (
    Expand,
    Flatten,
    Reshape,
    Squeeze,
    Transpose,
    Unsqueeze,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir import BOOL, FLOAT32, INT32, INT64

Array = NDArray[Any]
N = Dim(("N",))

NUMBERS = st.integers(-7, 7)
MATRIX = st.lists(NUMBERS, min_size=6, max_size=6)


def same(operator: str, attributes: Attributes, *operands: Array) -> None:
    """Folded, and by the graph's evaluator."""
    spec = OPERATORS[operator]
    values = [constant(each) for each in operands]
    result = spec.result("it", [each.type for each in values], attributes)
    assert isinstance(result, TensorType)
    found = fold(operator, attributes, operands, result)
    atoms = tuple(each.atom for each in values if each.atom is not None)
    wanted = run_call(Call(spec, atoms, attributes), operands, Interpreter())
    assert isinstance(wanted, np.ndarray)
    assert found is not None
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@settings(max_examples=20)
@given(MATRIX, MATRIX, st.sampled_from(["int32", "int64", "float32"]))
def test_elements(left: list[int], right: list[int], dtype: str) -> None:
    a, b = (np.array(each, dtype).reshape(2, 3) for each in (left, right))
    for name in ("add", "subtract", "multiply", "maximum", "minimum"):
        same(name, NO_ATTRIBUTES, a, b)
    for name in ("equal", "less", "less_or_equal", "greater", "greater_or_equal"):
        same(name, NO_ATTRIBUTES, a, b)
    for name in ("negative", "absolute"):
        same(name, NO_ATTRIBUTES, a)
    same("where", NO_ATTRIBUTES, a > b, a, b)
    same("cast", Cast(INT64), a)
    same("cast", Cast(FLOAT32), a)
    same("cast", Cast(BOOL), a)
    for name in ("logical_and", "logical_or", "logical_xor"):
        same(name, NO_ATTRIBUTES, a > 0, b > 0)
    same("logical_not", NO_ATTRIBUTES, a > 0)
    if np.all(b):
        same("divide", NO_ATTRIBUTES, a, b)
    if np.all(b) and dtype != "float32":
        same("modulo", Modulo(0), a, b)
        same("modulo", Modulo(1), a, b)
    if dtype == "float32":
        for name in ("floor", "ceil", "round_even"):
            same(name, NO_ATTRIBUTES, a / np.float32(2))


def test_moves() -> None:
    data = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    same("reshape", Reshape((4, -1)), data)
    same("flatten", Flatten(2), data)
    same("unsqueeze", Unsqueeze((0, -1)), data)
    same("squeeze", Squeeze(None), data[:1])
    same("expand", Expand((5, 1, 3, 1)), data[:1])
    same("transpose", Transpose((2, 0, 1)), data)
    same("transpose", Transpose(None), data)
    same("concat", Concat(-1), data, data)
    same("gather", Gather(1), data, np.array([[0, -1]]))
    same("gather", Gather(0), data[0, 0], np.array(2))
    same("reduce_sum", Reduction((0, -1), False), data)
    same("reduce_prod", Reduction(None, True), data[0])
    same("reduce_max", Reduction((1,), True), data)
    same("reduce_min", Reduction((1,), True), data)


@given(*[st.integers(-6, 6)] * 2, st.sampled_from([-3, -2, -1, 1, 2, 3]))
def test_slices(start: int, end: int, step: int) -> None:
    same("slice", Slice((start,), (end,), (0,), (step,)), np.arange(4))


def test_what_is_not_exact_is_left() -> None:
    result = TensorType((3,), FLOAT32)
    floats = np.array([0.1, 0.2, 0.3], np.float32)
    assert fold("exp", NO_ATTRIBUTES, [floats], result) is None
    assert fold("reduce_sum", Reduction(None, False), [floats], TensorType((), FLOAT32)) is None
    zero = np.array([1, 0, 1])
    assert fold("divide", NO_ATTRIBUTES, [zero, zero], TensorType((3,), INT64)) is None
    large = np.array([1e20, np.nan, 0], np.float32)
    assert fold("cast", Cast(INT32), [large], TensorType((3,), INT32)) is None


def test_an_index_out_of_range_is_refused() -> None:
    with pytest.raises(GraphError, match=r"indices 3\.\.3 of an axis of 3"):
        fold("gather", Gather(0), [np.arange(3), np.array([3])], TensorType((1,), INT64))


def extents(*values: int | Dim) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("multiply", extents(N, 3), np.array([4, 5]), [Dim(("N",), 4), 15]),
        ("multiply", extents(N), np.array([-1]), None),
        ("divide", extents(Dim(("N",), 6), 7), np.array([3, -2]), [Dim(("N",), 2), -3]),
        ("divide", extents(N), np.array([2]), None),
        ("add", extents(N, 1), extents(N, 2), [Dim(("N",), 2), 3]),
        ("add", extents(N), np.array([1]), None),
        ("subtract", extents(Dim(("N",), 3), 1), extents(N, 4), [Dim(("N",), 2), -3]),
        ("equal", extents(N, 2, N), np.array([-1, 2, 0]), [False, True, False]),
        ("equal", extents(N), np.array([3]), None),
        ("exp", extents(N), np.array([3]), None),
    ],
)
def test_symbols(operator: str, left: Array, right: Array, result: list[Any] | None) -> None:
    type_ = TensorType(left.shape, BOOL if operator == "equal" else INT64)
    found = fold(operator, NO_ATTRIBUTES, [left, right], type_)
    assert (found if found is None else found.tolist()) == result


def test_symbols_are_moved() -> None:
    shape = extents(N, 3, 8)
    picked = fold("gather", Gather(0), [shape, np.array(0)], TensorType((), INT64))
    assert picked is not None
    assert picked.item() == N
    total = fold("reduce_prod", Reduction(None, False), [shape], TensorType((), INT64))
    assert total is not None
    assert total.item() == Dim(("N",), 24)


def test_symbols_are_in_no_graph() -> None:
    builder = Builder(set())
    shape = constant(extents(N, 3))
    with pytest.raises(UnsupportedError, match=r"holds \[N, 3\], which are no numbers yet"):
        builder.call("cast", [shape], Cast(FLOAT32))


def test_what_grows_stays_a_call() -> None:
    """A constant of shape, as large as somebody likes, is a line of the graph and no array."""
    one = constant(np.zeros((), np.float32))
    (small,) = Builder(set()).call("expand", [one], Expand((64,)))
    (large,) = Builder(set()).call("expand", [one], Expand((1 << 13,)))
    assert small.known is not None
    assert large.known is None
    with pytest.raises(GraphError, match="of more than"):
        Builder(set()).call("expand", [one], Expand((1 << 30, 1 << 30)))
