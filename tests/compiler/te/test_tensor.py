"""Tensor expressions: what they say, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, INT32, UINT8
from tandem.compiler.te import (
    Tensor,
    any_along,
    cast,
    compute,
    equal,
    max,
    min,
    placeholder,
    prod,
    reduce_axis,
    select,
    sum,
)
from tandem.compiler.te.build import program_of

A = placeholder((4, 6), INT8, "A")


def run(tensor: Tensor, *arrays: np.ndarray) -> np.ndarray:
    (result,) = interpreter.run(program_of([tensor]), list(arrays))
    return result


def test_axes_have_the_names_of_the_parameters() -> None:
    tensor = compute((6, 4), lambda x, y: A[y, x], "T")
    assert tensor.source is not None
    assert [axis.name for axis in tensor.source.axes] == ["x", "y"]
    array = np.arange(24, dtype=np.int8).reshape(4, 6)
    np.testing.assert_array_equal(run(tensor, array), array.T)


def test_axes_of_a_function_of_any_rank() -> None:
    tensor = compute((4, 6), lambda *i: A[i] + 1, "T")
    assert tensor.source is not None
    assert [axis.name for axis in tensor.source.axes] == ["i0", "i1"]


@pytest.mark.parametrize(
    ("reduction", "reference"), [(sum, np.sum), (max, np.max), (min, np.min), (prod, np.prod)]
)
def test_reductions(reduction: object, reference: object) -> None:
    k = reduce_axis(6, "k")
    tensor = compute((4,), lambda i: reduction(cast(A[i, k], INT32), axis=k), "R")  # type: ignore[operator]
    array = np.random.default_rng(1).integers(-9, 9, (4, 6)).astype(np.int8)
    expected = reference(array.astype(np.int32), axis=1)  # type: ignore[operator]
    np.testing.assert_array_equal(run(tensor, array), expected)


def test_where_a_reduction_begins() -> None:
    k = reduce_axis(6, "k")
    array = np.random.default_rng(2).integers(-9, 9, (4, 6)).astype(np.int8)
    greatest = compute((4,), lambda i: max(A[i, k], axis=k, start=5), "R")
    np.testing.assert_array_equal(run(greatest, array), np.maximum(array.max(axis=1), 5))
    least = compute((4,), lambda i: min(A[i, k], axis=k, start=-5), "R")
    np.testing.assert_array_equal(run(least, array), np.minimum(array.min(axis=1), -5))


def test_a_reduction_along_two_axes() -> None:
    r, s = reduce_axis(4, "r"), reduce_axis(6, "s")
    tensor = compute((), lambda: any_along(equal(A[r, s], 3), axis=(r, s)), "found")
    array = np.zeros((4, 6), np.int8)
    assert run(tensor, array) == np.bool_(False)
    array[2, 5] = 3
    assert run(tensor, array) == np.bool_(True)


def test_select_is_lazy() -> None:
    """The usual way to pad: the index is only used where it is within."""
    tensor = compute((8,), lambda i: select((i >= 1) & (i < 7), A[0, i - 1], 0), "padded")
    array = np.ones((4, 6), np.int8)
    np.testing.assert_array_equal(run(tensor, array), [0, 1, 1, 1, 1, 1, 1, 0])


@pytest.mark.parametrize("shape", [(0, 6), (4, 0), (0, 0)])
def test_no_elements(shape: tuple[int, int]) -> None:
    data = placeholder(shape, UINT8, "data")
    assert run(compute(shape, lambda i, j: data[i, j], "T"), np.zeros(shape, np.uint8)).size == 0


def test_inputs_in_the_order_asked_for() -> None:
    b = placeholder((4,), INT8, "b")
    unused = placeholder((2,), BOOL, "unused")
    tensor = compute((4,), lambda i: A[i, 0] + b[i], "T")
    program = program_of([tensor], inputs=[unused, b])
    assert [each.name for each in program.inputs] == ["unused", "b", "A"]


def test_a_stage_with_two_readers_is_computed_once() -> None:
    first = compute((4,), lambda i: A[i, 0] + 1, "first")
    second = compute((4,), lambda i: first[i] * 2, "second")
    third = compute((4,), lambda i: first[i] + second[i], "third")
    program = program_of([third])
    array = np.random.default_rng(2).integers(-9, 9, (4, 6)).astype(np.int8)
    (found,) = interpreter.run(program, [array])
    np.testing.assert_array_equal(found, 3 * (array[:, 0] + 1))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: A[1], r"^A has 2 dimensions \[4, 6\], and is indexed with 1$"),
        (lambda: A[1.5, 0], r"^an index of A: 1\.5 is no int64"),
        (lambda: A[A[0, 0], 0], r"^an index of A: int64 is expected here, not int8"),
        (lambda: compute((4,), lambda i, j: A[i, j], "T"), r"^T has 1 dimensions; .* 2 indices$"),
        (lambda: compute((4,), lambda i: 3, "T"), r"^T is computed as 3, which is no expression$"),  # type: ignore[arg-type, return-value]
        (
            lambda: compute((4, 4), lambda i, j: A[i, j], "T", axes=("i", "i")),
            r"^T has two axes called i$",
        ),
        (
            lambda: compute((4,), lambda i: A[i, reduce_axis(3, "k")], "T"),
            r"^T uses k, which is none of its axes \['i'\]$",
        ),
        (lambda: reduce_axis(0, "k"), r"^reduce axis k has extent 0: there is nothing to reduce$"),
        (lambda: placeholder((1,), INT8, "a b"), r"^'a b' is no name for a tensor"),
        (lambda: sum(equal(A[0, 0], 1), reduce_axis(2, "k")), r"^sum of bool is not defined$"),
        (
            lambda: max(A[0, 0], reduce_axis(2, "k"), start=128),
            r"^max of int8 begins with 128: .*128",
        ),
        (lambda: program_of([A]), r"^output A is not computed$"),
        (lambda: program_of([]), r"^a program needs an output$"),
    ],
)
def test_refuses(build: object, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        build()  # type: ignore[operator]


def test_two_tensors_of_one_name_are_refused() -> None:
    other = placeholder((4,), FLOAT32, "A")
    tensor = compute((4,), lambda i: cast(A[i, 0], FLOAT32) + other[i], "T")
    with pytest.raises(TensorError, match="two tensors are called A"):
        program_of([tensor])
