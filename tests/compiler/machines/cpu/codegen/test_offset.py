"""Offsets as linear forms, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32, INDEX, INT8
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame, LaneVar
from tandem.compiler.machines.cpu.codegen.offset import (
    Offset,
    known_number,
    known_truth,
    offset_of,
    offset_sum,
)

I64 = ir.IntType(64)
FIRST, SECOND, KNOWN, LANE = (Var(name, INDEX) for name in "ijul")
PLACES = Load(Buffer("places", (8,), INDEX), (FIRST,))


def frame(base: Any = None, lanes: int | None = None) -> Frame:
    """Loops over i and j, whose numbers are not known; u is 3, and l is in lanes from a base."""
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [I64, I64]), "f")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    made = Frame(builder, builder, None, None, {}, CpuTarget.host(threads=1), ["f"])
    made.bindings |= {"i": function.args[0], "j": function.args[1], "u": 3}
    made.ranges |= {"i": Interval(0, 4), "j": Interval(2, 7), "u": Interval(3, 3)}
    if lanes is not None:
        made.bindings["l"] = LaneVar(base if base is not None else function.args[0], lanes)
        made.ranges["l"] = Interval(0, 15)
        made.lanes = lanes
    return made


def test_known_numbers() -> None:
    made = frame()
    assert known_number(index(5), made) == 5
    assert known_number(KNOWN * 4 - 1, made) == 11
    assert known_number(KNOWN // 2, made) == 1
    for unknown in (FIRST, FIRST + KNOWN, KNOWN + FIRST, Var("none", INDEX), PLACES):
        assert known_number(unknown, made) is None
    assert known_truth(KNOWN < 4, made) is True
    assert known_truth(KNOWN < 3, made) is False
    assert known_truth(index(3) <= KNOWN, made) is True
    assert known_truth(FIRST < 4, made) is None
    assert known_truth(index(4) < FIRST, made) is None
    assert known_truth(KNOWN + 1, made) is None
    # Comparisons have no number.
    assert known_number(KNOWN < 4, made) is None


def test_unrolled_variables_are_constants() -> None:
    found = offset_sum(frame(), (FIRST * 4 + KNOWN * 2 + 1, 10), (SECOND, 1), (FIRST, -40))
    assert found == Offset(70, 0, {SECOND: 1})
    # Products with a known number are linear, whichever side it is.
    for product in (KNOWN * (FIRST + 2), (FIRST + 2) * KNOWN):
        assert offset_sum(frame(), (product, 5)) == Offset(30, 0, {FIRST: 15})
    assert offset_sum(frame(), (FIRST * SECOND, 2)).terms == {FIRST * SECOND: 2}
    assert offset_sum(frame(), (PLACES + KNOWN, 2)) == Offset(6, 0, {PLACES: 2})


def test_lanes() -> None:
    # The lanes' base is a term of its own, unless it is known.
    assert offset_sum(frame(lanes=4), (LANE * 2 + 1, 3)) == Offset(3, 6, {LANE: 6})
    assert offset_sum(frame(base=8, lanes=4), (LANE * 2 + 1, 3)) == Offset(51, 6, {})


def test_elements_of_a_buffer() -> None:
    data = Buffer("data", (5, 8), INT8)
    assert offset_of(BufferLocation(data, None), (FIRST, SECOND + 1), frame()) == Offset(
        1, 0, {FIRST: 8, SECOND: 1}
    )
    # Copies for each lane are interleaved.
    place = BufferLocation(data, None, lanes=4)
    assert offset_of(place, (FIRST, index(2)), frame(lanes=4)) == Offset(8, 1, {FIRST: 32})
    assert offset_of(place, (FIRST, index(2)), frame()) == Offset(8, 0, {FIRST: 32})
    assert offset_of(BufferLocation(data, None), (FIRST, LANE), frame(lanes=4)) == Offset(
        0, 1, {FIRST: 8, LANE: 1}
    )


@pytest.mark.parametrize(
    ("expr", "least"),
    # i is at most 4 and j 7; l, whose first lane is at most 12, at most 15.
    [
        (FIRST + SECOND, 12),
        (FIRST * 3 + KNOWN, 16),
        (SECOND - 2, 6),
        (LANE, 16),
        (LANE * 2 + FIRST, 35),
    ],
)
def test_offsets_within_a_size(expr: Expr, least: int) -> None:
    made = frame(lanes=4)
    found = offset_sum(made, (expr, 1))
    assert found.within(least, made)
    assert not found.within(least - 1, made)


def test_offsets_that_can_be_negative_or_are_not_known() -> None:
    made = frame(lanes=4)
    assert not offset_sum(made, (SECOND - 3, 1)).within(1000, made)
    assert not offset_sum(made, (PLACES, 1)).within(1 << 40, made)
    # Lanes that go down from 3, and from 2.
    assert Offset(3, -1).within(4, made)
    assert not Offset(3, -1).within(3, made)
    assert not Offset(2, -1).within(100, made)


def test_keys() -> None:
    floats, bytes_ = Buffer("a", (64,), FLOAT32), Buffer("a", (64,), INT8)
    one, other = Offset(3, 0, {FIRST: 4}), Offset(3, 0, {FIRST: 4})
    assert one.key(floats) == other.key(floats)
    for different in (
        Offset(4, 0, {FIRST: 4}),
        Offset(3, 0, {FIRST: 5}),
        Offset(3, 0, {SECOND: 4}),
    ):
        assert different.key(floats) != one.key(floats)
    assert one.key(Buffer("b", (64,), FLOAT32)) != one.key(floats)
    # A line of 64 bytes is 16 floats, or 64 bytes.
    lines = [Offset(at).line_key(floats, 64) for at in (0, 15, 16)]
    assert lines[0] == lines[1] != lines[2]
    assert Offset(16).line_key(bytes_, 64) == Offset(0).line_key(bytes_, 64)
    assert Offset(1).line_key(floats, 2) != Offset(0).line_key(floats, 2)


def test_values() -> None:
    made = frame()

    def evaluate(_: Expr) -> Any:
        return made.builder.function.args[1]

    assert Offset(5).value(made, evaluate) is None
    alone = Offset(0, 0, {FIRST: 1}).value(made, evaluate)
    assert alone is made.builder.function.args[0]
    both = Offset(0, 0, {FIRST: 3, SECOND: 1}).value(made, evaluate)
    assert both.opname == "add"
    product = both.operands[0]
    assert (product.opname, product.flags) == ("mul", ["nsw"])
    assert str(product.operands[1]) == "i64 3"
    # Kept for the same terms, unless they read memory; numbers from data may overflow.
    assert Offset(9, 0, {FIRST: 3, SECOND: 1}).value(made, evaluate) is both
    loaded = Offset(0, 0, {PLACES: 2}).value(made, evaluate)
    assert (loaded.opname, list(loaded.flags)) == ("mul", [])
    assert Offset(0, 0, {PLACES: 2}).value(made, evaluate) is not loaded
    lanes = frame(lanes=4)
    assert Offset(0, 1, {LANE: 1}).value(lanes, evaluate) is lanes.builder.function.args[0]
