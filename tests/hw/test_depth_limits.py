"""Memories too deep for the words: what is said to fit does, and nothing less would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.depth_limits import depth_remedies
from tandem.hw.encoding import requantise_layout, wide_words, word_layouts
from tandem.hw.features import Feature
from tandem.hw.topology import MemoryId

SRAM_BASE_BITS = 16


@dataclass(frozen=True)
class Depths:
    features: frozenset[Feature]
    bits: tuple[tuple[MemoryId, int], ...]

    def index_bits(self, memory: MemoryId, /) -> int:
        return dict(self.bits)[memory]

    def less(self, reduction: Mapping[MemoryId, int]) -> Depths:
        less = tuple((memory, bits - reduction.get(memory, 0)) for memory, bits in self.bits)
        return Depths(self.features, less)


@st.composite
def depths(draw: st.DrawFn) -> Depths:
    memories = (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.PAR)
    bits = tuple((memory, draw(st.integers(1, SRAM_BASE_BITS))) for memory in memories)
    return Depths(draw(st.frozensets(st.sampled_from(Feature))), bits)


def fits(config: Depths) -> bool:
    return all(layout.width <= layout.size for layout in word_layouts(config))


@given(depths())
def test_remedies_are_sufficient_and_none_is_more_than_needed(config: Depths) -> None:
    remedies = depth_remedies(config)
    assert (remedies is None) == fits(config)
    if remedies is None:
        return
    wide = [
        (layout.name, layout.width, layout.size)
        for layout in word_layouts(config)
        if layout.width > layout.size
    ]
    assert [(word.name, word.width, word.size) for word in remedies.too_wide] == wide
    for reduction in ({memory: by} for memory, by in remedies.alone.items()):
        assert fits(config.less(reduction))
    for memory in (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC):
        least = remedies.alone.get(memory, config.index_bits(memory))
        assert not any(fits(config.less({memory: by})) for by in range(least))
    together = remedies.together
    assert fits(config.less(together))
    for memory, by in together.items():
        assert 0 < by < config.index_bits(memory)
        assert not fits(config.less({**together, memory: by - 1}))


@pytest.mark.parametrize("bits", range(1, SRAM_BASE_BITS + 1))
def test_requantise_fits_with_any_par(bits: int) -> None:
    config = Depths(frozenset(Feature), tuple((memory, bits) for memory in MemoryId))
    layout = requantise_layout(config)
    assert layout.width <= layout.size


@given(depths())
def test_shallower_memories_make_no_word_wider(config: Depths) -> None:
    before = {layout.name: layout.width for layout in word_layouts(config)}
    for memory, bits in config.bits:
        if bits > 1:
            for layout in word_layouts(config.less({memory: 1})):
                assert layout.width <= before[layout.name]


def test_the_first_remedy_of_two_blocks_of_eight() -> None:
    # VTA's memories with blocks of 8 x 8: 2^12 elements in INP, WGT and ACC.
    bits = {MemoryId.UOP: 13, MemoryId.INP: 12, MemoryId.WGT: 12, MemoryId.ACC: 12, MemoryId.PAR: 7}
    remedies = depth_remedies(Depths(frozenset(), tuple(bits.items())))
    assert remedies is not None
    assert [(word.name, word.width) for word in remedies.too_wide] == [
        ("GEMM", 140),
        ("ALU", 144),
        ("micro-op", 36),
    ]
    # Behind its first 64 bits ALU has four factors of ACC, of 12 bits, and 20 bits more: of one
    # memory alone, only a smaller ACC helps.
    assert remedies.alone == {MemoryId.ACC: 4}
    assert remedies.together == {MemoryId.INP: 1, MemoryId.WGT: 2, MemoryId.ACC: 1}
    assert not wide_words(Depths(frozenset(), tuple({**bits, MemoryId.ACC: 8}.items())))
