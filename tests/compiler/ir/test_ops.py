"""Functions that build expressions: what they make, and what they refuse."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, FLOAT16, FLOAT32, INDEX, INT8, INT32, UINT8, UINT16
from tandem.compiler.ir.expr import Binary, Cast, Const, Load, Reinterpret, Select, Var
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import (
    all_of,
    any_of,
    cast,
    const,
    equal,
    fold_operands,
    index,
    load,
    maximum,
    minimum,
    not_equal,
    power,
    reinterpret,
    select,
)

ROW, COLUMN = Var("i"), Var("j")
A = Buffer("A", (3, 4), INT8)
HALF = Buffer("H", (2,), FLOAT16)
FIRST, SECOND, THIRD = ROW < COLUMN, equal(ROW, 3), COLUMN < 5


def test_constants() -> None:
    assert const(3, INT8) == Const(3, INT8)
    assert const(3, FLOAT32) == Const(3.0, FLOAT32)
    assert index(-7) == Const(-7, INDEX)
    with pytest.raises(IRError, match=r"^128 is no int8: -128\.\.127$"):
        const(128, INT8)


def test_casts() -> None:
    assert cast(ROW, INDEX) is ROW
    assert cast(ROW, INT8) == Cast(ROW, INT8)
    assert cast(const(1, INT8), BOOL) == Cast(Const(1, INT8), BOOL)
    with pytest.raises(IRError, match=r"^no cast is defined from float16 to float32$"):
        cast(load(HALF, 0), FLOAT32)
    with pytest.raises(IRError, match=r"^no cast is defined from int64 to float16$"):
        cast(ROW, FLOAT16)


def test_bits_as_another_type() -> None:
    value = load(A, 0, 1)
    assert reinterpret(value, INT8) is value
    assert reinterpret(value, UINT8) == Reinterpret(value, UINT8)
    half = load(HALF, 1)
    assert reinterpret(half, UINT16) == Reinterpret(half, UINT16)
    with pytest.raises(IRError, match=r"^the bits of int8 are none of uint16$"):
        reinterpret(value, UINT16)
    with pytest.raises(IRError, match=r"^the bits of bool are none of int8$"):
        reinterpret(FIRST, INT8)


def test_operations_without_operators() -> None:
    one = Const(1, INDEX)
    assert minimum(ROW, 1) == Binary(BinaryOp.MIN, ROW, one)
    assert maximum(1, ROW) == Binary(BinaryOp.MAX, one, ROW)
    assert equal(ROW, COLUMN) == Binary(BinaryOp.EQ, ROW, COLUMN)
    assert not_equal(ROW, COLUMN) == Binary(BinaryOp.NE, ROW, COLUMN)
    assert equal(ROW, COLUMN).dtype == not_equal(ROW, COLUMN).dtype == BOOL
    real = const(2.0, FLOAT32)
    assert power(real, 3) == Binary(BinaryOp.POW, real, Const(3.0, FLOAT32))
    with pytest.raises(IRError, match=r"^pow is not defined for int64$"):
        power(ROW, 2)
    with pytest.raises(IRError, match=r"^== of two plain numbers, which have no type$"):
        equal(1, 2)


def test_conjunctions_and_disjunctions() -> None:
    assert all_of() == Const(True, BOOL)
    assert any_of() == Const(False, BOOL)
    assert all_of(FIRST) is FIRST
    assert any_of(FIRST) is FIRST
    inner = Binary(BinaryOp.AND, FIRST, SECOND)
    assert all_of(FIRST, SECOND, THIRD) == Binary(BinaryOp.AND, inner, THIRD)
    either = Binary(BinaryOp.OR, FIRST, SECOND)
    assert any_of(FIRST, SECOND, THIRD) == Binary(BinaryOp.OR, either, THIRD)
    assert fold_operands(BinaryOp.SUB, [ROW, COLUMN, ROW]) == (ROW - COLUMN) - ROW


def test_choices() -> None:
    assert select(FIRST, ROW, 7) == Select(FIRST, ROW, Const(7, INDEX))
    assert select(FIRST, 7, ROW) == Select(FIRST, Const(7, INDEX), ROW)
    assert select(Const(True, BOOL), ROW, COLUMN) == Select(Const(True, BOOL), ROW, COLUMN)
    with pytest.raises(IRError, match=r"^bool is expected here, not int64: cast\(\) converts$"):
        select(ROW, ROW, COLUMN)
    with pytest.raises(IRError, match=r"^int64 is expected here, not int8: cast\(\) converts$"):
        select(FIRST, ROW, load(A, 0, 0))
    with pytest.raises(IRError, match=r"^select of two plain numbers, which have no type$"):
        select(FIRST, 1, 2)


def test_elements() -> None:
    assert load(A, ROW, 2) == Load(A, (ROW, Const(2, INDEX)))
    for indices in ((ROW,), (ROW, COLUMN, ROW)):
        message = rf"^A has 2 dimensions \(3, 4\), not {len(indices)}$"
        with pytest.raises(IRError, match=message):
            load(A, *indices)
    with pytest.raises(IRError, match=r"^int64 is expected here, not int32"):
        load(A, ROW, const(1, INT32))
    assert load(Buffer("S", (), INT8)) == Load(Buffer("S", (), INT8), ())
