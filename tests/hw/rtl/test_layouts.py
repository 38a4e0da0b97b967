"""Packed words: the encodings' bits, and enough bits for the largest jobs."""

from __future__ import annotations

import random

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.encoding import word_layouts
from tandem.hw.features import BASE, Feature
from tandem.hw.isa import Load, MemoryId, Tokens, encode
from tandem.hw.rtl.layouts import UNIT_EVENTS, clog2, row_bits, view_of
from tandem.hw.storage import BEATS_BITS


def test_clog2() -> None:
    assert [clog2(value) for value in (1, 2, 3, 4, 5, 8, 9, 1 << 16)] == [0, 1, 2, 2, 3, 3, 4, 16]


@pytest.mark.parametrize("name", preset_names())
def test_views_are_the_encodings(name: str) -> None:
    rng = random.Random(1)
    for layout in word_layouts(load_config(name)):
        view = view_of(layout)
        assert view.size == layout.size
        for _ in range(10):
            word = rng.getrandbits(layout.size)
            fields = view.from_bits(word)
            for field in layout:
                value = word >> field.lsb & ((1 << field.width) - 1)
                if field.signed and value >> (field.width - 1):
                    value -= 1 << field.width
                assert getattr(fields, field.name) == value, field.name


def test_a_view_reads_an_instruction() -> None:
    config = load_config("tiny")
    load = Load(
        memory=MemoryId.ACC_8BIT,
        sram_base=1,
        dram_base=0xDEADBEEF,
        y_size=3,
        x_size=4,
        x_stride=5,
        x_pad_1=15,
        tokens=Tokens(push_prev=True),
    )
    word = int.from_bytes(encode(config, load), "little")
    fields = view_of(word_layouts(config)[0]).from_bits(word)
    assert fields.memory_type == MemoryId.ACC_8BIT
    assert (fields.sram_base, fields.dram_base) == (1, 0xDEADBEEF)
    assert (fields.push_prev, fields.push_next, fields.x_pad_1) == (1, 0, 15)


@pytest.mark.parametrize("features", [BASE, frozenset(Feature)], ids=["base", "extended"])
@pytest.mark.parametrize("name", preset_names())
def test_the_longest_row_and_burst_fit(name: str, features: frozenset[Feature]) -> None:
    config = load_config(name).replace(features=features)
    largest = max(config.element_bytes(memory) for memory in config.memories)
    assert 65535 * largest < 1 << row_bits(config)
    assert config.longest_burst < 1 << BEATS_BITS
    assert HardwareConfig(longest_burst=256, load_buffer=256, compute_buffer=256).longest_burst < (
        1 << BEATS_BITS
    )


def test_events_are_in_the_order_that_traces_decode() -> None:
    names = ["start", "end", "pop_prev", "pop_next", "push_prev", "push_next"]
    assert [UNIT_EVENTS.from_bits(1 << place).as_bits() for place in range(6)] == [
        1 << place for place in range(6)
    ]
    for place, name in enumerate(names):
        assert getattr(UNIT_EVENTS.from_bits(1 << place), name) == 1
