"""Which tensors stay on devices that have memory of their own."""

from __future__ import annotations

from tandem.compiler.driver.memory import kept_tensors, moved_tensors
from tandem.runtime.artifact import (
    Branch,
    CallFunction,
    Jump,
    Kept,
    Move,
    Return,
    RunStep,
    Step,
    TailCall,
)


def step(device: str, inputs: str, outputs: str) -> Step:
    return Step(outputs, device, "code", (*inputs,), (*outputs,), (), 0)


STEPS = (
    step("vector", "xw", "a"),
    step("vector", "a", "bc"),
    step("other", "b", "d"),
    step("vector", "cd", "e"),
    step("cpu", "e", "f"),
    step("cpu", "f", "g"),
)


def test_what_one_device_writes_and_reads_stays_there() -> None:
    """Not what it only reads, nor what another reads, nor on a device without memory."""
    found = {"a": Kept("vector"), "c": Kept("vector")}
    assert kept_tensors(STEPS, {"vector"}, {"g"}) == found
    assert kept_tensors(STEPS, {"vector", "cpu"}, {"g"}) == {**found, "f": Kept("cpu")}
    assert kept_tensors(STEPS, {"vector"}, {"a", "g"}) == {"c": Kept("vector")}
    assert kept_tensors(STEPS, (), ()) == {}


def test_what_no_step_moves() -> None:
    code = (
        RunStep(0),
        Move("a", "b"),
        Branch("c", 4),
        CallFunction("f", ("d",), ("e",)),
        Jump(5),
        TailCall("f", ("g",)),
        Return(),
    )
    assert moved_tensors(code, STEPS) == {*"abcdeg"}
