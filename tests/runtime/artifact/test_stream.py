"""Instruction streams as values and as bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.runtime.artifact import Layer, PlacedTensor, StreamCode
from tandem.runtime.errors import ArtifactError

CODE = StreamCode(
    "s",
    load_config("tiny"),
    bytes(range(48)),
    np.arange(256, dtype=np.uint8),
    (PlacedTensor("x", 0, (2, 4), "int8"),),
    (PlacedTensor("y", 64, (3,), "int32"),),
    (Layer("a", ("conv2d",), 12, 100), Layer("b", ("max_pool",), 0, 50)),
    np.array([0, 1, -1], np.int32),
    ("a y=0", "b", ""),
)


def test_bytes_and_back() -> None:
    found = StreamCode.from_bytes(CODE.to_bytes())
    for field in ("name", "config", "program", "inputs", "outputs", "layers", "places"):
        assert getattr(found, field) == getattr(CODE, field)
    np.testing.assert_array_equal(found.image, CODE.image)
    np.testing.assert_array_equal(found.layer_of, CODE.layer_of)


def test_tensors_are_views() -> None:
    memory = CODE.image.copy()
    CODE.view(memory, CODE.outputs[0])[...] = -1
    assert (memory[64:76] == 255).all()
    assert memory[76] == 76
    assert CODE.view(memory, CODE.inputs[0]).shape == (2, 4)


@given(st.integers(0, len(CODE.to_bytes()) - 1))
def test_cut_off(end: int) -> None:
    with pytest.raises(ArtifactError):
        StreamCode.from_bytes(CODE.to_bytes()[:end])


@given(st.integers(0, len(CODE.to_bytes()) - 1), st.integers(1, 255))
def test_a_changed_byte_gives_a_stream_or_an_error(at: int, change: int) -> None:
    data = bytearray(CODE.to_bytes())
    data[at] ^= change
    try:
        found = StreamCode.from_bytes(bytes(data))
    except ArtifactError:
        return
    assert len(found.layer_of) == len(found.program) // 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": bytes(47)}, "47 bytes of instructions"),
        ({"layer_of": np.zeros(2, np.int32)}, "2 layers"),
        ({"layer_of": np.array([0, 2, 0], np.int32)}, "instructions of layer 2 of 2"),
        ({"inputs": (PlacedTensor("x", 250, (7,), "int8"),)}, "x of 7 bytes at 250 is not within"),
        ({"inputs": (PlacedTensor("x", 0, (-7,), "int8"),)}, "is not within"),
        (
            {"outputs": (PlacedTensor("y", 0, (7,), "float32"),)},
            "y is float32, not one of int8, int32, int64",
        ),
    ],
)
def test_refuses(change: dict[str, object], message: str) -> None:
    with pytest.raises(ArtifactError, match=f"^instruction stream s: .*{message}"):
        replace(CODE, **change)  # type: ignore[arg-type]
