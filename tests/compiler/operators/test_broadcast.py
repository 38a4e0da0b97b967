"""Broadcasting by NumPy's rule, and what element-wise operators refuse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NoReturn

import numpy as np
import pytest

from tandem.compiler.errors import IRError, TensorError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, Kind
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.operators.broadcast import (
    broadcast_extents,
    broadcast_indices,
    broadcast_shape,
    elementwise,
)
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import interpreted

SHAPES = [(), (1,), (2,), (3,), (0,), (1, 2), (3, 1), (3, 2), (2, 1, 1), (1, 0)]


def refused(axis: int, extents: Sequence[int]) -> NoReturn:
    raise ValueError(f"{axis} has {list(extents)}")


def test_shapes_are_numpy_s() -> None:
    fit = 0
    for one, other in product(SHAPES, repeat=2):
        try:
            wanted = np.broadcast_shapes(one, other)
        except ValueError:
            with pytest.raises(ValueError, match=r"^-[12] has"):
                broadcast_extents([one, other], refused)
        else:
            fit += 1
            assert broadcast_extents([one, other], refused) == wanted
    assert fit > len(SHAPES)
    assert broadcast_extents([(2, 1), (4,), (1, 1, 4)], refused) == (1, 2, 4)
    with pytest.raises(ValueError, match=r"^-2 has \[3, 2\]$"):
        broadcast_extents([(3, 1), (2, 1), (3, 5)], refused)


def test_refused_shapes_say_all_tensors() -> None:
    a, b = placeholder((4, 2), INT8, "a"), placeholder((3, 2), INT8, "b")
    assert broadcast_shape("op", "y", [a, placeholder((2,), INT8, "c")]) == (4, 2)
    with pytest.raises(
        TensorError, match=r"^op y: a .*, b .* do not broadcast: axis -2 has \[3, 4"
    ):
        broadcast_shape("op", "y", [a, b])


def test_indices() -> None:
    i, j, k = (Var(name) for name in "ijk")
    assert broadcast_indices((4, 2), (i, j, k)) == (j, k)
    assert broadcast_indices((1, 2), (i, j, k)) == (0, k)
    assert broadcast_indices((), (i, j)) == ()
    assert broadcast_indices((3, 1), (i, j)) == (i, 0)


@elementwise(Kind.INT, Kind.FLOAT)
def scaled_(a: Expr, b: Expr, *, by: int = 2) -> Expr:
    return a * by - b


@elementwise(Kind.INT, keeps_shape=True)
def moved(a: Expr, b: Expr) -> Expr:
    if a.dtype.bits == 16:
        raise IRError("not of 16 bits")
    return a - b


def test_operators() -> None:
    assert (scaled_.name, scaled_.keeps_shape) == ("scaled", False)
    assert moved.keeps_shape
    a, b = placeholder((2, 1), INT8, "a"), placeholder((3,), INT8, "b")
    arrays = {"a": np.array([[1], [2]], np.int8), "b": np.array([0, 1, 2], np.int8)}
    made = scaled_(a, b)
    assert (made.name, made.shape) == ("scaled", (2, 3))
    np.testing.assert_array_equal(interpreted(made, arrays), arrays["a"] * 2 - arrays["b"])
    named = scaled_(a, b, name="y", by=3)
    assert named.name == "y"
    np.testing.assert_array_equal(interpreted(named, arrays), arrays["a"] * 3 - arrays["b"])
    assert moved(placeholder((2, 3), INT8, "a"), b).shape == (2, 3)


def test_refusals() -> None:
    a, b = placeholder((2, 1), INT8, "a"), placeholder((3,), INT8, "b")
    with pytest.raises(TensorError, match=r"^scaled y: there is no tensor to work on"):
        scaled_(name="y")
    with pytest.raises(TensorError, match=r"^scaled scaled: there is no tensor"):
        scaled_()
    with pytest.raises(TensorError, match=r"^scaled y: .*bool"):
        scaled_(a, placeholder((3,), BOOL, "t"), name="y")
    with pytest.raises(TensorError, match=r"^scaled y: 1 tensors and \[\]: missing a required"):
        scaled_(a, name="y")
    with pytest.raises(TensorError, match=r"^scaled y: 2 tensors and \['to'\]: got an unexpected"):
        scaled_(a, b, name="y", to=1)
    with pytest.raises(TensorError, match=r"^moved y: b .* does not broadcast to a "):
        moved(a, b, name="y")
    with pytest.raises(TensorError, match=r"^scaled y of a .*, f .*: "):
        scaled_(a, placeholder((), FLOAT32, "f"), name="y")
