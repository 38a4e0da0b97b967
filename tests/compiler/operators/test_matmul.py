"""Products of stacks of matrices equal NumPy's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import TensorError
from compiler.ir.dtypes import FLOAT32, INT8
from compiler.operators.matmul import matmul
from compiler.te import placeholder
from tests.support.broadcasts import broadcasting_shapes
from tests.support.operators import Array, evaluate, given_as, numbers, same


def product(a: Array, b: Array) -> Array:
    return evaluate(matmul(given_as("A", a), given_as("B", b)), {"A": a, "B": b})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (2, 3, 4)),
        ((2, 5, 3), (3,)),
        ((2, 3), (3, 4)),
        ((2, 3, 5), (2, 5, 4)),
        ((2, 1, 3, 5), (4, 5, 2)),
        ((3, 2), (4, 2, 3)),
        ((0, 3), (3, 4)),
        ((0, 2, 3), (1, 3, 4)),
        ((2, 3), (3, 0)),
        ((1, 1), (1, 1)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_against_numpy(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    a, b = numbers(0, left, dtype), numbers(1, right, dtype)
    expected = a @ b
    if expected.ndim == 0:
        expected = expected.reshape(())
    same(product(a, b), expected)


@given(stacks=broadcasting_shapes(2), sizes=st.tuples(*[st.integers(1, 4)] * 3))
@settings(max_examples=25)
def test_stacks_broadcast(stacks: tuple[tuple[int, ...], ...], sizes: tuple[int, int, int]) -> None:
    rows, depth, columns = sizes
    a = numbers(0, (*stacks[0], rows, depth), "int8")
    b = numbers(1, (*stacks[1], depth, columns), "uint8")
    same(product(a, b), a.astype("int32") @ b.astype("int32"))


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ((), (3,), r"A float32\[\] and B float32\[3\]: a scalar is no matrix"),
        ((2, 3), (4, 2), "meet with 3 and 4 elements"),
        ((2, 0), (0, 2), "meet with none: nothing to sum"),
        ((2, 2, 3), (3, 3, 2), "axis -3 has 2 and 3 matrices"),
        ((0, 2, 3), (2, 3, 2), "axis -3 has 0 and 2 matrices"),
    ],
)
def test_refusals(left: tuple[int, ...], right: tuple[int, ...], message: str) -> None:
    with pytest.raises(TensorError, match=message):
        matmul(placeholder(left, FLOAT32, "A"), placeholder(right, FLOAT32, "B"))


def test_types_are_refused() -> None:
    with pytest.raises(TensorError, match="types that do not multiply"):
        matmul(placeholder((2, 2), FLOAT32, "A"), placeholder((2, 2), INT8, "B"))
