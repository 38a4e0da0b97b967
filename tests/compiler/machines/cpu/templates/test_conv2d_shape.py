"""Padded images of direct convolutions: extents by hand, and elements against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.interpreter import run
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
from tandem.compiler.te.build import program_of


def axis(**changes: Any) -> ConvAxis:
    """Five windows of three elements, two apart, over eleven elements, one of padding."""
    values: dict[str, Any] = {"extent": 11, "kernel": 3, "stride": 2, "dilation": 1, "before": 1}
    return ConvAxis(**{**values, "count": 5, "copied": False, **changes})


def test_the_padded_image_is_what_windows_reach() -> None:
    assert (axis().step, axis().pitch, axis().size) == (2, 1, 11)
    assert axis(dilation=3).size == 15
    assert axis(count=1).size == 3
    # A copy for windows of one element leaves out what is between them.
    assert [
        (one.step, one.pitch, one.size)
        for one in (axis(kernel=1), axis(kernel=1, copied=True), axis(copied=True))
    ] == [(2, 1, 9), (1, 2, 5), (2, 1, 11)]


def test_images_that_need_no_padding() -> None:
    assert not axis().direct
    assert axis(before=0).direct
    assert not axis(before=0, extent=10).direct
    # A copy without gaps is no part of the image.
    assert not axis(before=0, kernel=1, copied=True).direct
    assert axis(before=0, kernel=1, copied=True, stride=1).direct


def value_of(expr: Callable[[Expr], Expr], count: int) -> list[int]:
    """An expression of the index `i`, for i below `count`, by the interpreter."""
    found = te.compute((count,), lambda i: te.cast(expr(i), INT32), "found", ["i"])
    (result,) = run(program_of([found], []), [])
    return [int(each) for each in result]


def inside(one: ConvAxis) -> tuple[int, list[int]]:
    """The number of an axis' conditions, and the elements of the padded image for which they
    hold."""
    (number,) = {len(one.conditions(index(0)))}
    if not number:
        return 0, list(range(one.size))

    def holds(i: Expr) -> Expr:
        return te.select(te.all_of(*one.conditions(i)), te.const(1, INT32), 0)

    return number, [at for at, holds_at in enumerate(value_of(holds, one.size)) if holds_at]


def test_conditions_are_those_that_can_fail() -> None:
    assert axis().size == 11
    assert inside(axis()) == (1, list(range(1, 11)))
    assert inside(axis(before=0)) == (0, list(range(11)))
    assert inside(axis(extent=10)) == (1, list(range(1, 11)))
    assert inside(axis(extent=9)) == (2, list(range(1, 10)))
    # Every second element: the last of five is element 8.
    copy = {"kernel": 1, "copied": True, "before": 0}
    assert inside(axis(**copy, extent=9)) == (0, list(range(5)))
    assert inside(axis(**copy, extent=8)) == (1, list(range(4)))
    assert inside(axis(kernel=1, copied=True, extent=8)) == (1, [1, 2, 3, 4])
    assert inside(axis(kernel=1, copied=True, extent=7)) == (2, [1, 2, 3])


def test_positions_in_the_image() -> None:
    assert value_of(axis().position, 4) == [-1, 0, 1, 2]
    assert value_of(axis(kernel=1, copied=True).position, 4) == [-1, 1, 3, 5]


def test_axes_are_rounded_up_to_whole_tiles() -> None:
    data = te.placeholder((1, 2, 9, 20), INT8, "data")
    y, x = conv_axes(data, (3, 5), (7, 9), Tile(8, 2, 4), (1, 2), (1, 0, 1, 0), (1, 2), copied=True)
    assert y == ConvAxis(9, 3, 1, 1, 1, 8, True)
    assert x == ConvAxis(20, 5, 2, 2, 0, 12, True)


def shape(**changes: Any) -> ConvShape:
    terms: dict[str, Any] = {"groups": 1, "inputs": 3, "steps": 3, "outputs": 10, "channels": 8}
    y = ConvAxis(3, 2, 1, 1, 1, 3, False)
    x = ConvAxis(2, 2, 1, 1, 0, 2, False)
    return ConvShape(**{**terms, "terms": DotTerms(()), "axes": (y, x), **changes})


def test_sums_of_blocks() -> None:
    assert shape().blocks == 2
    assert shape(outputs=16).blocks == 2
    assert shape(outputs=17).blocks == 3
    assert shape().sums(5) == (5, 2, 3, 2, 8)
    assert [each.extent for each in shape().window()] == [2, 2]
    assert [each.name for each in shape().window()] == ["ky", "kx"]


def constant(expr: Expr) -> Callable[[Expr], Expr]:
    return lambda _: expr


def test_elements_of_windows() -> None:
    def at(one: ConvShape, *places: int) -> list[int]:
        n, cb, y, x, ci, ky, kx = (index(place) for place in places)
        found = one.element((n, cb, y, x), ci, ky, kx)
        return [value_of(constant(each), 1)[0] for each in found]

    wide = ConvAxis(9, 3, 2, 3, 0, 3, False)
    strided = shape(axes=(wide, ConvAxis(9, 2, 1, 2, 0, 3, False)))
    assert at(strided, 1, 0, 2, 2, 2, 1, 0) == [1, 2, 2 * 2 + 3, 2]
    assert at(strided, 0, 1, 0, 1, 0, 0, 1) == [0, 0, 0, 3]
    # Two groups of two blocks: the third block has the channels of the second group.
    grouped = shape(groups=2, outputs=32)
    assert at(grouped, 0, 1, 0, 0, 2, 0, 0) == [0, 2, 0, 0]
    assert at(grouped, 0, 2, 0, 0, 2, 1, 1) == [0, 5, 1, 1]


def test_terms_beyond_the_inputs() -> None:
    assert not shape().padded_inputs
    assert shape(steps=4).padded_inputs


DATA = np.arange(-18, 18).reshape(1, 6, 3, 2).astype(np.int8)
"""Two groups of three channels; three rows and two columns."""


def padded(one: ConvShape, shifted: bool, *, zeros: bool = False) -> npt.NDArray[Any]:
    data = te.placeholder(DATA.shape, INT8, "data")
    tensor = padded_image(data, one, "padded", shifted, zeros=zeros)
    (found,) = run(program_of([tensor], [data]), [DATA])
    assert found.shape == tensor.shape
    return np.asarray(found)


def framed() -> npt.NDArray[np.int8]:
    """A row of border above, and a column behind the image."""
    return np.pad(DATA, ((0, 0), (0, 0), (1, 0), (0, 1)))


def test_a_padded_image_has_a_border() -> None:
    found = padded(shape(groups=2), False)
    assert found.dtype == np.int8
    assert (found == framed()).all()
    shifted = padded(shape(groups=2), True)
    assert shifted.dtype == np.uint8
    assert (shifted == framed().astype(np.int64) + 128).all()
    # Of an image that needs none, each element.
    exact = ConvAxis(3, 2, 1, 1, 0, 2, False), ConvAxis(2, 1, 1, 1, 0, 2, False)
    assert (padded(shape(groups=2, axes=exact), False) == DATA).all()


@pytest.mark.parametrize(("zeros", "beyond"), [(False, 128), (True, 0)])
def test_terms_of_dot_products_lie_together(zeros: bool, beyond: int) -> None:
    """Three inputs of each group in two steps of two terms, of which the last has no input."""
    dots = shape(groups=2, steps=2, terms=DotTerms((2,)))
    assert dots.padded_inputs
    found = padded(dots, True, zeros=zeros)
    assert found.shape == (1, 4, 4, 3, 2)
    shifted = framed().astype(np.int64) + 128
    for group in range(2):
        for step, term in ((0, 0), (0, 1), (1, 0)):
            own = shifted[:, group * 3 + step * 2 + term]
            assert (found[:, group * 2 + step, ..., term] == own).all()
        assert (found[:, group * 2 + 1, ..., 1] == beyond).all()
    # Numbers that are not shifted have a border of 0 in any case.
    assert (padded(dots, False)[:, 1, ..., 1] == 0).all()
    assert (padded(dots, False)[:, 3, ..., 0] == framed()[:, 5]).all()


@pytest.mark.parametrize("outputs", [4, 5])
def test_the_excess_of_shifted_data(outputs: int) -> None:
    values = np.arange(outputs * 12).reshape(outputs, 3, 2, 2).astype(np.int8)
    weight = te.placeholder(values.shape, INT8, "weight")
    tensor = excess_of_channels(weight, shape(outputs=outputs, channels=2), "excess")
    (found,) = run(program_of([tensor], [weight]), [values])
    assert found.dtype == np.int32
    expected = 128 * values.astype(np.int64).sum(axis=(1, 2, 3))
    blocks = np.zeros(-(-outputs // 2) * 2, np.int64)
    blocks[:outputs] = expected
    assert (found == blocks.reshape(-1, 2)).all()
