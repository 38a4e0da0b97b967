"""Factors as they are stored: what is found through stages, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT8, INT16, INT32
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.visit import subexpressions, substitute
from tandem.compiler.machines.gpu.schedules.stored_factors import half, narrow
from tandem.compiler.operators import stored_floats
from tandem.compiler.te import Schedule, Tensor, cast, compute, const, placeholder, select

X = placeholder((8,), FLOAT16, "X")


def widened() -> Tensor:
    """The tensor in float32, as a stage."""
    return compute((8,), lambda i: stored_floats.cast(X[i], FLOAT32), "wide")


def bordered(beyond: float) -> Tensor:
    """It, backwards, with two numbers in front."""
    wide = widened()
    turned = compute((8,), lambda i: wide[7 - i], "turned")
    return compute(
        (10,), lambda i: select(i < 2, const(beyond, FLOAT32), turned[i - 2]), "bordered"
    )


def test_through_stages() -> None:
    """What is found reads the float16, and is the same numbers."""
    whole = bordered(0.5)
    assert whole.source is not None
    (axis,) = whole.source.axes
    found = half(whole[axis])
    assert found is not None
    assert found.dtype == FLOAT16
    read = [part for part in subexpressions(found) if isinstance(part, Load)]
    assert {each.buffer.name for each in read} == {"X"}
    stored = compute((10,), lambda i: substitute(found, {axis.name: i}), "stored")
    values = np.arange(8).astype(np.float16)
    (one,) = interpreter.run(Schedule.of(stored).program, [values])
    (other,) = interpreter.run(Schedule.of(whole).program, [values])
    np.testing.assert_array_equal(one.astype(np.float32), other)


@pytest.mark.parametrize("beyond", [0.1, 1e6, float("nan")])
def test_other_numbers_beyond(beyond: float) -> None:
    whole = bordered(beyond)
    assert half(whole[3]) is None


def test_what_is_none() -> None:
    a, b = placeholder((8,), FLOAT32, "a"), placeholder((8,), BFLOAT16, "b")
    assert half(a[0]) is None
    assert half(X[0]) is None
    assert half(stored_floats.cast(b[0], FLOAT32)) is None
    assert half(widened()[0] * 2.0) is None
    total = compute((8,), lambda i: widened()[i] + a[i], "total")
    assert half(total[0]) is None


def test_bytes() -> None:
    c = placeholder((8,), INT8, "c")
    assert narrow(cast(c[0], INT32)) == c[0]
    assert narrow(cast(cast(c[0], INT16), INT32)) == c[0]
    assert narrow(cast(c[0] + 1, INT32)) == c[0] + 1
