"""The bit layouts of instructions and micro-ops.

Fields are packed upward in 64-bit words; a field that would straddle a word boundary starts at the
boundary. Encoder, decoder, disassembler and the RTL's decoder are derived from these layouts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Protocol, TypeAlias, assert_never

from hw.features import BASE, Feature
from hw.topology import MemoryId

INSTRUCTION_BYTES = 16
UOP_BYTES = 4
WORD_BITS = 64
"""Width of the words that fields are packed into; no field straddles two words."""


class Opcode(IntEnum):
    """Bits [2:0] of every instruction."""

    LOAD = 0
    STORE = 1
    GEMM = 2
    FINISH = 3
    ALU = 4
    REQUANTISE = 5
    """How the results of the instructions behind it become elements of OUT."""

    @property
    def needs(self) -> frozenset[Feature]:
        """The features of a machine with this opcode."""
        return frozenset({Feature.REQUANTISE}) if self is Opcode.REQUANTISE else BASE


class EncodingConfig(Hashable, Protocol):
    """The part of `HardwareConfig` that layouts depend on."""

    @property
    def features(self) -> frozenset[Feature]:
        """The extensions of the instruction set."""
        ...

    def index_bits(self, memory: MemoryId, /) -> int:
        """log2 of the number of elements of `memory`."""
        ...


@dataclass(frozen=True, slots=True)
class Field:
    """A bit field: `width` bits from bit `lsb` up."""

    name: str
    lsb: int
    width: int
    signed: bool = False

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest value of the field."""
        if self.signed:
            return -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1
        return 0, (1 << self.width) - 1


@dataclass(frozen=True, slots=True)
class WordLayout:
    """The bit fields of one kind of word; `size` is the word's width in bits."""

    name: str
    size: int
    fields: tuple[Field, ...]
    _by_name: dict[str, Field] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {each.name: each for each in self.fields})

    def __getitem__(self, name: str) -> Field:
        return self._by_name[name]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    @property
    def width(self) -> int:
        """Number of bits up to the end of the last field."""
        return max(each.lsb + each.width for each in self.fields)

    @property
    def unused(self) -> int:
        """A mask of the word's bits that belong to no field. A legal word has zeros there."""
        used = sum(((1 << each.width) - 1) << each.lsb for each in self.fields)
        return (1 << self.size) - 1 & ~used


SCALE_BITS = 24
"""Width of the scale of residuals: a product with a signed byte has 32 bits."""

OPCODE_BITS = 3
MEMORY_BITS = 3
_HEADER = (
    ("opcode", OPCODE_BITS),
    ("pop_prev", 1),
    ("pop_next", 1),
    ("push_prev", 1),
    ("push_next", 1),
)


_SIGNED = ("imm", "low", "high")
"""Names of the columns with signed values."""


Columns: TypeAlias = tuple[tuple[str, int], ...]
"""Names and widths of a word's fields, from bit 0 up."""


