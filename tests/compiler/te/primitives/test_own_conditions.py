"""Which conditions of a stage stay when it gets new loops."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import Block, BlockIter, IterKind, Store
from tandem.compiler.te.primitives.own_conditions import LostConditionError, own_conditions

AXIS, K, R, OUT, IN = (Var(name) for name in ("s.i", "s.k", "s.r", "s.i_o", "s.i_i"))


def block(i: Expr, *guard: Expr) -> Block:
    """A stage of 35 elements along an axis, with nine terms in four parts."""
    axes = [
        BlockIter(Var("i"), 35, IterKind.SPATIAL, i),
        BlockIter(Var("k"), 9, IterKind.REDUCE, K),
        BlockIter(Var("r"), 4, IterKind.SPATIAL, R),
    ]
    store = Store(Buffer("s", (35, 4), INT32), (Var("i"), Var("r")), Const(0, INT32))
    return Block("s", tuple(axes), guard, None, store)


def kept(of: Block) -> tuple[Expr, ...]:
    return own_conditions(of, {"s.i", "s.k", "s.r", "s.i_o", "s.i_i"})


def test_conditions_of_axes_stay() -> None:
    test = K * 4 + R < 35
    assert kept(block(AXIS, AXIS < 35, test)) == (test,)


def test_bounds_and_loops_around_follow_from_others() -> None:
    around = Var("t.j") < 3
    assert kept(block(OUT * 6 + IN, OUT * 6 + IN < 35, around)) == ()


def test_conditions_of_a_split_loop_do_not_stay() -> None:
    parts = OUT * 12 + IN * 5
    assert kept(block(parts, IN * 5 < 12)) == ()


@pytest.mark.parametrize(
    "test", [OUT * 6 + IN < 34, OUT * 12 + IN * 2 < 67, OUT * 6 + IN + K < 35, index(0) < OUT * R]
)
def test_what_cannot_be_said_of_whole_axes_is_refused(test: Expr) -> None:
    with pytest.raises(LostConditionError, match=r"s\.i_o"):
        kept(block(OUT * 6 + IN, test))
