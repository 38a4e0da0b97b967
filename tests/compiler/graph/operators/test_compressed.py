"""Weights in fewer bits: types with symbols, refusals, values."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.operators.compressed import DequantiseBlocks, Widen
from tests.support.compiler.graph.calls import refused, type_of


def test_defaults() -> None:
    assert Widen((1,)) == Widen((1,), 1, 0)
    assert DequantiseBlocks(0, 2) == DequantiseBlocks(0, 2, 0)


TABLE = "table=[0, 1, -2, -1]"


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: uint2[N, M]", f"widen(x, {TABLE})", "int8[N, M]"),
        ("x: uint2[N, 7], s: uint4[N, 3]", f"widen(x, s, {TABLE}, group=3)", "int8[N, 7]"),
        ("x: uint2[7, N], s: uint4[3, N]", f"widen(x, s, {TABLE}, axis=0, group=3)", "int8[7, N]"),
        (
            "x: uint4[N, 8], s: float32[N, 2]",
            "dequantise_blocks(x, s, axis=1, block=4)",
            "float32[N, 8]",
        ),
        (
            "x: uint4[8, N], s: float32[2, N], z: uint4[2, N]",
            "dequantise_blocks(x, s, z, axis=-2, block=4)",
            "float32[8, N]",
        ),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        (
            "x: uint2[N, 7], s: uint4[M, 3]",
            f"widen(x, s, {TABLE}, group=3)",
            r"scales uint4\[M, 3\] is not known to have axis 0 of codes uint2\[N, 7\]",
        ),
        (
            "x: uint2[N, M, 7], s: uint4[N]",
            f"widen(x, s, {TABLE}, axis=2, group=3)",
            "scales .* is not known to have axis 1 of codes",
        ),
        (
            "x: uint2[2, N], s: uint4[2, 3]",
            f"widen(x, s, {TABLE}, group=3)",
            "axis 1 of codes .* has to be a number, not N",
        ),
        (
            "x: uint4[N, 8], s: float32[M, 2]",
            "dequantise_blocks(x, s, axis=1, block=4)",
            r"scale float32\[M, 2\] is not known to have axis 0 of data uint4\[N, 8\]",
        ),
        (
            "x: uint4[N, 8], s: float32[N, 2], z: uint4[M, 2]",
            "dequantise_blocks(x, s, z, axis=1, block=4)",
            "zero_point .* is not known to have axis 0 of data",
        ),
        (
            "x: uint4[N, M, 8], s: float32[N]",
            "dequantise_blocks(x, s, axis=2, block=4)",
            "scale .* is not known to have axis 1 of data",
        ),
        (
            "x: uint4[2, N], s: float32[2, 2]",
            "dequantise_blocks(x, s, axis=1, block=4)",
            "axis 1 of data .* a number, not N",
        ),
        ("x: uint4[N], s: float32[2]", "dequantise_blocks(x, s, axis=1, block=4)", "data .* no ax"),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)