def _placed(columns: Columns) -> Iterator[tuple[str, int, int]]:
    """Name, least significant bit and width of each column."""
    lsb = 0
    for column, width in columns:
        if lsb // WORD_BITS != (lsb + width - 1) // WORD_BITS:
            lsb = (lsb // WORD_BITS + 1) * WORD_BITS
        yield column, lsb, width
        lsb += width


def packed_width(columns: Columns) -> int:
    """Number of bits up to the end of the last column."""
    return max(lsb + width for _, lsb, width in _placed(columns))


def _pack(name: str, size: int, columns: Columns) -> WordLayout:
    fields = tuple(
        Field(column, lsb, width, signed=column in _SIGNED)
        for column, lsb, width in _placed(columns)
    )
    return WordLayout(name, size, fields)


@cache
def memory_layout(config: EncodingConfig) -> WordLayout:
    """The layout of LOAD and STORE: the same in every configuration."""
    return _pack(
        "LOAD/STORE",
        8 * INSTRUCTION_BYTES,
        (
            *_HEADER,
            ("memory_type", MEMORY_BITS),
            ("sram_base", 16),
            ("dram_base", 32),
            ("y_size", 16),
            ("x_size", 16),
            ("x_stride", 16),
            ("y_pad_0", 4),
            ("y_pad_1", 4),
            ("x_pad_0", 4),
            ("x_pad_1", 4),
        ),
    )


@cache
def finish_layout(config: EncodingConfig) -> WordLayout:
    """The layout of FINISH, which has dependence flags only."""
    return _pack("FINISH", 8 * INSTRUCTION_BYTES, _HEADER)


def _loop_columns(config: EncodingConfig, src: MemoryId, added: Columns = ()) -> Columns:
    """The columns of GEMM and ALU; `added` are those of extensions, where VTA's `pynq` has bits to
    spare, so that all others stay in their places there."""
    uop = config.index_bits(MemoryId.UOP)
    acc = config.index_bits(MemoryId.ACC)
    return (
        *_HEADER,
        ("reset_reg", 1),
        ("uop_bgn", uop),
        ("uop_end", uop + 1),
        ("iter_out", 14),
        ("iter_in", 14),
        *added,
        ("dst_factor_out", acc),
        ("dst_factor_in", acc),
        ("src_factor_out", config.index_bits(src)),
        ("src_factor_in", config.index_bits(src)),
    )


def _gemm_columns(config: EncodingConfig) -> Columns:
    wgt = config.index_bits(MemoryId.WGT)
    added = (("overwrite", 1),) if Feature.OVERWRITE in config.features else ()
    loops = _loop_columns(config, MemoryId.INP, added)
    return (*loops, ("wgt_factor_out", wgt), ("wgt_factor_in", wgt))


@cache
def gemm_layout(config: EncodingConfig) -> WordLayout:
    """The layout of GEMM; the source is INP."""
    return _pack("GEMM", 8 * INSTRUCTION_BYTES, _gemm_columns(config))


def _alu_columns(config: EncodingConfig) -> Columns:
    added = (("from_inp", 1),) if Feature.INPUT_OPERANDS in config.features else ()
    loops = _loop_columns(config, MemoryId.ACC, added)
    return (*loops, ("alu_opcode", 3), ("use_imm", 1), ("imm", 16))


@cache
def alu_layout(config: EncodingConfig) -> WordLayout:
    """The layout of ALU; the source is ACC, or INP."""
    return _pack("ALU", 8 * INSTRUCTION_BYTES, _alu_columns(config))


@cache
def requantise_layout(config: EncodingConfig) -> WordLayout:
    """The layout of REQUANTISE, on a machine that has it."""
    par = config.index_bits(MemoryId.PAR)
    return _pack(
        "REQUANTISE",
        8 * INSTRUCTION_BYTES,
        (
            *_HEADER,
            ("active", 1),
            ("low", 8),
            ("high", 8),
            ("scale", SCALE_BITS),
            ("par_base", par),
            ("par_factor_out", par),
            ("par_factor_in", par),
        ),
    )


def _uop_columns(config: EncodingConfig) -> Columns:
    acc = config.index_bits(MemoryId.ACC)
    src = max(config.index_bits(MemoryId.INP), acc)
    return (("dst", acc), ("src", src), ("wgt", config.index_bits(MemoryId.WGT)))


@cache
def uop_layout(config: EncodingConfig) -> WordLayout:
    """The layout of a micro-op. `src` is wide enough for INP (GEMM) and for ACC (ALU)."""
    return _pack("micro-op", 8 * UOP_BYTES, _uop_columns(config))


def instruction_layout(config: EncodingConfig, opcode: Opcode) -> WordLayout:
    """The layout of the instructions with an opcode."""
    match opcode:
        case Opcode.LOAD | Opcode.STORE:
            return memory_layout(config)
        case Opcode.GEMM:
            return gemm_layout(config)
        case Opcode.ALU:
            return alu_layout(config)
        case Opcode.FINISH:
            return finish_layout(config)
        case Opcode.REQUANTISE:
            return requantise_layout(config)
        case _:
            assert_never(opcode)


def opcodes_of(config: EncodingConfig) -> tuple[Opcode, ...]:
    """The opcodes that a machine has."""
    return tuple(opcode for opcode in Opcode if opcode.needs <= config.features)


def word_layouts(config: EncodingConfig) -> tuple[WordLayout, ...]:
    """The layouts of all kinds of words."""
    instructions = (instruction_layout(config, opcode) for opcode in opcodes_of(config))
    return (*dict.fromkeys(instructions), uop_layout(config))


@dataclass(frozen=True, slots=True)
class WideWord:
    """A kind of word with more bits of fields, `width`, than it has, `size`."""

    name: str
    width: int
    size: int


def wide_words(config: EncodingConfig) -> tuple[WideWord, ...]:
    """The kinds of words whose fields do not fit; none in a machine that can be built.

    LOAD, STORE and FINISH are the same in every configuration; REQUANTISE fits with a PAR of any
    depth that `sram_base` reaches.
    """
    instruction, micro_op = 8 * INSTRUCTION_BYTES, 8 * UOP_BYTES
    widths = (
        WideWord("GEMM", packed_width(_gemm_columns(config)), instruction),
        WideWord("ALU", packed_width(_alu_columns(config)), instruction),
        WideWord("micro-op", packed_width(_uop_columns(config)), micro_op),
    )
    return tuple(word for word in widths if word.width > word.size)
