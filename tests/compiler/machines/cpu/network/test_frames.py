"""Where frames lie: apart from each other, two for a loop, none for calls without a bound."""

from __future__ import annotations

from tandem.compiler.machines.cpu.network.frames import place_frames
from tandem.runtime.artifact import CallFunction, FunctionCode, Instruction, Return, TailCall
from tandem.runtime.native import ALIGNMENT


def function(name: str, size: int, *instructions: Instruction) -> FunctionCode:
    return FunctionCode(name, (), (), (), (*instructions, Return()), size)


def call(name: str) -> CallFunction:
    return CallFunction(name, (), ())


def test_frames_are_apart_and_aligned() -> None:
    main = function("main", 100, call("loop"), call("leaf"))
    loop, leaf = function("loop", 1, TailCall("loop", ())), function("leaf", 0)
    found = place_frames([main, loop, leaf])
    assert found is not None
    assert found.first == {"main": 0, "loop": 128, "leaf": 256}
    assert found.second == {"main": 0, "loop": 192, "leaf": 256}
    assert found.size == 256
    assert {each % ALIGNMENT for each in found.first.values()} == {0}


def test_functions_that_end_with_calls_of_each_other_need_one_frame_each() -> None:
    even, odd = function("even", 8, TailCall("odd", ())), function("odd", 8, TailCall("even", ()))
    found = place_frames([function("main", 8, call("even")), even, odd])
    assert found is not None
    assert found.first == found.second == {"main": 0, "even": 64, "odd": 128}


def test_a_function_that_waits_for_itself_has_no_bound() -> None:
    directly = function("sum", 8, call("sum"))
    assert place_frames([function("main", 8, call("sum")), directly]) is None
    one, other = function("a", 8, call("b")), function("b", 8, TailCall("a", ()))
    assert place_frames([function("main", 8, call("a")), one, other]) is None
    assert place_frames([function("main", 8, call("b")), function("b", 8)]) is not None
