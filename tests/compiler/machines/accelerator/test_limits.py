"""Why operators are not on the accelerator, by operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call
from tandem.compiler.machines.accelerator.limits import limit_of
from tests.support.compiler.graph.graphs import graph

REAL = "the accelerator has integers only, so that the CPU converts real numbers"
RESIZING = (
    "of resizing, the accelerator has only that of images to the nearest pixel, by whole factors"
)
LOOKUP = (
    "elements are looked up by indices, and addresses are part of the accelerator's instructions"
)
PLACES = (
    "elements change their places within blocks of channels, which LOAD and STORE move as they are"
)


def call(params: str, operator: str) -> Call:
    """The call of an operator."""
    function = graph(f"func @main({params}):\n  y = {operator}\n  return y\n")
    found = function.body.lets[-1].value
    assert isinstance(found, Call)
    return found


IMAGE = "x: int8[1, 2, 3, 4], i: int64[6]"


@pytest.mark.parametrize(
    ("params", "operator", "limit"),
    [
        ("x: int8[1, 4, 3]", "transpose(x, perm=[0, 2, 1])", PLACES),
        (IMAGE, "gather(x, i, axis=2)", LOOKUP),
        ("x: int8[3, 4], i: int64[3, 4]", "gather_elements(x, i, axis=1)", LOOKUP),
        ("x: int8[3, 4], i: int64[3, 1]", "gather_nd(x, i)", LOOKUP),
        ("x: int8[2, 4], w: int8[3, 4]", "dense(x, w)", None),
        ("x: int32[4]", "add(x, x)", None),
    ],
)
def test_limits(params: str, operator: str, limit: str | None) -> None:
    assert limit_of(call(params, operator)) == limit


@pytest.mark.parametrize(
    ("axis", "shape", "limit"),
    [(2, (6,), RESIZING), (3, (6,), RESIZING), (1, (6,), LOOKUP), (2, (2, 3), LOOKUP)],
)
def test_rows_and_columns_at_constant_places_are_resizing(
    axis: int, shape: tuple[int, ...], limit: str
) -> None:
    shown = f"x: int8[1, 2, 3, 4], i: int64{list(shape)}"
    given = call(shown, f"gather(x, i, axis={axis})")
    assert limit_of(given) == LOOKUP
    places = Constant(np.zeros(shape, np.int64))
    assert limit_of(replace(given, args=(given.args[0], places))) == limit


def test_functions_have_no_limit() -> None:
    given = call("x: int32[4]", "add(x, x)")
    callee = graph("func @other(x: int32[4]):\n  y = add(x, x)\n  return y\n")
    assert limit_of(replace(given, callee=callee)) is None
    real = call("x: float32[4]", QUANTISE)
    assert limit_of(real) == REAL


QUANTISE = "quantise(x, float32[](0.5), int8[](0))"
