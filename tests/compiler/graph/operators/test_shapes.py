"""Operators that change shapes: types with symbols, refusals."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.operators.shapes import (
    DepthToSpace,
    Flatten,
    Reshape,
    Squeeze,
    Transpose,
)
from tests.support.compiler.graph.calls import refused, type_of


def test_defaults() -> None:
    assert (Transpose(), Flatten(), Squeeze()) == (Transpose(None), Flatten(1), Squeeze(None))
    assert Reshape((1,)) == Reshape((1,), False)
    assert DepthToSpace(2) == DepthToSpace(2, False)


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[N, 2, M]", "transpose(x)", "int8[M, 2, N]"),
        ("x: int8[N, 2, M]", "transpose(x, perm=[1, 2, 0])", "int8[2, M, N]"),
        ("x: int8[N, 2]", "reshape(x, shape=[-1])", "int8[2*N]"),
        ("x: int8[N, 2]", "reshape(x, shape=[0, 2, 1])", "int8[N, 2, 1]"),
        ("x: int8[2, N]", "reshape(x, shape=[2, 0])", "int8[2, N]"),
        ("x: int8[N, 6, 5]", "reshape(x, shape=[0, 3, -1])", "int8[N, 3, 10]"),
        ("x: int8[N, M]", "reshape(x, shape=[0, -1])", "int8[N, M]"),
        ("x: int8[N, 0]", "reshape(x, shape=[0, 5], allow_zero=True)", "int8[0, 5]"),
        ("x: int8[N, 2, M]", "flatten(x)", "int8[N, 2*M]"),
        ("x: int8[N, 2, M]", "flatten(x, axis=0)", "int8[1, 2*M*N]"),
        ("x: int8[N, 2, M]", "flatten(x, axis=3)", "int8[2*M*N, 1]"),
        ("x: int8[N, 2, M]", "flatten(x, axis=-1)", "int8[2*N, M]"),
        ("x: int8[1, N, 1]", "squeeze(x, axes=[0])", "int8[N, 1]"),
        ("x: int8[1, N, 1]", "squeeze(x, axes=[-1, 0])", "int8[N]"),
        ("x: int8[N, M]", "unsqueeze(x, axes=[1])", "int8[N, 1, M]"),
        ("x: int8[N, M]", "unsqueeze(x, axes=[-1, 0])", "int8[1, N, M, 1]"),
        ("x: int8[N, M]", "unsqueeze(x, axes=[])", "int8[N, M]"),
        ("x: int8[N, 1]", "expand(x, shape=[3, 1, 4])", "int8[3, N, 4]"),
        ("x: int8[N, 4]", "expand(x, shape=[4])", "int8[N, 4]"),
        ("x: int8[N]", "expand(x, shape=[2, 1])", "int8[2, N]"),
        ("x: int8[N, 2]", "tile(x, repeats=[3, 4])", "int8[3*N, 8]"),
        ("x: int8[N, 8, 2, 3]", "depth_to_space(x, block=2)", "int8[N, 2, 4, 6]"),
        ("x: int8[N, 2, 4, 6]", "space_to_depth(x, block=2)", "int8[N, 8, 2, 3]"),
        ("x: int8[N, 2, M, K]", "upsample(x, factors=[2, 3])", "int8[N, 2, 2*M, 3*K]"),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ("x: int8[N, 2]", "transpose(x, perm=[0])", ""),
        ("x: int8[N, 2]", "transpose(x, perm=[0, 0])", ""),
        ("x: int8[N, 2]", "transpose(x, perm=[0, 2])", ""),
        (
            "x: int8[N, 2]",
            "reshape(x, shape=[-2])",
            r"data int8\[N, 2\] into \[-2\]: there is no extent -2 for axis 0",
        ),
        (
            "x: int8[N, 2]",
            "reshape(x, shape=[0, 2, 0])",
            "data .*: there is no extent 0 for axis 2",
        ),
        ("x: int8[N, 2]", "reshape(x, shape=[-1, -1])", "data .*: only one extent can be -1"),
        (
            "x: int8[N, 2]",
            "reshape(x, shape=[-1, 3])",
            r"data .*: 2\*N elements leave no extent for -1 that is known",
        ),
        (
            "x: int8[N, 2]",
            "reshape(x, shape=[4])",
            r"data .*: 2\*N elements are not known to be 4",
        ),
        ("x: int8[N, 2]", "reshape(x, shape=[0, 3])", r"data .*: 2\*N elements are not .* be 3\*N"),
        ("x: int8[N, 2]", "flatten(x, axis=3)", "data .* has no axis 3: -2..1"),
        (
            "x: int8[N, 1]",
            "squeeze(x)",
            r"data int8\[N, 1\]: a symbol may be 1, so that axes have to be given",
        ),
        ("x: int8[N, 1]", "squeeze(x, axes=[0])", r"axis 0 of data int8\[N, 1\] has not extent 1"),
        ("x: int8[N, 1]", "squeeze(x, axes=[2])", "data .* has no axis 2"),
        ("x: int8[N]", "unsqueeze(x, axes=[2])", r"data int8\[N\] has no axis 2: -2..1"),
        (
            "x: int8[N, 2]",
            "expand(x, shape=[3, 2])",
            r"data int8\[N, 2\] is not known to broadcast with \[3, 2\]",
        ),
        ("x: int8[2, N]", "expand(x, shape=[5])", "data .* is not known to broadcast with"),
        ("x: int8[N]", "tile(x, repeats=[2, 2])", ""),
        ("x: int8[N, 2]", "upsample(x, factors=[2, 2])", ""),
        ("x: int8[1, N, 2, 2]", "depth_to_space(x, block=2)", "axis 1 of data .* not N"),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)
