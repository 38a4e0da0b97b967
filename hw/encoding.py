"""The bit layouts of instructions and micro-ops, on a machine.

The fields of `hw.instruction_fields` are packed upward in 64-bit words; a field that would straddle
a word boundary starts at the boundary. Encoder, decoder and the RTL's decoder are derived from
these layouts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Protocol, assert_never

from tandem.hw import instruction_fields
from tandem.hw.features import BASE, Feature
from tandem.hw.instruction_fields import FieldSpec, FieldSpecs, IndexWidth
from tandem.hw.topology import MemoryId

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
    TABLE = 6
    """What the codes that the LOADs behind it widen mean."""

    @property
    def needs(self) -> frozenset[Feature]:
        """The features of a machine with this opcode."""
        match self:
            case Opcode.REQUANTISE:
                return frozenset({Feature.REQUANTISE})
            case Opcode.TABLE:
                return frozenset({Feature.COMPRESSED_WEIGHTS})
            case _:
                return BASE


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
    kind: type[int] = int
    """The type of its values in Python."""
    attribute: str = ""
    """Its name in `hw.isa.instructions`."""

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


def _index_bits(width: IndexWidth, config: EncodingConfig) -> int:
    return max([config.index_bits(memory) for memory in width.memories]) + width.more


def _placed(specs: FieldSpecs, config: EncodingConfig) -> Iterator[tuple[FieldSpec, int, int]]:
    """Each field that a machine has, from bit 0 up, with its least significant bit and width."""
    lsb = 0
    for spec in specs:
        if not spec.on(config.features):
            continue
        width = spec.width if isinstance(spec.width, int) else _index_bits(spec.width, config)
        if lsb // WORD_BITS != (lsb + width - 1) // WORD_BITS:
            lsb = (lsb // WORD_BITS + 1) * WORD_BITS
        yield spec, lsb, width
        lsb += width


def _pack(
    name: str, config: EncodingConfig, specs: FieldSpecs, size: int = INSTRUCTION_BYTES
) -> WordLayout:
    """The layout of a word of `size` bytes."""
    fields = tuple(
        Field(spec.name, lsb, width, spec.signed, spec.kind, spec.python_name)
        for spec, lsb, width in _placed(specs, config)
    )
    return WordLayout(name, 8 * size, fields)


@cache
def memory_layout(config: EncodingConfig) -> WordLayout:
    """The layout of LOAD. Its fields are in the same places in every configuration, and STORE has
    them as well, but for those of extensions."""
    return _pack("LOAD/STORE", config, instruction_fields.LOAD)


@cache
def store_layout(config: EncodingConfig) -> WordLayout:
    """The layout of STORE: the same in every configuration."""
    return _pack("LOAD/STORE", config, instruction_fields.STORE)


@cache
def finish_layout(config: EncodingConfig) -> WordLayout:
    """The layout of FINISH, which has dependence flags only."""
    return _pack("FINISH", config, instruction_fields.FINISH)


@cache
def gemm_layout(config: EncodingConfig) -> WordLayout:
    """The layout of GEMM; the source is INP."""
    return _pack("GEMM", config, instruction_fields.GEMM)


@cache
def alu_layout(config: EncodingConfig) -> WordLayout:
    """The layout of ALU; the source is ACC, or INP."""
    return _pack("ALU", config, instruction_fields.ALU)


@cache
def requantise_layout(config: EncodingConfig) -> WordLayout:
    """The layout of REQUANTISE, on a machine that has it."""
    return _pack("REQUANTISE", config, instruction_fields.REQUANTISE)


@cache
def table_layout(config: EncodingConfig) -> WordLayout:
    """The layout of TABLE, on a machine that has it."""
    return _pack("TABLE", config, instruction_fields.TABLE)


@cache
def uop_layout(config: EncodingConfig) -> WordLayout:
    """The layout of a micro-op."""
    return _pack("micro-op", config, instruction_fields.MICRO_OP, UOP_BYTES)


FIELDS_OF: Mapping[Opcode, FieldSpecs] = {
    Opcode.LOAD: instruction_fields.LOAD,
    Opcode.STORE: instruction_fields.STORE,
    Opcode.GEMM: instruction_fields.GEMM,
    Opcode.FINISH: instruction_fields.FINISH,
    Opcode.ALU: instruction_fields.ALU,
    Opcode.REQUANTISE: instruction_fields.REQUANTISE,
    Opcode.TABLE: instruction_fields.TABLE,
}
"""By opcode, the fields of its instructions."""


def instruction_layout(config: EncodingConfig, opcode: Opcode) -> WordLayout:
    """The layout of the instructions with an opcode."""
    match opcode:
        case Opcode.LOAD:
            return memory_layout(config)
        case Opcode.STORE:
            return store_layout(config)
        case Opcode.GEMM:
            return gemm_layout(config)
        case Opcode.ALU:
            return alu_layout(config)
        case Opcode.FINISH:
            return finish_layout(config)
        case Opcode.REQUANTISE:
            return requantise_layout(config)
        case Opcode.TABLE:
            return table_layout(config)
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

    LOAD, STORE, FINISH and TABLE fit in every configuration; REQUANTISE fits with a PAR of any
    depth that `sram_base` reaches.
    """
    words = (
        ("GEMM", instruction_fields.GEMM, INSTRUCTION_BYTES),
        ("ALU", instruction_fields.ALU, INSTRUCTION_BYTES),
        ("micro-op", instruction_fields.MICRO_OP, UOP_BYTES),
    )
    widths = (
        WideWord(name, max(lsb + width for _, lsb, width in _placed(specs, config)), 8 * size)
        for name, specs, size in words
    )
    return tuple(word for word in widths if word.width > word.size)
