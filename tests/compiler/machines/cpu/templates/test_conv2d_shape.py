"""Padded images of direct convolutions: extents by hand, and elements against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.templates.conv2d_shape import (
    ConvAxis,
    ConvShape,
    conv_axes,
    excess_of_channels,
    padded_image,
)
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.register_tiles import Tile


def axis(**changes: Any) -> ConvAxis:
    """Five windows of three elements, two apart, over eleven elements, one of padding."""
    values: dict[str, Any] = {"extent": 11, "kernel": 3, "stride": 2, "dilation": 1, "before": 1}
    return ConvAxis(**{**values, "count": 5, "copied": False, **changes})


def test_the_padded_image_is_what_windows_reach() -> None:
    assert (axis().step, axis().pitch, axis().size) == (2, 1, 11)
    assert axis(dilation=3).size == 15
    assert axis(count=1).size == 3
    # A copy for windows of one element leaves out what is between them.
    assert [(one.step, one.pitch, one.size) for one in (
        axis(kernel=1), axis(kernel=1, copied=True), axis(copied=True)
    )] == [(2, 1, 9), (1, 2, 5), (2, 1, 11)]


def test_images_that_need_no_padding() -> None:
    assert not axis().direct
    assert axis(before=0).direct
    assert not axis(before=0, extent=10).direct
    # A copy without gaps is no part of the image.
    assert not axis(before=0, kernel=1, copied=True).direct
    assert axis(before=0, kernel=1, copied=True, stride=1).direct


def test_conditions_are_those_that_can_fail() -> None:
    def texts(one: ConvAxis) -> list[str]:
        return [str(condition) for condition in one.conditions(te_index())]

    assert texts(axis()) == ["1 <= i"]
    assert texts(axis(before=0)) == []
    assert texts(axis(extent=10)) == ["1 <= i"]
    assert texts(axis(extent=9)) == ["1 <= i", "i < 10"]
    # Every second element: the last one is element 8.
    assert texts(axis(kernel=1, copied=True, before=0, extent=9)) == []
    assert texts(axis(kernel=1, copied=True, before=0, extent=8)) == ["i * 2 < 8"]
    assert str(axis(kernel=1, copied=True).position(te_index())) == "i * 2 - 1"


def te_index() -> Expr:
    """The index `i`."""
    found: list[Expr] = []

    def note(i: Expr) -> Expr:
        found.append(i)
        return i

    te.compute((99,), note, "any", ["i"])
    return found[0]


def test_axes_are_rounded_up_to_whole_tiles() -> None:
    data = te.placeholder((1, 2, 9, 20), INT8, "data")
    y, x = conv_axes(
        data, (3, 5), (7, 9), Tile(2, 4, 8), (1, 2), (1, 0, 1, 0), (1, 2), copied=True
    )
    assert y == ConvAxis(9, 3, 1, 1, 1, 8, True)
    assert x == ConvAxis(20, 5, 2, 2, 0, 12, True)


def shape(**changes: Any) -> ConvShape:
    terms: dict[str, Any] = {"groups": 1, "inputs": 3, "steps": 3, "outputs": 10, "channels": 8}
    y = ConvAxis(3, 2, 1, 1, 1, 3, False)
    x = ConvAxis(2, 2, 1, 1, 0, 2, False)
    return ConvShape(**{**terms, "terms": DotTerms(), "axes": (y, x), **changes})


def test_sums_of_blocks() -> None:
    assert shape().blocks == 2
    assert shape(outputs=16).blocks == 2
    assert shape(outputs=17).blocks == 3
    assert shape().sums(5) == (5, 2, 3, 2, 8)
    assert [each.extent for each in shape().window()] == [2, 2]
    assert [each.name for each in shape().window()] == ["ky", "kx"]


def test_elements_of_windows() -> None:
    def at(one: ConvShape, *places: int) -> list[int]:
        n, cb, y, x, ci, ky, kx = (index(place) for place in places)
        return [int(str(each)) for each in one.element((n, cb, y, x), ci, ky, kx)]

    wide = ConvAxis(9, 3, 2, 3, 0, 3, False)
    strided = shape(axes=(wide, ConvAxis(9, 1, 1, 1, 0, 3, False)))
    assert at(strided, 1, 0, 2, 2, 2, 1, 0) == [1, 2, 2 * 2 + 3, 2]
    # Two groups of two blocks: the third block has the channels of the second group.
    grouped = shape(groups=2, outputs=32)
    assert at(grouped, 0, 1, 0, 0, 2, 0, 0)[1] == 2
    assert at(grouped, 0, 2, 0, 0, 2, 1, 1) == [0, 5, 1, 1]


def test_terms_beyond_the_inputs() -> None:
    assert not shape().padded_inputs
    assert shape(steps=4).padded_inputs


def test_extents_and_names_of_a_padded_image() -> None:
    data = te.placeholder((2, 6, 3, 2), INT8, "data")
    found = padded_image(data, shape(groups=2), "padded", False)
    assert found.shape == (2, 6, 4, 3)
    assert found.dtype == INT8
    # A border of 0, or of what numbers are shifted by.
    assert "select" in str(found.op)


@pytest.mark.parametrize(("outputs", "selects"), [(8, False), (10, True)])
def test_the_excess_of_shifted_data(outputs: int, selects: bool) -> None:
    weight = te.placeholder((outputs, 3, 2, 2), INT8, "weight")
    found = excess_of_channels(weight, shape(outputs=outputs), "excess")
    assert (found.shape, found.dtype) == ((-(-outputs // 8), 8), INT32)
    text = str(found.op)
    assert "128" in text
    assert (f"< {outputs}" in text) is selects
    assert np.prod(found.shape) >= outputs
