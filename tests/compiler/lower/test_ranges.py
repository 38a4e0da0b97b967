"""Ranges of loop variables, by hand."""

from __future__ import annotations

from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import index, minimum
from tandem.compiler.ir.stmt import For, LoopKind, Seq, Stmt
from tandem.compiler.lower.ranges import all_ranges, loop_range


def loop(name: str, extent: Expr, *body: Stmt) -> For:
    return For(Var(name, INDEX), extent, LoopKind.SERIAL, Seq(body))


def test_a_constant_extent() -> None:
    assert loop_range(loop("i", index(5)), {}) == Interval(0, 4)
    assert loop_range(loop("i", index(1)), {}) == Interval(0, 0)


def test_an_extent_that_depends_on_another_loop() -> None:
    outer = Var("o", INDEX)
    rest = loop("i", minimum(index(4), index(10) - outer * 4))
    assert loop_range(rest, {"o": Interval(0, 2)}) == Interval(0, 3)
    tail = loop("i", index(10) - outer * 4)
    assert loop_range(tail, {"o": Interval(2, 2)}) == Interval(0, 1)
    # Of a variable whose range is not known nothing is.
    assert loop_range(tail, {}) == Interval(0, None)


def test_inner_loops_know_those_around_them() -> None:
    outer = Var("o", INDEX)
    inner, other = loop("i", outer + 1), loop("j", index(2))
    assert all_ranges(loop("o", index(3), inner, other)) == {
        "o": Interval(0, 2),
        "i": Interval(0, 2),
        "j": Interval(0, 1),
    }
    assert all_ranges(Seq(())) == {}
