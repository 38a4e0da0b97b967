"""Reductions and elementary functions, as expressions, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT8, UINT8, DType
from tandem.compiler.te import compute, placeholder, reduce_axis
from tandem.compiler.te.tensor import Combiner, Reduction
from tests.support.compiler.operators.operators import interpreted

K, L = reduce_axis(3, "k"), reduce_axis(2, "l")


def term(dtype: DType) -> Any:
    return placeholder((3,), dtype, "A")[K]


@pytest.mark.parametrize(
    ("reduce", "combiner", "dtype", "start"),
    [
        (te.sum, Combiner.SUM, INT8, 0),
        (te.sum, Combiner.SUM, FLOAT32, 0.0),
        (te.prod, Combiner.PRODUCT, INT8, 1),
        (te.max, Combiner.MAX, INT8, -128),
        (te.max, Combiner.MAX, UINT8, 0),
        (te.max, Combiner.MAX, FLOAT32, -math.inf),
        (te.min, Combiner.MIN, INT8, 127),
        (te.min, Combiner.MIN, FLOAT32, math.inf),
        (te.all_along, Combiner.ALL, BOOL, True),
        (te.any_along, Combiner.ANY, BOOL, False),
    ],
)
def test_reductions(
    reduce: Callable[..., Reduction], combiner: Combiner, dtype: DType, start: float
) -> None:
    found = reduce(term(dtype), K)
    assert found.combiner is combiner
    assert found.axes == (K,)
    assert found.term == term(dtype) or found.term.dtype == dtype
    assert found.start.dtype == dtype
    assert found.start.value == start
    assert reduce(term(dtype), [K, L]).axes == (K, L)


def test_first_values() -> None:
    assert te.max(term(INT8), K, start=3).start.value == 3
    assert te.min(term(FLOAT32), K, start=-2).start.value == -2.0
    for reduce, name in ((te.max, "max"), (te.min, "min")):
        with pytest.raises(TensorError, match=f"^{name} of int8 begins with 128: 128 is no int8"):
            reduce(term(INT8), K, start=128)


def test_refusals() -> None:
    with pytest.raises(TensorError, match=r"^3 is no expression to reduce"):
        te.sum(3, K)  # type: ignore[arg-type]
    with pytest.raises(TensorError, match=r"^a reduction needs at least one axis"):
        te.sum(term(INT8), [])
    for reduce, dtype, name in (
        (te.sum, BOOL, "sum"),
        (te.prod, BOOL, "product"),
        (te.max, BOOL, "max"),
        (te.all_along, INT8, "all"),
        (te.any_along, FLOAT32, "any"),
    ):
        with pytest.raises(TensorError, match=f"^{name} of {dtype} is not defined$"):
            reduce(term(dtype), K)


@pytest.mark.parametrize(
    "name",
    [
        *("abs", "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh"),
        *("cosh", "tanh", "erf", "floor", "ceil", "round"),
    ],
)
def test_elementary_functions(name: str) -> None:
    values = np.array([0.25, 0.5, 0.96875])
    a = placeholder((3,), FLOAT64, "A")
    function = getattr(te, name)
    found = interpreted(compute((3,), lambda i: function(a[i]), "R"), {"A": values})
    here: Any = getattr(math, name, None) or {"abs": abs, "round": round}[name]
    wanted = [float(here(each)) for each in values]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_signs_and_halves() -> None:
    values = np.array([-1.5, -0.5, 2.5])
    a = placeholder((3,), FLOAT64, "A")

    def of(function: Any) -> list[float]:
        return interpreted(compute((3,), lambda i: function(a[i]), "R"), {"A": values}).tolist()

    assert of(te.abs) == [1.5, 0.5, 2.5]
    assert of(te.floor) == [-2, -1, 2]
    assert of(te.ceil) == [-1, 0, 3]
    assert of(te.round) == [-2, 0, 2]
