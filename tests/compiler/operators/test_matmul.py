"""Products of stacks of matrices equal NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.operators.matmul import dense, gemm, matmul
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import broadcasting_shapes
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (3, 7, 5), (4, 16, 1), (1, 5, 9), (0, 3, 4), (2, 3, 0)]
)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32"])
def test_dense(sizes: tuple[int, int, int], bias: bool, dtype: str) -> None:
    rows, features, outputs = sizes
    x, w = numbers(0, (rows, features), dtype), numbers(1, (outputs, features), dtype)
    wide = dtype if dtype.startswith("f") else "int32"
    b = numbers(2, (outputs,), wide)
    arrays = {"X": x, "W": w} | ({"B": b} if bias else {})
    tensors = {name: given_as(name, array) for name, array in arrays.items()}
    expected = (x.astype(wide) @ w.astype(wide).T + (b if bias else 0)).astype(wide)
    result = dense(tensors["X"], tensors["W"], bias=tensors.get("B"))
    same(evaluate(result, arrays), expected)


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("shape", [None, (), (4,), (3, 1), (1, 4), (3, 4)])
@pytest.mark.parametrize("factors", [(1.0, 1.0), (0.5, 2.0)])
def test_gemm(
    trans_a: bool, trans_b: bool, shape: tuple[int, ...] | None, factors: tuple[float, float]
) -> None:
    a, b = numbers(0, (5, 3) if trans_a else (3, 5)), numbers(1, (4, 5) if trans_b else (5, 4))
    c = None if shape is None else numbers(2, shape)
    arrays = {"A": a, "B": b} | ({} if c is None else {"C": c})
    tensors = {name: given_as(name, array) for name, array in arrays.items()}
    alpha, beta = factors
    result = gemm(
        tensors["A"],
        tensors["B"],
        tensors.get("C"),
        alpha=alpha,
        beta=beta,
        trans_a=trans_a,
        trans_b=trans_b,
    )
    expected = onnx("Gemm", a, b, c, alpha=alpha, beta=beta, transA=trans_a, transB=trans_b)
    same(evaluate(result, arrays), expected)


def test_gemm_of_integers() -> None:
    a, b = np.full((1, 2), 1 << 20, "int32"), np.full((2, 1), 1 << 10, "int32")
    result = evaluate(gemm(given_as("A", a), given_as("B", b)), {"A": a, "B": b})
    assert result.item() == -(1 << 31)


class TestRefusalsOfLayers:
    x = placeholder((2, 3), FLOAT32, "X")
    w = placeholder((4, 5), FLOAT32, "W")

    def test_extents(self) -> None:
        with pytest.raises(
            TensorError,
            match=r"dense fc: X float32\[2, 3\] and W float32\[4, 5\] meet with 3 and 5",
        ):
            dense(self.x, self.w, name="fc")
        with pytest.raises(TensorError, match="meet with 2 and 4"):
            gemm(self.x, self.w, trans_a=True)

    def test_nothing_to_sum(self) -> None:
        a, b = placeholder((2, 0), FLOAT32, "A"), placeholder((3, 0), FLOAT32, "B")
        with pytest.raises(TensorError, match="meet with none: nothing to sum"):
            dense(a, b)

    def test_rank(self) -> None:
        with pytest.raises(TensorError, match=r"V float32\[3\] has to have 2 dimensions, rows and"):
            dense(placeholder((3,), FLOAT32, "V"), self.w)

    def test_addend(self) -> None:
        c = placeholder((3, 1), FLOAT32, "C")
        with pytest.raises(TensorError, match=r"do not broadcast: axis -2 has \[2, 3\]"):
            gemm(self.x, placeholder((3, 4), FLOAT32, "B"), c)
        with pytest.raises(TensorError, match="float32 is expected here, not int32"):
            gemm(self.x, placeholder((3, 4), FLOAT32, "B"), placeholder((4,), INT32, "C"))
        with pytest.raises(TensorError, match=r"C float32\[5, 2, 4\] does not broadcast to"):
            gemm(self.x, placeholder((3, 4), FLOAT32, "B"), placeholder((5, 2, 4), FLOAT32, "C"))

    def test_factor(self) -> None:
        a, b = placeholder((2, 3), INT8, "A"), placeholder((3, 2), INT8, "B")
        with pytest.raises(TensorError, match=r"alpha 0.5, beta 1.0: 0.5 is no int8"):
            gemm(a, b, alpha=0.5)


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


@pytest.mark.parametrize(
    ("data", "weight", "bias", "message"),
    [
        ((3,), (4, 3), (4,), r"X float32\[3\] has to have 2 dimensions, rows and features"),
        ((2, 2, 3), (4, 3), (4,), "has to have 2 dimensions, rows and features"),
        ((2, 3), (4, 3, 1), (4,), "W .* has to have 2 dimensions, outputs and features"),
        ((2, 3), (3, 4), (3,), "meet with 3 and 4 elements"),
        ((2, 0), (4, 0), (4,), "meet with none: nothing to sum"),
        ((2, 3), (4, 3), (3,), r"bias B float32\[3\] has to be float32\[4\]"),
    ],
)
def test_dense_layers_that_do_not_fit(
    data: tuple[int, ...], weight: tuple[int, ...], bias: tuple[int, ...], message: str
) -> None:
    shapes = {"X": data, "W": weight, "B": bias}
    given = [placeholder(shape, FLOAT32, name) for name, shape in shapes.items()]
    with pytest.raises(TensorError, match=f"^dense.*: .*{message}"):
        dense(*given)


@pytest.mark.parametrize(
    ("a", "b", "c", "message"),
    [
        ((3,), (3, 4), (4,), "A .* has to have 2 dimensions, a matrix"),
        ((2, 3), (1, 3, 4), (4,), "B .* has to have 2 dimensions, a matrix"),
        ((2, 3), (4, 3), (3,), "meet with 3 and 4 elements"),
        ((2, 3), (3, 4), (3,), r"C float32\[3\] do not broadcast"),
        ((2, 3), (3, 4), (5, 1, 4), "C .* does not broadcast to "),
    ],
)
def test_gemm_of_what_does_not_fit(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], message: str
) -> None:
    given = [
        placeholder(shape, FLOAT32, name) for name, shape in zip("ABC", (a, b, c), strict=True)
    ]
    with pytest.raises(TensorError, match=f"^gemm.*: .*{message}"):
        gemm(*given)
