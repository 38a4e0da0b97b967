"""Concatenation, slices, pads and gathers: types with symbols, values, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import NestedArray
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.parts import Gather, GatherNd, OneHot, Pad, Slice, Split
from tandem.compiler.operators.pad import PadMode
from tests.support.compiler.graph.calls import refused, type_of, value
from tests.support.compiler.graph.graphs import same_values

ENDLESS = 2**31 - 1


def test_defaults() -> None:
    assert Slice((0,), (1,)) == Slice((0,), (1,), None, None)
    assert Split((1,)) == Split((1,), 0)
    assert Pad((0, 0)) == Pad((0, 0), PadMode.CONSTANT, 0)
    assert (Gather(), GatherNd(), OneHot(4)) == (Gather(0), GatherNd(0), OneHot(4, -1))
    assert OPERATORS["split"].several
    assert not OPERATORS["concat"].several


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[N, 2, M]", "concat(x, x, axis=1)", "int8[N, 4, M]"),
        ("x: int8[N, 2], y: int8[3*N, 2]", "concat(x, y, x, axis=-2)", "int8[5*N, 2]"),
        ("x: int8[2, N], y: int8[3, N]", "concat(x, y, axis=0)", "int8[5, N]"),
        ("x: int8[N, 5]", "split(x, sizes=[1, 4], axis=-1)", "(int8[N, 1], int8[N, 4])"),
        # An axis from 0 to its end, in steps of 1, may be a symbol.
        ("x: int8[N, 5]", f"slice(x, starts=[0, 1], ends=[{ENDLESS}, 3])", "int8[N, 2]"),
        ("x: int8[5, N]", "slice(x, starts=[1], ends=[4], steps=[2])", "int8[2, N]"),
        ("x: int8[N, 5]", "slice(x, starts=[4], ends=[0], axes=[-1], steps=[-2])", "int8[N, 2]"),
        ("x: int8[N, 5]", "pad(x, pads=[0, 2, 0, 1])", "int8[N, 8]"),
        ("x: int8[5, N]", "pad(x, pads=[1, 0, -2, 0], mode=edge)", "int8[4, N]"),
        ("x: int8[N, 3], i: int64[M, 2]", "gather(x, i, axis=1)", "int8[N, M, 2]"),
        ("x: int8[4, N], i: int64[]", "gather(x, i)", "int8[N]"),
        ("x: int8[M, 4, N], i: int64[2]", "gather(x, i, axis=1)", "int8[M, 2, N]"),
        ("x: int8[N, 3, 9], i: int64[N, M, 2]", "gather_elements(x, i, axis=1)", "int8[N, M, 2]"),
        ("x: int8[4, 3], i: int64[4, M]", "gather_elements(x, i, axis=1)", "int8[4, M]"),
        ("x: int8[4, 3], i: int64[2, M]", "gather_elements(x, i, axis=1)", "int8[2, M]"),
        ("x: int8[N, 4, M], i: int64[K, 2]", "gather_nd(x, i)", "int8[K, M]"),
        ("x: int8[N, 4, M], i: int64[N, 5, 1]", "gather_nd(x, i, batch_dims=1)", "int8[N, 5, M]"),
        ("x: int8[N, 4, M], i: int64[N, 1]", "gather_nd(x, i, batch_dims=1)", "int8[N, M]"),
        ("i: int64[N, 2], v: int8[2]", "one_hot(i, v, depth=3, axis=0)", "int8[3, N, 2]"),
        ("i: int64[N, 2], v: int8[2]", "one_hot(i, v, depth=3, axis=1)", "int8[N, 3, 2]"),
        ("i: int64[N], v: int8[2]", "one_hot(i, v, depth=3)", "int8[N, 3]"),
        ("x: int8[N, M], r: int8[M], i: int64[]", "put_row(x, r, i)", "int8[N, M]"),
        ("x: int8[N], r: int8[], i: int64[]", "put_row(x, r, i)", "int8[N]"),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


X = np.arange(6, dtype=np.int8).reshape(2, 3)


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[2, 3]", "concat(x, x, axis=0)", np.concatenate([X, X])),
        ("x: int8[2, 3]", "split(x, sizes=[1, 1])", (X[:1], X[1:])),
        ("x: int8[2, 3]", "slice(x, starts=[1], ends=[9], axes=[1])", X[:, 1:]),
        ("x: int8[2, 3]", "slice(x, starts=[-1], ends=[-9], axes=[1], steps=[-2])", X[:, ::-2]),
        (
            "x: int8[2, 3]",
            "pad(x, pads=[0, 1, 0, 0], value=7)",
            np.pad(X, ((0, 0), (1, 0)), constant_values=7),
        ),
        ("x: int8[2, 3]", "gather(x, int64[2](2, -3), axis=1)", X[:, [2, 0]]),
        ("x: int8[2, 3]", "gather(x, int64[](1))", X[1]),
        (
            "x: int8[2, 3]",
            "gather_elements(x, int64[2, 1](2, 1), axis=1)",
            X[[0, 1], [2, 1]][:, None],
        ),
        ("x: int8[2, 3]", "gather_nd(x, int64[1, 2](1, 2))", X[1:, 2]),
        ("x: int8[2, 3]", "gather_nd(x, int64[2, 1](2, 0), batch_dims=1)", X[[0, 1], [2, 0]]),
        (
            "x: int8[2, 3]",
            "put_row(x, int8[3](7, 8, 9), int64[](1))",
            np.array([[0, 1, 2], [7, 8, 9]], np.int8),
        ),
        (
            "x: int8[2, 3]",
            "one_hot(x, int8[2](-1, 1), depth=2, axis=0)",
            np.stack([np.where(X == n, 1, -1) for n in (0, 1)]).astype(np.int8),
        ),
    ],
)
def test_values(params: str, call: str, wanted: NestedArray) -> None:
    same_values(value(params, call, X), wanted)


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        (
            "x: int8[N, 2], y: int8[N, 3]",
            "concat(x, y, axis=0)",
            r"x1 int8\[N, 3\] and x0 int8\[N, 2\] differ beside axis 0",
        ),
        ("x: int8[N, 2], y: int8[M, 3]", "concat(x, y, axis=1)", "x1 .* differ beside axis 1"),
        ("x: int8[N], y: int8[N, 1]", "concat(x, y, axis=0)", "x1 .* differ beside axis 0"),
        ("x: int8[N], y: int16[N]", "concat(x, y, axis=0)", "x1 .* differ beside axis 0"),
        (
            "x: int8[N], y: int8[M]",
            "concat(x, y, axis=0)",
            r"x0 int8\[N\], x1 int8\[M\]: extents along axis 0 do not add up to one that is known",
        ),
        ("x: int8[N]", "concat(x, x, axis=1)", r"x0 int8\[N\] has no axis 1: -1..0"),
        ("x: int8[N, 4]", "split(x, sizes=[1, 1])", "axis 0 of data .* has to be a number, not N"),
        ("x: int8[N]", f"slice(x, starts=[1], ends=[{ENDLESS}])", "axis 0 of data .* not N"),
        ("x: int8[N]", f"slice(x, starts=[0], ends=[{ENDLESS - 1}])", "axis 0 of data .* not N"),
        ("x: int8[N]", f"slice(x, starts=[0], ends=[{ENDLESS}], steps=[2])", "axis 0 of data"),
        ("x: int8[N, 4]", "pad(x, pads=[0, 0, 1, 0])", "axis 0 of data .* not N"),
        ("x: int8[4, N]", "gather(x, int64[](0), axis=1)", None),
        (
            "x: int8[N, 3], i: int64[M, 3]",
            "gather_elements(x, i, axis=1)",
            r"indices int64\[M, 3\] is not known to lie within data int8\[N, 3\]",
        ),
        ("x: int8[4, N], i: int64[5, N]", "gather_elements(x, i, axis=1)", "indices .* is not kn"),
        ("x: int8[4, N], i: int64[N, N]", "gather_elements(x, i, axis=1)", "indices .* is not kn"),
        (
            "x: int8[N, 3], i: int64[M, 1]",
            "gather_nd(x, i, batch_dims=1)",
            r"data int8\[N, 3\], indices int64\[M, 1\]: the first 1 axes differ",
        ),
        (
            "x: int8[N, 3], i: int64[2, M]",
            "gather_nd(x, i)",
            "axis 0 of data .* has to be a number",
        ),
        (
            "i: int64[N], v: int8[2]",
            "one_hot(i, v, depth=3, axis=2)",
            "indices .* has no axis 2: -2..1",
        ),
        (
            "x: int8[N, 3], r: int8[2], i: int64[]",
            "put_row(x, r, i)",
            r"row int8\[2\] is no row of data int8\[N, 3\] at index int64\[\]",
        ),
        ("x: int8[N, 3], r: int8[3], i: int32[]", "put_row(x, r, i)", "row .* is no row"),
        ("x: int8[N, 3], r: int8[3], i: int64[1]", "put_row(x, r, i)", "row .* is no row"),
        ("x: int8[N, 3], r: int16[3], i: int64[]", "put_row(x, r, i)", "row .* is no row"),
    ],
)
def test_refusals(params: str, call: str, message: str | None) -> None:
    if message is None:
        # What is indexed may be of any extent.
        assert type_of(params, call) == "int8[4]"
    else:
        refused(params, call, message)
