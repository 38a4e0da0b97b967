"""Padding equals NumPy's, in every mode."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.operators.pad import PadMode, pad
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, same


@given(data=st.data(), mode=st.sampled_from(PadMode))
@settings(max_examples=60)
def test_against_numpy(data: st.DataObject, mode: PadMode) -> None:
    shape = data.draw(shapes(extent=5, smallest=0 if mode is PadMode.CONSTANT else 1))
    most = 9 if len(shape) < 3 else 2
    before, after = ([data.draw(st.integers(0, most)) for _ in shape] for _ in range(2))
    x = numbers(0, shape, "int16")
    widths = list(zip(before, after, strict=True))
    result = evaluate(pad(given_as("X", x), before + after, mode=mode), {"X": x})
    same(result, np.pad(x, widths, mode=mode.value) if shape else x)


@pytest.mark.parametrize("mode", list(PadMode))
def test_negative_numbers_cut_off_first(mode: PadMode) -> None:
    x = numbers(0, (6, 7), "int8")
    result = evaluate(pad(given_as("X", x), (-2, 3, 4, -1), mode=mode), {"X": x})
    same(result, np.pad(x[2:, :-1], ((0, 4), (3, 0)), mode=mode.value))


@pytest.mark.parametrize("value", [0, 1.5, float("-inf")])
def test_value(value: float) -> None:
    x = numbers(0, (2, 3))
    result = evaluate(pad(given_as("X", x), (1, 0, 0, 2), value=value), {"X": x})
    same(result, np.pad(x, ((1, 0), (0, 2)), constant_values=value))


def test_everything_cut_off() -> None:
    x = numbers(0, (2, 3))
    assert evaluate(pad(given_as("X", x), (0, -1, 0, -2)), {"X": x}).shape == (2, 0)
    result = evaluate(pad(given_as("X", x), (0, -3, 0, 2), value=7), {"X": x})
    same(result, np.full((2, 2), 7, "float32"))


class TestRefusals:
    x = placeholder((2, 3), FLOAT32, "X")

    def test_numbers(self) -> None:
        with pytest.raises(TensorError, match=r"pad p: pads \[1, 1\] has to be 4 numbers"):
            pad(self.x, (1, 1), name="p")
        with pytest.raises(TensorError, match=r"\[0, -2, 0, -2\] cuts more off axis 1 than X"):
            pad(self.x, (0, -2, 0, -2))

    @pytest.mark.parametrize("mode", [PadMode.EDGE, PadMode.REFLECT, PadMode.WRAP])
    def test_nothing_to_repeat(self, mode: PadMode) -> None:
        with pytest.raises(TensorError, match=f"axis 0 of E .* is empty: nothing to {mode.value}"):
            pad(placeholder((0,), FLOAT32, "E"), (1, 0), mode=mode)

    def test_value(self) -> None:
        with pytest.raises(TensorError, match=r"N int8\[2\] is padded with 200: 200 is no int8"):
            pad(placeholder((2,), INT8, "N"), (1, 1), value=200)
