"""Scopes of the state of emitting a function: what is bound, kept, active and masked in each."""

from __future__ import annotations

from typing import Any

import pytest
from llvmlite import ir

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INDEX, INT8
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame, LaneVar

I64 = ir.IntType(64)


def frame(tags: dict[str, tuple[Any, Any]] | None = None) -> Frame:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [I64, ir.IntType(1)]), "f")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    target = CpuTarget.host(threads=1)
    return Frame(builder, builder, None, None, tags or {}, target, ["f"])


def test_a_new_frame_knows_nothing() -> None:
    made = frame()
    assert (made.lanes, made.mask, made.active) == (None, None, None)
    assert made.converts_halves is False
    assert made.streamed == frozenset()
    assert (made.bindings, made.ranges, made.places, made.stack) == ({}, {}, {}, {})
    assert made.known == [{}]
    assert not BufferLocation(Buffer("data", (4,), INT8), None).stack


def test_names_that_are_not_there() -> None:
    made, data = frame(), Buffer("data", (4,), INT8)
    made.where.append("i")
    with pytest.raises(CodegenError) as caught:
        made.place(data)
    assert str(caught.value) == "f / i: data is neither a parameter nor allocated here"
    with pytest.raises(CodegenError) as caught:
        made.binding(Var("j", INDEX))
    assert str(caught.value) == "f / i: j is no variable of a loop around the statement"
    place = BufferLocation(data, None, lanes=3)
    made.places["data"] = place
    assert made.place(data) is place
    assert (place.size, BufferLocation(data, None).size) == (12, 4)


def test_a_loop_binds_its_variable_in_its_body() -> None:
    made = frame()
    with made.bound("i", 7, Interval(0, 9)):
        assert made.binding(Var("i", INDEX)) == 7
        assert made.ranges == {"i": Interval(0, 9)}
        assert made.where == ["f", "i"]
    assert (made.bindings, made.ranges, made.where) == ({}, {}, ["f"])


def test_what_is_kept_is_dropped_with_its_scope() -> None:
    made = frame()
    assert made.keep("a", 1) == 1
    with made.region():
        made.keep("a", 2)
        made.keep("b", 3)
        # The innermost, and what is kept around it.
        assert (made.recall("a"), made.recall("b")) == (2, 3)
        with made.bound("i", 0, Interval(0, 0)):
            assert made.recall("b") == 3
            made.keep("c", 4)
        assert made.recall("c") is None
    assert (made.recall("a"), made.recall("b")) == (1, None)


def test_what_is_the_first_in_a_body() -> None:
    """Iterations of unrolled loops are parts of the body around them."""
    made = frame()
    register = ir.Constant(I64, 1)
    assert made.first_in_body("key") is True
    assert made.first_in_body("key") is False
    with made.bound("i", register, Interval(0, 3)):
        assert made.first_in_body("key") is True
        for number in range(2):
            with made.bound("unrolled", number, Interval(number, number)):
                assert made.first_in_body("key") is False
                assert made.first_in_body("other") is (number == 0)
        with made.bound("lanes", LaneVar(register, 4), Interval(0, 3)):
            assert made.first_in_body("key") is True
        with made.bound("lanes", LaneVar(0, 4), Interval(0, 3)):
            assert made.first_in_body("key") is False
        with made.region():
            assert made.first_in_body("key") is False
    assert made.first_in_body("key") is False
    assert made.first_in_body("third") is True


def test_lanes_are_active_where_all_conditions_hold() -> None:
    made = frame()
    condition = made.builder.function.args[1]
    with made.vectorized(3):
        assert (made.lanes, made.mask, made.active) == (3, None, (True,) * 3)
        with made.masked(condition, (1, 0, 1)):
            outer = made.mask
            assert str(outer.type) == "<3 x i1>"
            assert made.active == (True, False, True)
            with made.masked(condition, (1, 1, 0)):
                assert made.active == (True, False, False)
                assert made.mask.opname == "and"
                assert made.mask.operands[0] is outer
                made.keep("inside", 1)
            assert made.recall("inside") is None
            assert made.mask is outer
            with made.masked(condition, None):
                assert made.active is None
                with made.masked(condition, (1, 1, 1)):
                    assert made.active is None
            assert made.active == (True, False, True)
        assert (made.mask, made.active) == (None, (True,) * 3)
    assert (made.lanes, made.mask, made.active) == (None, None, None)


@pytest.mark.parametrize("others", [False, True])
def test_accesses_tell_what_they_do_not_alias(others: bool) -> None:
    module = ir.Module()
    own, rest = module.add_metadata(["own"]), module.add_metadata(["rest"])
    made = frame({"data": (own, rest if others else None)})
    access = made.builder.add(made.builder.function.args[0], ir.Constant(I64, 1))
    assert made.tag(access, Buffer("data", (4,), INT8)) is access
    expected = {"alias.scope": own} | ({"noalias": rest} if others else {})
    assert access.metadata == expected


def test_numbers() -> None:
    made = frame()
    assert str(made.number(5)) == "i64 5"
    value = made.builder.function.args[0]
    assert made.number(value) is value
