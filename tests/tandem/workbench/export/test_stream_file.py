"""Streams as files: nothing but what is needed, and refused where a second run would be wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tandem
from tandem.hw.isa import Program
from tandem.runtime.artifact import StreamCode, streams_of
from tandem.workbench.errors import ExportError
from tandem.workbench.export import stream_file as files
from tandem.workbench.export.stream_file import head_bytes, pack, stream_file
from tests.support.compiler.models.digits import digits
from tests.support.sim.programs import random_program
from tests.support.sim.streams import memory_of, segments_of


@pytest.fixture(scope="module")
def code() -> StreamCode:
    artifact = digits("tiny-x").network.artifact
    (found,) = streams_of(artifact).values()
    return found


def test_a_network(code: StreamCode) -> None:
    found = stream_file(code)
    memory, begin, count = memory_of(found.content)
    assert (memory[: code.image.size] == code.image).all()
    assert memory[begin:].tobytes() == code.program
    assert count == len(code.program) // 16
    assert found.memory_bytes == len(memory)
    # Without holes: constants, with gaps of less than a segment's own bytes, and instructions.
    assert np.count_nonzero(code.image) <= found.constant_bytes
    assert found.constant_bytes < len(found.content) - len(code.program) < code.image.size


@given(
    places=st.lists(st.integers(0, 4000), max_size=40), seed=st.integers(0, 9), size=st.just(4096)
)
def test_any_image(places: list[int], seed: int, size: int) -> None:
    config = tandem.Accelerator("tiny").config
    image = np.zeros(size, np.uint8)
    image[places] = np.arange(len(places)) % 255 + 1
    program = random_program(config, seed, 10).program
    content, memory_bytes, _ = pack(program, image)
    # A processor copies words.
    assert len(content) % 4 == 0
    assert all(at % 8 == size % 8 == 0 for at, size in segments_of(content))
    # The same places, read from what comes before their bytes.
    placed = [(at, len(part)) for at, part in files.segments_of(content)]
    assert placed == segments_of(content)
    parts = b"".join(part for _, part in files.segments_of(content))
    assert content[head_bytes(content) :] == parts
    memory, begin, _ = memory_of(content)
    assert (memory[:size] == image).all()
    assert memory[begin:].tobytes() == program.data
    assert (begin % 64, memory_bytes) == (0, len(memory))


def test_constants_that_a_run_overwrites(code: StreamCode) -> None:
    image = code.image.copy()
    (output,) = code.outputs
    image[output.address] = 1
    with pytest.raises(ExportError, match=r"stores at 0x.*, where its memory has constants"):
        stream_file(replace(code, image=image))
    image = code.image.copy()
    image[code.inputs[0].address] = 1
    with pytest.raises(ExportError, match=r"has constants where its input input_int8_windows is"):
        stream_file(replace(code, image=image))


def test_it_is_of_one_machine(code: StreamCode) -> None:
    """Identity registers differ between any two presets with other streams."""
    program = Program.from_bytes(code.config, code.program)
    other = Program.from_bytes(code.config.replace(log_acc_buffer=13), code.program)
    assert pack(program, code.image)[0] != pack(other, code.image)[0]
