"""What primitives share: their text, what they look up, and the nests that they build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.expr import Const, Load, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Block, PrimFunc, Seq, Store
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.primitives.base import Primitive, element_nest, with_guard
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import find_block, find_loop, loops_on_path, path_to
from tests.support.compiler.te.schedules import blur, matmul, relu_of_sum


@dataclass(frozen=True, slots=True)
class Shown(Primitive):
    """A primitive that changes nothing."""

    name: ClassVar[str] = "shown"
    stage: str = ""
    number: int | None = None
    names: tuple[str, ...] = ()
    scope: Scope | None = None
    intrinsic: PrimFunc | None = None
    flag: bool = field(default=False, kw_only=True)

    def apply(self, program: PrimFunc) -> PrimFunc:
        return program


def test_text() -> None:
    assert str(Shown()) == "shown()"
    assert str(Shown("C", 0)) == "shown(C, 0)"
    assert str(Shown("C", names=("a", "b"))) == "shown(C, (a, b))"
    mac = PrimFunc("mac", (), (), Seq(()))
    assert str(Shown("C", 2, ("a",), Scope.LOCAL, mac, flag=True)) == (
        "shown(C, 2, (a), local, mac, flag=True)"
    )


def test_numbers() -> None:
    assert Shown().require_positive(1, "the factor") == 1
    with pytest.raises(ScheduleError, match=r"^shown\(C\): the factor is 0: it must be 1 or more"):
        Shown("C").require_positive(0, "the factor")


TILED = Schedule.of(matmul()).split("C", "i", 2).vectorize("C", "j")
BODY = TILED.program.body


def test_look_ups() -> None:
    find = Shown("x")
    assert find.block_of(BODY, "C") is find_block(BODY, "C")
    assert find.loop(BODY, "C", "i_o") is find_loop(BODY, "C.i_o")
    for look, message in (
        (lambda: find.block_of(BODY, "D"), r"^shown\(x\): there is no stage D$"),
        (lambda: find.loop(BODY, "D", "i"), "there is no stage D"),
        (
            lambda: find.loop(BODY, "C", "i"),
            "C has no loop i; its loops are i_o, i_i, j, k$",
        ),
        (
            lambda: find.loop(
                Schedule.of(compute((), lambda: index(1), "S")).program.body, "S", "i"
            ),
            "S has no loop i; its loops are none",
        ),
    ):
        _refused(look, message)


def _refused(look: Callable[[], object], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        look()


def test_loops_that_are_bound() -> None:
    find = Shown()
    serial = find.loop(BODY, "C", "i_o")
    assert find.require_serial(serial) is serial
    _refused(
        lambda: find.require_serial(find.loop(BODY, "C", "j")), r"loop C\.j is vectorized already"
    )


def test_buffers() -> None:
    find = Shown()
    body = Schedule.of(blur()).program.body
    assert find.require_intermediate(body, "blurx").shape == (12, 12)
    for name in ("image", "blury"):
        message = f"{name} is an input or an output, not an intermediate buffer"
        _refused(lambda: find.require_intermediate(body, name), message)  # noqa: B023


def test_writers() -> None:
    find = Shown()
    whole = Schedule.of(matmul())
    parts = whole.partition("C", "i", 2).program.body
    one, two = blocks(parts)
    find.require_only_writer(whole.program.body, blocks(whole.program.body)[0], "C")
    find.require_only_writer(parts, one, "D")
    _refused(
        lambda: find.require_only_writer(parts, one, "C"), "C computes C only in part, C_tail as w"
    )
    _refused(lambda: find.require_only_writer(parts, two, "C"), "C_tail computes C only in part, C")


def test_new_names() -> None:
    find = Shown()
    assert find.new_loop(BODY, "C", "x", ()) == "C.x"
    assert find.new_loop(BODY, "C", "j", ("j",)) == "C.j"
    _refused(lambda: find.new_loop(BODY, "C", "j", ("i_o",)), "C has a loop j already")
    _refused(lambda: find.new_loop(BODY, "C", "a.b", ()), "'a.b' is no name for an axis: letters")
    program = TILED.program
    assert find.new_stage(program, "D") == "D"
    for name in ("A", "C"):
        _refused(lambda: find.new_stage(program, name), f"there is a {name} already")  # noqa: B023
    _refused(lambda: find.new_stage(program, "1"), "'1' is no name for a stage: letters, digits")
    # A stage that is named apart from its buffer.
    tail = Schedule.of(matmul()).partition("C", "i", 2).program
    _refused(lambda: find.new_stage(tail, "C_tail"), "there is a C_tail already")


def test_nests() -> None:
    find = Shown()
    (block,) = blocks(BODY)
    assert find.own_nest(BODY, block) is find_loop(BODY, "C.i_o")
    scalar = Schedule.of(compute((), lambda: index(1), "S")).program.body
    (only,) = blocks(scalar)
    assert find.own_nest(scalar, only) is only
    inside = Schedule.of(blur()).compute_at("blurx", "blury", "y").program.body
    first, second = blocks(inside)
    assert (first.name, second.name) == ("blurx", "blury")
    assert find.own_nest(inside, first) is find_loop(inside, "blurx.y")
    _refused(lambda: find.own_nest(inside, second), "blurx is computed inside the loops of blury")


def test_guards() -> None:
    store = Store(Buffer("R", (), FLOAT32), (), Const(0.0, FLOAT32))
    one, two, three = (Var("i") < n for n in (1, 2, 3))
    block = Block("R", (), (one,), store, store)
    found = with_guard(block, two, one, three)
    assert found == Block("R", (), (one, two, three), store, store)


def test_a_nest_of_elements() -> None:
    """Of a sum of rows, of 5 by 3, in tiles of 2 rows and of 2 terms, the last of which are cut."""
    a = placeholder((5, 3), FLOAT32, "A")
    k = reduce_axis(3, "k")
    rows = compute((5,), lambda i: sum(a[i, k], k), "S")
    program = Schedule.of(rows).split("S", "i", 2).split("S", "k", 2).program
    (block,) = blocks(program.body)
    loops = loops_on_path(path_to(program.body, block))
    assert [loop.var.name for loop in loops] == ["S.i_o", "S.i_i", "S.k_o", "S.k_i"]
    out = program.outputs[0]
    ones = Store(out, (Var("i"),), Load(out, (Var("i"),)) + 1.0)
    nest = element_nest("T", block, loops, (), ones)
    made = PrimFunc("f", (), (out,), nest)
    assert text(made) == (
        "func f() -> (S: float32[5]):\n"
        "  for T.i_o in 3:\n"
        "    for T.i_i in 2:\n"
        "      block T(spatial i < 5 = T.i_o * 2 + T.i_i):\n"
        "        where T.i_o * 2 + T.i_i < 5\n"
        "        S[i] = S[i] + 1.0\n"
    )
    # Inside the outer loops of the block itself, which stay.
    nest = element_nest("T", block, loops[1:], loops[:1], ones)
    assert "for T.i_i in 2:" in text(PrimFunc("f", (), (out,), nest))
    assert "T.i_o" not in text(PrimFunc("f", (), (out,), nest))


def test_guards_that_always_hold_are_left_out() -> None:
    total = Schedule.of(relu_of_sum()).split("total", "i", 5).program
    block = find_block(total.body, "total")
    assert block is not None
    loops = loops_on_path(path_to(total.body, block))
    nest = element_nest("T", block, loops, (), block.body)
    (made,) = blocks(nest)
    assert made.guard == ()
    assert made.init is None
    assert made.name == "T"
