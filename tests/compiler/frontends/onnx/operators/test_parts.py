"""Operators that cut and join tensors: attributes of the graph's calls, by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.operators.parts import CONVERTERS
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.parts import Concat, OneHot, Pad, Slice, Split
from tandem.compiler.ir.dtypes import BOOL, INT8, INT64
from tandem.compiler.operators.pad import PadMode
from tests.support.compiler.frontends.converted import Converted


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    start = "not supported: " if kind is UnsupportedError else ""
    return pytest.raises(kind, match=rf"^node n \(\w+\): {re.escape(start + message)}$")


def test_concatenations(body: Converted) -> None:
    a, b = body.value(2, 3), body.value(2, 5)
    (found,) = body.node("Concat", 13, a, b, axis=1)
    assert found.shape == (2, 8)
    body.node("Concat", 1, a, b)
    assert [call[2] for call in body.calls] == [Concat(1), Concat(1)]
    with refused("attribute axis is missing"):
        body.node("Concat", 4, a, b)


@pytest.mark.parametrize(
    ("extent", "outputs", "sizes"),
    [(6, 3, (2, 2, 2)), (7, 3, (3, 3, 1)), (7, 2, (4, 3)), (2, 3, (1, 1, 0)), (5, 1, (5,))],
)
def test_parts_of_equal_size(
    body: Converted, extent: int, outputs: int, sizes: tuple[int, ...]
) -> None:
    found = body.node("Split", 18, body.value(2, extent), outputs=outputs, axis=1)
    assert [each.shape for each in found] == [(2, size) for size in sizes]
    assert body.calls[0][2] == Split(sizes, 1)


def test_parts_of_stated_sizes(body: Converted) -> None:
    a = body.value(2, 5)
    body.node("Split", 13, a, np.array([4, 1]), outputs=2, axis=-1)
    body.node("Split", 11, a, outputs=2, axis=1, split=[2, 3])
    body.node("Split", 1, a, np.array([1, 4], np.float32), outputs=2, axis=1)
    assert [call[2] for call in body.calls] == [
        Split((4, 1), -1),
        Split((2, 3), 1),
        Split((1, 4), 1),
    ]
    with refused("2 sizes for 3 results"):
        body.node("Split", 13, a, np.array([4, 1]), outputs=3, axis=1)
    for axis in (2, -3):
        with refused(f"axis {axis} of float32[2, 5]"):
            body.node("Split", 13, a, outputs=2, axis=axis)
    with refused("axis 0 of float32[N, 5]: give its shape", UnsupportedError):
        body.node("Split", 13, body.value(Dim(("N",)), 5), outputs=2)


def test_parts_of_what_is_known_are_known(body: Converted) -> None:
    found = body.node("Split", 13, np.arange(10).reshape(2, 5), outputs=2, axis=1)
    assert [each.known.tolist() for each in found if each.known is not None] == [
        [[0, 1, 2], [5, 6, 7]],
        [[3, 4], [8, 9]],
    ]
    assert body.calls == []


@pytest.mark.parametrize(
    ("opset", "operands", "attributes", "wanted"),
    [
        (1, [], {"starts": [1], "ends": [3]}, Slice((1,), (3,), (0,), (1,))),
        (1, [], {"starts": [1], "ends": [3], "axes": [1]}, Slice((1,), (3,), (1,), (1,))),
        (13, [[0, 1], [2, 3]], {}, Slice((0, 1), (2, 3), (0, 1), (1, 1))),
        (13, [[1], [3], [-1]], {}, Slice((1,), (3,), (-1,), (1,))),
        (13, [[3], [0], [1], [-2]], {}, Slice((3,), (0,), (1,), (-2,))),
    ],
)
def test_slices(
    body: Converted, opset: int, operands: list[Any], attributes: dict[str, Any], wanted: Slice
) -> None:
    body.node("Slice", opset, body.value(4, 5), *map(np.array, operands), **attributes)
    assert body.calls[0][2] == wanted


def test_slices_that_are_none(body: Converted) -> None:
    a, one, two = body.value(4, 5), np.array([1]), np.array([1, 2])
    with refused("1 starts, 2 ends, 1 axes, 1 steps"):
        body.node("Slice", 13, a, one, two)
    with refused("1 starts, 1 ends, 2 axes, 1 steps"):
        body.node("Slice", 13, a, one, one, two)
    with refused("1 starts, 1 ends, 1 axes, 2 steps"):
        body.node("Slice", 13, a, one, one, one, two)
    with refused("starts and ends are missing"):
        body.node("Slice", 1, a, starts=[1])
    with refused("axes [2] of float32[4, 5]"):
        body.node("Slice", 13, a, one, one, np.array([2]))


@pytest.mark.parametrize(
    ("opset", "operands", "attributes", "wanted"),
    [
        (11, [[1, 2, 3, 4]], {}, Pad((1, 2, 3, 4), PadMode.CONSTANT, 0.0)),
        (11, [[1, 2, 3, 4], 1.5], {"mode": "reflect"}, Pad((1, 2, 3, 4), PadMode.REFLECT, 1.5)),
        (2, [], {"pads": [1, 2, 3, 4], "value": 2.0}, Pad((1, 2, 3, 4), PadMode.CONSTANT, 2.0)),
        (1, [], {"paddings": [1, 2, 3, 4]}, Pad((1, 2, 3, 4), PadMode.CONSTANT, 0.0)),
        (18, [[1, 2], None, [1]], {}, Pad((0, 1, 0, 2), PadMode.CONSTANT, 0.0)),
        (18, [[1, 2], None, [-2]], {}, Pad((1, 0, 2, 0), PadMode.CONSTANT, 0.0)),
        (18, [[1, 2, 3, 4], None, [1, 0]], {}, Pad((2, 1, 4, 3), PadMode.CONSTANT, 0.0)),
    ],
)
def test_padding(
    body: Converted, opset: int, operands: list[Any], attributes: dict[str, Any], wanted: Pad
) -> None:
    arrays = [
        None if operand is None else np.array(operand, np.float32 if operand == 1.5 else np.int64)
        for operand in operands
    ]
    body.node("Pad", opset, body.value(5, 6), *arrays, **attributes)
    assert body.calls[0][2] == wanted


def test_what_padding_holds_by_default(body: Converted) -> None:
    for dtype, value in ((BOOL, False), (INT8, 0)):
        body.node("Pad", 13, body.value(2, dtype=dtype), np.array([1, 1]))
        found = body.calls[-1][2]
        assert isinstance(found, Pad)
        assert found.value == value
        assert type(found.value) is type(value)


def test_padding_that_is_none(body: Converted) -> None:
    a = body.value(5, 6)
    with refused("pads [1, 2, 3] of axes [1] of float32[5, 6]"):
        body.node("Pad", 18, a, np.array([1, 2, 3]), None, np.array([1]))
    for axis in (2, -3):
        with refused(f"pads [1, 2] of axes [{axis}] of float32[5, 6]"):
            body.node("Pad", 18, a, np.array([1, 2]), None, np.array([axis]))
    with refused("mode is 'mirror'"):
        body.node("Pad", 13, a, np.array([1, 1, 1, 1]), mode="mirror")


def test_one_hot(body: Converted) -> None:
    values = np.array([0, 1], np.float32)
    (found,) = body.node("OneHot", 11, body.value(3, dtype=INT64), np.array([4]), values, axis=0)
    assert found.shape == (4, 3)
    body.node("OneHot", 11, body.value(3), np.array(4.0, np.float32), values)
    assert body.operators == ["one_hot", "cast", "one_hot"]
    kinds = [call[2] for call in body.calls]
    assert kinds == [OneHot(4, 0), Cast(INT64), OneHot(4, -1)]


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("place", [None, 0, 1, -2])
def test_triangles(body: Converted, upper: int, place: int | None) -> None:
    diagonal = () if place is None else (np.array(place),)
    body.node("Trilu", 14, body.value(2, 3, 4), *diagonal, upper=upper)
    ((name, (mask, _, zero), _),) = body.calls
    assert (name, zero, zero.dtype) == ("where", 0, np.float32)
    keep = np.triu if upper else np.tril
    np.testing.assert_array_equal(mask, keep(np.ones((3, 4)), place or 0) != 0)


def test_triangles_of_what_holds_no_matrices(body: Converted) -> None:
    with refused("float32[3] holds no matrices"):
        body.node("Trilu", 14, body.value(3))
    with refused("float32[N, 3]: give its shape", UnsupportedError):
        body.node("Trilu", 14, body.value(Dim(("N",)), 3))
    with refused("matrices as large as float32[4096, 4097]", UnsupportedError):
        body.node("Trilu", 14, body.value(4096, 4097))
