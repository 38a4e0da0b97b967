"""`--explain`: reasons, formats of weights, and round trips, as tables."""

from __future__ import annotations

import pytest

from tandem.runtime.artifact import (
    Arena,
    ConstantPlace,
    Input,
    Manifest,
    Output,
    Provenance,
    Step,
    Tensor,
)
from tandem.runtime.artifact.manifest import StoredWeights
from tandem.scripts.explain import print_reasons, print_round_trips, print_weights
from tandem.workbench.round_trips import RoundTrip
from tests.support.scripts.printed import lines_of


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def step(name: str, device: str, inputs: str, operators: str, reason: str) -> Step:
    return Step(name, device, "code", (*inputs.split(),), ("y",), (*operators.split(),), 0, reason)


def net(*steps: Step, weights: tuple[StoredWeights, ...] = ()) -> Manifest:
    tensors = (
        Tensor("x", (1, 8), "float32", Input()),
        Tensor("b", (8,), "float32", ConstantPlace()),
        Tensor("a", (2,), "int8", Arena(0)),
        Tensor("y", (1, 8), "float32", Output()),
    )
    return Manifest("net", Provenance("net"), tensors, (), (), steps, 0, weights=weights)


def test_reasons_are_joined(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps that differ in operators, shapes or the reason have rows of their own."""
    print_reasons(
        net(
            step("one", "cpu", "x b", "add add relu", "no template; too small"),
            step("layer", "accelerator", "x", "conv2d", ""),
            step("two", "cpu", "x", "add relu", "no template; too small"),
            step("three", "cpu", "a", "add relu", "no template; too small"),
            step("four", "cpu", "x", "softmax", ""),
            step("five", "cpu", "x b", "add relu", "no template; too small"),
        )
    )
    lines = lines_of(capsys)
    assert [" ".join(line.split()) for line in lines] == [
        "",
        "layer on the CPU types and shapes, and why",
        "one +2 add + relu float32[1, 8] -> float32[1, 8]",
        "no template",
        "too small",
        "three add + relu int8[2] -> float32[1, 8]",
        "no template",
        "too small",
        "four softmax float32[1, 8] -> float32[1, 8]",
        "it was compiled for the CPU alone",
    ]


def test_nothing_on_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    print_reasons(net(step("layer", "accelerator", "x", "conv2d", "")))
    assert lines_of(capsys) == ["", "nothing is on the CPU"]


def test_formats_of_weights(capsys: pytest.CaptureFixture[str]) -> None:
    print_weights(net())
    assert lines_of(capsys) == []
    print_weights(
        net(
            weights=(
                StoredWeights("a", "int4", 1_000, 600, 32, "", ("a",), "codes"),
                StoredWeights("b", "int8", 500, 500, None, "too far off", ("b",)),
                StoredWeights("c", "int4", 3_000, 1_800, 32, "", ("c",), "codes"),
                StoredWeights("d", "int4", 10, 6, 32, "chosen", ("d",), "codes"),
                StoredWeights("e", "int4", 10, 6, 64, "", ("e",), "codes"),
            )
        )
    )
    lines = lines_of(capsys)
    assert [" ".join(line.split()) for line in lines] == [
        "",
        "bytes",
        "weights format in memory, and why bytes in int8",
        "a +1 int4/32 codes 2,400 4,000",
        "b int8 too far off 500 500",
        "d int4/32 codes: chosen 6 10",
        "e int4/64 codes 6 10",
    ]


def trip(after: str, seconds: float | None, layout: float | None) -> RoundTrip:
    return RoundTrip(after, f"{after}2", ("softmax",), 1_024, 2_048, seconds, layout)


def test_round_trips(capsys: pytest.CaptureFixture[str]) -> None:
    print_round_trips([])
    assert lines_of(capsys) == []
    print_round_trips([trip("a", 0.0012345, 0.0), trip("b", 0.5, 0.25)])
    lines = [" ".join(line.split()) for line in lines_of(capsys)]
    assert lines == [
        "",
        "bytes bytes CPU of it",
        "round trip after before to CPU back ms layout",
        "a a2 1,024 2,048 1.234 0.000",
        "b b2 1,024 2,048 500.000 250.000",
        "2 round trips: without, 3 launches would be one",
    ]
    print_round_trips([trip("a", None, None)])
    lines = [" ".join(line.split()) for line in lines_of(capsys)]
    assert lines[2:] == [
        "round trip after before to CPU back",
        "a a2 1,024 2,048",
        "1 round trip: without, 2 launches would be one",
    ]
