"""Expressions as functions: memory, names in scope, and values, by hand."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT32, INT8, INT32, UINT8, UINT16
from tandem.compiler.ir.evaluate import Cell, Frame, Memory, element
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.ops import cast, const, load, maximum, reinterpret, select

A = Buffer("A", (2, 3), INT8)
ROW, COLUMN = Var("i"), Var("j")


def frame(**values: int) -> Frame:
    cells: dict[str, Cell] = {name: [value] for name, value in values.items()}
    return Frame({}, cells, tuple(cells.items()))


def value(expr: Expr, **values: int) -> object:
    return frame(**values).value(expr)()


def test_operations() -> None:
    assert value(ROW - COLUMN, i=10, j=3) == 7
    assert value(-ROW, i=10) == -10
    assert value(ROW < COLUMN, i=3, j=3) is False
    assert value(ROW <= COLUMN, i=3, j=3) is True
    assert value(maximum(ROW, COLUMN), i=3, j=8) == 8
    assert value(cast(ROW, INT8), i=200) == -56
    assert value(reinterpret(const(-1, INT8), UINT8)) == 255
    assert value(Const(7)) == 7


def test_floats_are_of_their_type() -> None:
    found = value(const(0.1, FLOAT32) + const(0.2, FLOAT32))
    assert isinstance(found, np.float32)
    assert found == np.float32(0.1) + np.float32(0.2)


def test_only_one_of_a_choice_is_computed() -> None:
    inside = frame(i=0)
    inside.declare(A).fill(np.zeros((2, 3), np.int8))
    chosen = inside.value(select(ROW < 2, load(A, ROW, 0), -1))
    assert chosen() == 0
    inside.variables["i"][0] = 2
    assert chosen() == -1


def test_elements_by_strides_and_offsets() -> None:
    array = np.arange(6, dtype=np.int8).reshape(2, 3)
    inside = frame(i=1, j=2)
    memory = inside.declare(A)
    assert (memory.buffer, memory.strides, memory.cells) == (A, (3, 1), [])
    assert inside.declare(A) is memory
    memory.fill(array)
    assert memory.cells == [0, 1, 2, 3, 4, 5]
    assert inside.value(load(A, ROW, COLUMN))() == 5
    assert inside.position(memory, (ROW, COLUMN))() == 5
    part = Memory(A, (10, 2), 7)
    assert inside.position(part, (ROW, COLUMN))() == 7 + 10 + 4


@pytest.mark.parametrize(("i", "j"), [(-1, 0), (2, 0), (0, -1), (0, 3)])
def test_elements_outside(i: int, j: int) -> None:
    inside = frame(i=i, j=j)
    inside.declare(A).fill(np.zeros((2, 3), np.int8))
    message = rf"^A\[{i}, {j}\] \(shape \(2, 3\)\) lies outside the buffer, at i = {i}, j = {j}$"
    with pytest.raises(IRError, match=message):
        inside.value(load(A, ROW, COLUMN))()


def test_elements_that_nothing_wrote() -> None:
    inside = frame(i=1, j=0)
    memory = inside.declare(A)
    memory.clear()
    assert memory.cells == [None] * 6
    memory.cells[3] = 0
    read = inside.value(load(A, ROW, COLUMN))
    assert read() == 0
    inside.variables["j"][0] = 1
    with pytest.raises(IRError, match=r"^A\[1, 1\] .* is read before it is written, at i = 1, j"):
        read()


def test_cells_of_types() -> None:
    real = Memory(Buffer("R", (2,), FLOAT32), (1,))
    real.fill(np.array([0.1, 2], np.float32))
    assert [type(each) for each in real.cells] == [np.float32] * 2
    assert real.cells == [np.float32(0.1), 2]
    # Formats that are only stored are integers of their bits.
    stored = Memory(Buffer("S", (2,), BFLOAT16), (1,))
    stored.fill(np.array([1, -2], ml_dtypes.bfloat16))
    assert stored.cells == [0x3F80, 0xC000]
    assert Buffer("S", (2,), BFLOAT16).dtype.holder == UINT16
    whole = Memory(Buffer("W", (2,), INT32), (1,))
    whole.fill(np.array([[3], [4]], np.int32))
    assert [type(each) for each in whole.cells] == [int, int]


def test_names_in_scope() -> None:
    outer = frame(i=4)
    cell: Cell = [5]
    loop = outer.inside_loop("j", cell)
    assert loop.memories is outer.memories
    assert loop.value(ROW + COLUMN)() == 9
    cell[0] = 6
    assert loop.value(ROW + COLUMN)() == 10
    # A block sees its axes only, and messages have all names around.
    block = loop.inside_block({"k": [7]})
    assert [*block.variables] == ["k"]
    assert str(block.error("wrong")) == "wrong, at i = 4, j = 6, k = 7"
    assert str(frame().error("wrong")) == "wrong"


def test_names_of_elements() -> None:
    assert element(A, [1, 2]) == "A[1, 2] (shape (2, 3))"
    assert element(Buffer("S", (), INT8), []) == "S[] (shape ())"
