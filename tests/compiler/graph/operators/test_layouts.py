"""Operators on layouts: the types that they say, and what is refused."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Dim, TensorType
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert, PackWindows, PutRows, View
from tandem.compiler.ir.dtypes import INT8, INT16
from tandem.compiler.layouts.layout import image_blocks

BLOCKS = image_blocks(1, 4)
N = Dim(("N",))
IMAGE = (2, 8, 3, 3)
PLAIN, STORED = TensorType(IMAGE, INT8), TensorType(IMAGE, INT8, BLOCKS)


def result(name: str, attributes: Attributes, *types: TensorType) -> object:
    return OPERATORS[name].result("y", types, attributes)


def test_conversions() -> None:
    assert result("convert", Convert(IMAGE, None, BLOCKS), PLAIN) == STORED
    assert result("convert", Convert(IMAGE, BLOCKS), STORED) == PLAIN
    assert Convert(IMAGE) == Convert(IMAGE, None, None)
    for given, type_, message in (
        (Convert(IMAGE, BLOCKS), PLAIN, r"data int8\[2, 8, 3, 3\] is not int8.*, from which it co"),
        (Convert((2, 8, 3), None, None), PLAIN, r"is not int8\[2, 8, 3\], from which it converts"),
        (Convert((2, 8), None, BLOCKS), TensorType((2, 8), INT8), ""),
        (Convert((1,)), TensorType((N,), INT8), r"data int8\[N\] has the symbol N: bind symbols"),
    ):
        with pytest.raises(GraphError, match=rf"^y = convert\(...\): .*{message}"):
            result("convert", given, type_)


def test_views() -> None:
    assert result("view", View(IMAGE), TensorType((144,), INT8)) == PLAIN
    assert result("view", View(IMAGE, BLOCKS), TensorType((144,), INT8)) == STORED
    assert View(IMAGE) == View(IMAGE, None)
    for given, type_ in (
        (View((143,)), PLAIN),
        (View((144,)), TensorType(IMAGE, INT16)),
    ):
        if type_.dtype == INT16:
            assert result("view", given, type_) == TensorType((144,), INT16)
        else:
            with pytest.raises(
                GraphError, match=r"data .* has not the stored elements of int8\[143"
            ):
                result("view", given, type_)
    # Blocks of 4 channels: 5 channels are stored as 8.
    odd = TensorType((1, 5, 1, 1), INT8, BLOCKS)
    assert result("view", View((8,)), odd) == TensorType((8,), INT8)
    with pytest.raises(GraphError, match="has not the stored elements"):
        result("view", View((5,)), odd)
    with pytest.raises(GraphError, match="has the symbol N: bind symbols first"):
        result("view", View((1,)), TensorType((N,), INT8))


def test_windows() -> None:
    given = PackWindows((3, 2), 1, 4, (1, 2), (1, 0, 1, 2))
    assert given.dilation == (1, 1)
    assert PackWindows((3, 2), 1, 4) == PackWindows((3, 2), 1, 4, (1, 1), (0, 0, 0, 0), (1, 1))
    found = result("pack_windows", given, TensorType((2, 4, 5, 6), INT8))
    # 5 + 2 rows, 3 at a time; 6 + 2 columns, 2 at a time, in steps of 2.
    assert found == TensorType((2, 24, 5, 4), INT8, BLOCKS)
    with pytest.raises(GraphError, match=r"data int8\[N, 4, 5, 6\] has the symbol N"):
        result("pack_windows", given, TensorType((N, 4, 5, 6), INT8))


def test_rows() -> None:
    given = PutRows((1,), (1,), 0)
    data, symbolic = TensorType((4, 2), INT8), TensorType((N, 2), INT8)
    for types, message in (
        ((symbolic, data), r"data int8\[N, 2\] has the symbol N: bind symbols first"),
        ((data, symbolic), r"rows int8\[N, 2\] has the symbol N: bind symbols first"),
    ):
        with pytest.raises(GraphError, match=message):
            result("put_rows", given, *types)
