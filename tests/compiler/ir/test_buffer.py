"""Buffers: sizes, strides, and what is refused."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8


@pytest.mark.parametrize(
    ("shape", "size", "strides"),
    [
        ((), 1, ()),
        ((5,), 5, (1,)),
        ((2, 3, 4), 24, (12, 4, 1)),
        ((2, 0, 4), 0, (0, 4, 1)),
        ((1, 1), 1, (1, 1)),
    ],
)
def test_sizes(shape: tuple[int, ...], size: int, strides: tuple[int, ...]) -> None:
    buffer = Buffer("A", shape, INT8)
    assert buffer.size == size
    assert buffer.strides == strides
    assert (buffer.scope, buffer.slots) == (Scope.GLOBAL, 1)


def test_refusals() -> None:
    assert Buffer("A", (1,), INT8, Scope.LOCAL, 2).slots == 2
    with pytest.raises(IRError, match=r"^A has 0 slots: 1 or more is allowed$"):
        Buffer("A", (1,), INT8, slots=0)
    with pytest.raises(IRError, match=r"^A has a negative extent: \(2, -1\)$"):
        Buffer("A", (2, -1), INT8)


def test_scopes_are_names() -> None:
    assert Scope("global") == Scope.GLOBAL
    assert Scope("local") == Scope.LOCAL
    assert Scope.GLOBAL != Scope.LOCAL
