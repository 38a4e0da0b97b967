"""Tensors in a stream's memory: which need no copy, and which have to be copied."""

from __future__ import annotations

from tandem.runtime.artifact import (
    Arena,
    Input,
    Manifest,
    Output,
    Place,
    PlacedTensor,
    Provenance,
    Step,
    Tensor,
)
from tandem.workbench.export.placement import StreamPlace, tensors_in_streams
from tandem.workbench.export.stream_file import StreamFile

TENSORS = ("x", "a", "b", "c", "d", "y")


def manifest(*steps: tuple[str, str, str]) -> Manifest:
    """A network of steps: code, inputs and outputs, each a letter for a tensor."""
    places: dict[str, Place] = {"x": Input(), "y": Output()}
    return Manifest(
        "net",
        Provenance("net"),
        tuple(
            Tensor(name, (64,), "int8", places.get(name, Arena(64 * at)))
            for at, name in enumerate(TENSORS)
        ),
        (),
        (),
        tuple(Step(code, "cpu", code, (*given,), (*made,), (), 0) for code, given, made in steps),
        0,
    )


def stream(name: str, given: dict[str, int], made: dict[str, int]) -> StreamFile:
    inputs, outputs = (
        tuple(PlacedTensor(tensor, at, (64,), "int8") for tensor, at in placed.items())
        for placed in (given, made)
    )
    return StreamFile(name, b"", 0, 0, inputs, outputs)


S = stream("s", {"a": 0}, {"b": 64})
STRAIGHT = (("k", "x", "a"), ("s", "a", "b"), ("l", "b", "y"))


def test_both_sides() -> None:
    found = tensors_in_streams(manifest(*STRAIGHT), {"s": S})
    assert found == {"a": StreamPlace("s", 0), "b": StreamPlace("s", 64)}


def test_an_input_that_is_read_later_is_copied() -> None:
    """The stream may have overwritten it; what it gives stays."""
    found = tensors_in_streams(manifest(*STRAIGHT, ("m", "a", "c")), {"s": S})
    assert found == {"b": StreamPlace("s", 64)}


def test_a_tensor_between_two_streams_lies_in_the_first() -> None:
    t = stream("t", {"b": 128}, {"c": 192})
    steps = (("k", "x", "a"), ("s", "a", "b"), ("t", "b", "c"), ("l", "c", "y"))
    found = tensors_in_streams(manifest(*steps), {"s": S, "t": t})
    assert found == {
        "a": StreamPlace("s", 0),
        "b": StreamPlace("s", 64),
        "c": StreamPlace("t", 192),
    }


def test_an_input_of_two_streams_lies_in_the_last() -> None:
    t = stream("t", {"a": 128}, {"c": 192})
    steps = (("k", "x", "a"), ("s", "a", "b"), ("t", "a", "c"), ("l", "bc", "y"))
    assert tensors_in_streams(manifest(*steps), {"s": S, "t": t})["a"] == StreamPlace("t", 128)


def test_what_is_the_callers_or_not_aligned_is_copied() -> None:
    steps = (("s", "x", "b"), ("l", "b", "y"))
    other = stream("s", {"x": 0}, {"b": 72})
    assert tensors_in_streams(manifest(*steps), {"s": other}) == {}


def test_streams_that_run_twice_have_copies() -> None:
    steps = (*STRAIGHT, ("s", "c", "d"))
    assert tensors_in_streams(manifest(*steps), {"s": S}) == {}
