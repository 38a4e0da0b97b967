"""What codes cost convolutions: each layer in int8 and in the formats, computed from codes."""

from __future__ import annotations

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.hw.weight_formats import INT4
from tandem.runtime.artifact import Provenance
from tandem.scripts.bench.compressed_convolutions import (
    LAYERS,
    Layer,
    convolutions,
    measure,
    reading_codes,
)
from tests.support.compiler.machines.cpu.compressed import constant_types

HOST = CpuTarget.host(1)


def test_rows() -> None:
    rows = [*measure(HOST, [Layer(32, 8, 1, 2, 3)], rounds=2, weights=1)]
    assert [(row.name, row.unit) for row in rows] == [
        ("1x1/2 32->8 @3, int8", "us"),
        ("1x1/2 32->8 @3, int4", "times int8's"),
        ("1x1/2 32->8 @3, ternary", "times int8's"),
        ("1x1/2 32->8 @3, halves apart", "%"),
    ]
    assert all(row.value > 0 for row in rows[:3])
    assert rows[3].value >= 0


def test_layers_read_codes_and_have_weights_of_their_own() -> None:
    function = convolutions(Layer(32, 8, 3, 1, 4), INT4, 2)
    artifact = build(function, [reading_codes(HOST)], Provenance("layers"))
    assert [step.operators for step in artifact.manifest.steps] == [("widen", "conv2d")] * 2
    assert "int8" not in constant_types(artifact)
    first, second = (step.inputs[1:] for step in artifact.manifest.steps)
    assert first != second


def test_names() -> None:
    assert len({*map(str, LAYERS)}) == len(LAYERS)
