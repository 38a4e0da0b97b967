"""Operators that change shapes: the graph's calls, and what is refused, by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.operators.shapes import CONVERTERS
from tandem.compiler.graph.extents import Dim, Extent
from tandem.compiler.graph.operators.shapes import (
    DepthToSpace,
    Expand,
    SpaceToDepth,
    Squeeze,
    Tile,
    Transpose,
    Unsqueeze,
)
from tests.support.compiler.frontends.converted import Converted

N = Dim(("N",))


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    start = "not supported: " if kind is UnsupportedError else ""
    return pytest.raises(kind, match=rf"^node n \(\w+\): {re.escape(start + message)}$")


@pytest.mark.parametrize(
    ("shape", "into", "wanted"),
    [
        ((2, 3, 4), [0, -1], (2, 12)),
        ((2, 3, 4), [4, 0, 2], (4, 3, 2)),
        ((N, 3, 4), [0, 12], (N, 12)),
        ((2, 3, 4), [-1], (24,)),
    ],
)
def test_reshapes(
    body: Converted, shape: tuple[Extent, ...], into: list[int], wanted: tuple[Extent, ...]
) -> None:
    assert body.node("Reshape", 13, body.value(*shape), np.array(into))[0].shape == wanted
    assert body.node("Reshape", 1, body.value(*shape), shape=into)[0].shape == wanted


def test_zeros_of_reshapes(body: Converted) -> None:
    (found,) = body.node("Reshape", 14, body.value(0, 3), np.array([3, 0]), allowzero=1)
    assert found.shape == (3, 0)
    with refused("the shape ['6', '1', '0'] has a 0 beyond float32[2, 3]"):
        body.node("Reshape", 13, body.value(2, 3), np.array([6, 1, 0]))
    with refused("the shape is missing"):
        body.node("Reshape", 1, body.value(2, 3))


@pytest.mark.parametrize(
    ("axis", "wanted"),
    [(0, (1, 24)), (1, (2, 12)), (2, (6, 4)), (3, (24, 1)), (-1, (6, 4)), (-3, (1, 24))],
)
def test_matrices_of_all_axes(body: Converted, axis: int, wanted: tuple[int, ...]) -> None:
    assert body.node("Flatten", 13, body.value(2, 3, 4), axis=axis)[0].shape == wanted


def test_axes_that_there_are_not(body: Converted) -> None:
    for axis in (4, -4):
        with refused(f"axis {axis} of float32[2, 3, 4]"):
            body.node("Flatten", 13, body.value(2, 3, 4), axis=axis)


def test_axes_as_attributes_and_operands(body: Converted) -> None:
    x = body.value(1, 3, 1)
    body.node("Squeeze", 11, x, axes=[0])
    body.node("Squeeze", 13, x, np.array([2]))
    body.node("Squeeze", 13, x)
    body.node("Unsqueeze", 11, x, axes=[1])
    body.node("Unsqueeze", 13, x, np.array([-1]))
    assert [call[2] for call in body.calls] == [
        *(Squeeze((0,)), Squeeze((2,)), Squeeze(None)),
        *(Unsqueeze((1,)), Unsqueeze((-1,))),
    ]
    with refused("axes are missing"):
        body.node("Unsqueeze", 11, x)


@pytest.mark.parametrize(
    ("shape", "into", "asked"),
    [
        ((3, 1), [2, 1, 5], (2, 1, 5)),
        ((3, 1), [1, 5], (1, 5)),
        ((3,), [], ()),
        ((N, 1), [N, 5], (1, 5)),
        ((3, N), [2, 3, N], (2, 3, 1)),
    ],
)
def test_expansions(
    body: Converted, shape: tuple[Extent, ...], into: list[Extent], asked: tuple[int, ...]
) -> None:
    kind = object if N in into else np.int64
    body.node("Expand", 13, body.value(*shape), np.array(into, kind))
    assert body.calls[-1][2] == Expand(asked)


def test_expansions_to_what_is_not_known(body: Converted) -> None:
    for shape in ((1, 3), (3,)):
        with refused(
            f"float32[{', '.join(map(str, shape))}] to N, 3: give shapes", UnsupportedError
        ):
            body.node("Expand", 13, body.value(*shape), np.array([N, 3], object))


def test_repetitions(body: Converted) -> None:
    x = body.value(2, 3)
    body.node("Tile", 13, x, np.array([3, 1]))
    for axis in (1, -1):
        body.node("Tile", 1, x, np.array([4]), np.array([axis]))
    body.node("Tile", 1, x, np.array([4]), np.array([0]))
    assert [call[2] for call in body.calls] == [
        *(Tile((3, 1)), Tile((1, 4)), Tile((1, 4)), Tile((4, 1))),
    ]
    with refused("axes [2] of float32[2, 3]"):
        body.node("Tile", 1, x, np.array([4]), np.array([2]))


def test_blocks(body: Converted) -> None:
    body.node("DepthToSpace", 13, body.value(1, 8, 2, 3), blocksize=2)
    body.node("DepthToSpace", 13, body.value(1, 8, 2, 3), blocksize=2, mode="CRD")
    body.node("DepthToSpace", 1, body.value(1, 8, 2, 3), blocksize=2)
    body.node("SpaceToDepth", 13, body.value(1, 2, 4, 6), blocksize=2)
    assert [call[2] for call in body.calls] == [
        *(DepthToSpace(2, False), DepthToSpace(2, True), DepthToSpace(2, False), SpaceToDepth(2)),
    ]
    with refused("mode is 'RCD'"):
        body.node("DepthToSpace", 13, body.value(1, 8, 2, 3), blocksize=2, mode="RCD")


def test_blocks_of_columns_first(body: Converted) -> None:
    (found,) = body.node("SpaceToDepth", 28, body.value(1, 2, 4, 6), blocksize=2, mode="CRD")
    assert found.shape == (1, 8, 2, 3)
    calls = body.calls
    assert [call[0] for call in calls] == ["reshape", "transpose", "reshape"]
    assert calls[0][2].shape == (1, 2, 2, 2, 3, 2)  # type: ignore[attr-defined]
    assert calls[1][2] == Transpose((0, 1, 3, 5, 2, 4))
    for shape in ((1, 2, 3, 4), (1, 2, 4, 3), (1, 2, 4), (1, 2, N, 4)):
        shown = ", ".join(map(str, shape))
        with refused(f"float32[{shown}] is not made of blocks of 2"):
            body.node("SpaceToDepth", 28, body.value(*shape), blocksize=2, mode="CRD")
    with refused("blocks of 0"):
        body.node("SpaceToDepth", 28, body.value(1, 2, 4, 6), blocksize=0, mode="CRD")
