"""Constants are known by their content, and nobody can change it."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Constant


def test_the_same_content_is_the_same_constant() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    first = Constant(array)
    for again in (array.copy(), np.asfortranarray(array), array.astype(">i2"), array[:, ::1]):
        assert Constant(again) == first
        assert hash(Constant(again)) == hash(first)
    assert str(first.type) == "int16[2, 3]"
    for other in (array.reshape(3, 2), array.astype(np.int32), array + 1, array.view(np.uint16)):
        assert Constant(other) != first
    assert first != "int16[2, 3]"


def test_bits_count_and_not_values() -> None:
    assert Constant(np.array([0.0])) != Constant(np.array([-0.0]))
    assert Constant(np.array([np.nan])) == Constant(np.array([np.nan]))


def test_nobody_changes_it() -> None:
    array = np.zeros(3)
    constant = Constant(array)
    array[0] = 1.0
    assert not constant.array.any()
    with pytest.raises(ValueError, match="read-only"):
        constant.array[0] = 1.0
    # What is fixed already is not copied.
    assert Constant(constant.array).array is constant.array
    view = array[:]
    view.flags.writeable = False
    assert Constant(view).array is not view


def test_scalars_and_nothing() -> None:
    assert Constant(np.array(True)).array.shape == ()
    assert str(Constant(np.zeros((0, 2), np.uint8)).type) == "uint8[0, 2]"


def test_refusals() -> None:
    for dtype in (np.complex64, np.complex128):
        with pytest.raises(GraphError, match=f"a constant of {np.dtype(dtype)}: "):
            Constant(np.zeros(1, dtype))
