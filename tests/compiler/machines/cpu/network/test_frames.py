"""Where frames lie: apart from each other, two for a loop, on the heap for calls that nest."""

from __future__ import annotations

import pytest

from tandem.compiler.machines.cpu.network.frames import Region, place_frames
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
    assert found.first == {"main": 0, "loop": 128, "leaf": 256}
    assert found.second == {"main": 0, "loop": 192, "leaf": 256}
    assert found.size == 256
    assert {each % ALIGNMENT for each in found.first.values()} == {0}


def test_functions_that_end_with_calls_of_each_other_need_one_frame_each() -> None:
    even, odd = function("even", 8, TailCall("odd", ())), function("odd", 8, TailCall("even", ()))
    found = place_frames([function("main", 8, call("even")), even, odd])
    assert found.first == found.second == {"main": 0, "even": 64, "odd": 128}


def test_calls_of_a_function_that_waits_for_itself_have_regions() -> None:
    main = function("main", 8, call("sum"))
    found = place_frames(
        [main, function("sum", 100, call("sum"), call("leaf")), function("leaf", 8)]
    )
    assert found.first == found.second == {"main": 0, "leaf": 64}
    assert found.regions == {"sum": Region(0, 128)}
    plain = place_frames([function("main", 8, call("b")), function("b", 8)])
    assert plain.regions == {}


@pytest.mark.parametrize("first", ["a", "b"])
def test_functions_that_end_with_each_other_share_a_region(first: str) -> None:
    a, b = function("a", 8, call("b")), function("b", 100, TailCall("a", ()))
    found = place_frames([function("main", 8, call(first)), a, b])
    assert found.first == {"main": 0}
    assert found.regions == {"a": Region(0, 64), "b": Region(128, 256)}


def test_what_ends_with_a_function_that_waits_for_itself_has_a_region() -> None:
    begin, sum_ = function("begin", 8, TailCall("sum", ())), function("sum", 200, call("sum"))
    found = place_frames([function("main", 8, call("begin")), begin, sum_])
    assert found.regions == {"begin": Region(256, 512), "sum": Region(0, 256)}


def test_references_lie_behind_all_others() -> None:
    tensors = ("x", "all", "n", "tail")
    main = FunctionCode("main", (), (), tensors, (Return(),), 60)
    loop = FunctionCode("loop", (), (), ("other",), (Return(),), 64)
    found = place_frames([main, loop], ["tail", "other", "all"])
    assert found.references == {"main": (64, 2), "loop": (64, 1)}
    assert found.places == {"all": 64, "tail": 72, "other": 64}
    assert found.first == {"main": 0, "loop": 128}
    assert found.size == 256
