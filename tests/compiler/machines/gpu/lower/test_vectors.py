"""Conditions of vectors: which are the same for all elements."""

from __future__ import annotations

from itertools import product as combinations

import pytest

from tandem.compiler.ir.expr import Binary, Expr, Unary, Var
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.gpu.check.arrays import value
from tandem.compiler.machines.gpu.lower.vectors import SplitConditions, in_common
from tests.support.compiler.te.schedules import random_inputs

ROW, V = Var("i"), Var("v")
SIZE = 4


def less(left: Expr, right: Expr) -> Expr:
    """Whether one index is less than another."""
    return Binary(BinaryOp.LT, left, right)


def test_some() -> None:
    one = less(ROW * 4 + V, index(12))
    assert in_common(one, "v", SIZE) == less(ROW * 4 + 0, index(12))
    assert in_common(less(ROW, index(3)), "v", SIZE) == less(ROW, index(3))
    both = Binary(BinaryOp.AND, one, less(ROW, index(3)))
    assert in_common(both, "v", SIZE) is not None
    assert in_common(Unary(UnaryOp.NOT, both), "v", SIZE) is not None
    assert in_common(Binary(BinaryOp.AND, one, less(V, index(3))), "v", SIZE) is None
    assert in_common(less(ROW * 4 + V, index(13)), "v", SIZE) is None
    assert in_common(less(ROW * 3 + V, index(12)), "v", SIZE) is None
    assert in_common(less(ROW * 4 + V // 2, index(12)), "v", SIZE) is None
    assert in_common(less(ROW * 4 + V * 2, index(12)), "v", SIZE) is None
    assert in_common(Binary(BinaryOp.EQ, V, index(4)), "v", SIZE) is None


@pytest.mark.parametrize("op", [BinaryOp.LT, BinaryOp.LE])
def test_all_are_so(op: BinaryOp) -> None:
    """By what all values give: exactly those are found whose vectors have one."""
    found = 0
    for constant, bound, turned in combinations(range(4), range(8, 14), (False, True)):
        sides = ROW * 4 + V + constant, index(bound)
        test = Binary(op, *(reversed(sides) if turned else sides))
        given = [
            {bool(value(test, {"i": i, "v": v})) for v in range(SIZE)} for i in range(-1, bound)
        ]
        common = in_common(test, "v", SIZE)
        assert (common is not None) == all(len(each) == 1 for each in given)
        if common is not None:
            found += 1
            firsts = [bool(value(common, {"i": i})) for i in range(-1, bound)]
            assert firsts == [each.pop() for each in given]
    assert found


PROGRAM = """\
func f(A: int32[4, 12]) -> (C: int32[4, 16]):
  for i in 4:
    for j in 4:
      for v in 4 vectorized:
        C[i, j * 4 + v] = select(j * 4 + v < 12, select(i < 3, A[i, j * 4 + v], 1), 2)
"""


def test_loops() -> None:
    before = parse(PROGRAM)
    after = SplitConditions().apply(before)
    assert (
        text(after)
        == """\
func f(A: int32[4, 12]) -> (C: int32[4, 16]):
  for i in 4:
    for j in 4:
      if j * 4 + 0 < 12:
        if i < 3:
          for v in 4 vectorized:
            C[i, j * 4 + v] = A[i, j * 4 + v]
        if ~(i < 3):
          for v__ in 4 vectorized:
            C[i, j * 4 + v__] = 1
      if ~(j * 4 + 0 < 12):
        for v_ in 4 vectorized:
          C[i, j * 4 + v_] = 2
"""
    )
    arrays = random_inputs(before)
    assert (run(after, arrays)[0] == run(before, arrays)[0]).all()
    serial = parse(PROGRAM.replace(" vectorized", ""))
    assert SplitConditions().apply(serial) == serial
    odd = parse(PROGRAM.replace("v < 12", "v < 11"))
    assert SplitConditions().apply(odd) == odd
