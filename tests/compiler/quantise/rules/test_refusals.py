"""Sentences about operands that have no int8 value."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from tandem.compiler.graph import Atom, Constant, TensorType, Var
from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, INT64, DType
from tandem.compiler.quantise.rewriter import UNREAD, Rewriter
from tandem.compiler.quantise.rules.refusals import never_reached, not_constant, not_int8


class Stated:
    """What the sentences read of a rewriter."""

    def __init__(self, dtype: DType = FLOAT32, *, states: bool = False, measured: str = "") -> None:
        self.dtype = dtype
        self.states_scales = states
        self.measured = {measured: None}

    def type(self, atom: Atom) -> TensorType:
        return TensorType((2,), self.dtype)


X, ONE = Var("x"), Constant(np.ones(2, np.float32))


def rewriter(*given: Any, **more: Any) -> Rewriter:
    return cast(Rewriter, Stated(*given, **more))


@pytest.mark.parametrize(
    ("one", "atom", "text"),
    [
        (rewriter(), ONE, "its data is a constant"),
        (rewriter(INT64), X, "its data is int64: a model in float32 would help"),
        (rewriter(FLOAT64, states=True), X, "its data is float64: a model in float32 would help"),
        (
            rewriter(states=True),
            X,
            "the model states no int8 scale for its data: QuantizeLinear and DequantizeLinear with "
            "one constant scale before it would help",
        ),
        (rewriter(), X, "its data stays in real numbers"),
    ],
)
def test_no_int8(one: Rewriter, atom: Atom, text: str) -> None:
    assert not_int8(one, "data", atom) == text


def test_what_calibration_has_not_reached() -> None:
    assert never_reached(rewriter(INT64), "data", X).startswith("its data is int64")
    assert never_reached(rewriter(), "data", ONE) == "its data is a constant"
    assert never_reached(rewriter(), "data", X) == UNREAD
    assert never_reached(rewriter(measured="x"), "data", X) == (
        "no sample of the calibration reached its data: --calibrate with inputs that do would help"
    )


def test_constants() -> None:
    assert not_constant("weight", ONE) == "its weight is not finite, and no integer stands for that"
    assert not_constant("weight", X) == (
        "its weight is computed when the network runs: a constant would help"
    )
