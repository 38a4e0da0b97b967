"""Layouts of words, packed by hand for machines whose indices have chosen widths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tandem.hw.encoding import (
    FIELDS_OF,
    Field,
    Opcode,
    WideWord,
    WordLayout,
    alu_layout,
    gemm_layout,
    instruction_layout,
    memory_layout,
    opcodes_of,
    requantise_layout,
    store_layout,
    table_layout,
    uop_layout,
    wide_words,
    word_layouts,
)
from tandem.hw.features import Feature
from tandem.hw.topology import MemoryId

UOP, WGT, INP, ACC, PAR = (
    *(MemoryId.UOP, MemoryId.WGT, MemoryId.INP, MemoryId.ACC),
    MemoryId.PAR,
)
BITS = {UOP: 3, ACC: 2, INP: 4, WGT: 1, PAR: 5}


@dataclass(frozen=True)
class Machine:
    """Widths of indices, and extensions."""

    bits: tuple[tuple[MemoryId, int], ...]
    features: frozenset[Feature] = field(default_factory=frozenset)

    def index_bits(self, memory: MemoryId, /) -> int:
        return dict(self.bits)[memory]


def machine(*features: Feature, **changed: int) -> Machine:
    bits = BITS | {MemoryId[name]: width for name, width in changed.items()}
    return Machine(tuple(bits.items()), frozenset(features))


def places(layout: WordLayout) -> Mapping[str, tuple[int, int]]:
    """The lowest bit and the width of each field."""
    return {each.name: (each.lsb, each.width) for each in layout}


HEADER = {
    "opcode": (0, 3),
    "pop_prev": (3, 1),
    "pop_next": (4, 1),
    "push_prev": (5, 1),
    "push_next": (6, 1),
}


def test_memory_instructions() -> None:
    places_of_moves = HEADER | {
        "memory_type": (7, 3),
        "sram_base": (10, 16),
        "dram_base": (26, 32),
        "y_size": (64, 16),
        "x_size": (80, 16),
        "x_stride": (96, 16),
        "y_pad_0": (112, 4),
        "y_pad_1": (116, 4),
        "x_pad_0": (120, 4),
        "x_pad_1": (124, 4),
    }
    base, coded = machine(), machine(Feature.COMPRESSED_WEIGHTS)
    assert places(memory_layout(base)) == places(store_layout(coded)) == places_of_moves
    assert places(memory_layout(coded)) == {**places_of_moves, "coding": (58, 2)}
    assert (memory_layout(base).width, memory_layout(base).size) == (128, 128)
    assert memory_layout(base).unused == 0b111111 << 58
    assert memory_layout(coded).unused == 0b1111 << 60


def test_gemm_and_alu() -> None:
    loops = HEADER | {
        "reset_reg": (7, 1),
        "uop_bgn": (8, 3),
        "uop_end": (11, 4),
        "iter_out": (15, 14),
        "iter_in": (29, 14),
    }
    assert places(gemm_layout(machine())) == loops | {
        "dst_factor_out": (43, 2),
        "dst_factor_in": (45, 2),
        "src_factor_out": (47, 4),
        "src_factor_in": (51, 4),
        "wgt_factor_out": (55, 1),
        "wgt_factor_in": (56, 1),
    }
    assert gemm_layout(machine()).width == 57
    assert places(gemm_layout(machine(Feature.OVERWRITE)))["overwrite"] == (43, 1)
    found = places(alu_layout(machine(Feature.INPUT_OPERANDS)))
    assert found["from_inp"] == (43, 1)
    # The source of ALU is in ACC: two bits each.
    assert (found["src_factor_in"], found["alu_opcode"]) == ((50, 2), (52, 3))
    assert (found["use_imm"], found["imm"]) == ((55, 1), (64, 16))
    assert alu_layout(machine())["imm"].signed


@pytest.mark.parametrize(("inp", "place"), [(3, (61, 3)), (4, (64, 4))])
def test_a_field_that_would_straddle_starts_at_the_next_word(
    inp: int, place: tuple[int, int]
) -> None:
    layout = gemm_layout(machine(ACC=9, INP=inp))
    assert places(layout)["src_factor_out"] == place
    assert bool(layout.unused & 0b111 << 61) == (inp == 4)


def test_other_words() -> None:
    config = machine(Feature.REQUANTISE, Feature.COMPRESSED_WEIGHTS)
    found = places(requantise_layout(config))
    assert (found["scale"], found["par_base"], found["par_factor_in"]) == (
        (24, 24),
        (48, 5),
        (58, 5),
    )
    assert [(each.name, each.lsb, each.width) for each in table_layout(config)][5:] == [
        ("upper_half", 7, 1),
        ("entries_low", 8, 32),
        ("entries_high", 64, 32),
    ]
    # The source of a micro-op reaches the deeper of INP and ACC.
    assert places(uop_layout(config)) == {"dst": (0, 2), "src": (2, 4), "wgt": (6, 1)}
    assert places(uop_layout(machine(ACC=6)))["src"] == (6, 6)
    assert (uop_layout(config).size, uop_layout(config).unused) == (32, (1 << 32) - (1 << 7))


def test_layouts_by_opcode() -> None:
    base = machine()
    full = machine(*Feature)
    assert opcodes_of(base) == tuple(Opcode)[:5]
    assert opcodes_of(full) == tuple(Opcode)
    assert [instruction_layout(full, opcode).name for opcode in Opcode] == [
        *("LOAD/STORE", "LOAD/STORE", "GEMM", "FINISH", "ALU", "REQUANTISE", "TABLE")
    ]
    for opcode in Opcode:
        names = [each.name for each in instruction_layout(full, opcode)]
        assert names == [spec.name for spec in FIELDS_OF[opcode]]
    assert [each.name for each in word_layouts(base)] == [
        *("LOAD/STORE", "GEMM", "FINISH", "ALU", "micro-op")
    ]
    # With codes, LOAD and STORE differ.
    assert len(word_layouts(full)) == 8


def test_words_that_do_not_fit() -> None:
    assert wide_words(machine(ACC=11, INP=11, WGT=10)) == ()
    assert wide_words(machine(ACC=11, INP=11, WGT=11)) == (WideWord("micro-op", 33, 32),)
    # GEMM's factors begin at bit 43: of 20 bits, the second at 64 and the fifth at 128.
    deep = machine(ACC=20, INP=20, WGT=20)
    assert wide_words(deep)[0] == WideWord("GEMM", 168, 128)
    assert wide_words(deep)[-1] == WideWord("micro-op", 60, 32)


def test_limits_and_words() -> None:
    assert Field("a", 0, 8).limits == (0, 255)
    assert Field("a", 0, 8, signed=True).limits == (-128, 127)
    assert Field("a", 0, 1, signed=True).limits == (-1, 0)
    layout = WordLayout("w", 16, (Field("a", 0, 3), Field("b", 8, 4)))
    assert (layout.width, layout.unused, layout["b"].lsb) == (12, 0xF0F8, 8)
    assert [each.name for each in layout] == ["a", "b"]
    with pytest.raises(KeyError):
        layout["c"]
