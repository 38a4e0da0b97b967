"""Decoding and encoding of whole programs, as one NumPy array for each field.

Which fields an instruction has, and where, is taken from the layouts of `hw.encoding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import (
    INSTRUCTION_BYTES,
    WORD_BITS,
    Field,
    Opcode,
    finish_layout,
    instruction_layout,
    opcodes_of,
    uop_layout,
)
from tandem.hw.errors import EncodingError
from tandem.hw.instruction_fields import OPCODE_BITS
from tandem.hw.isa.columns import FIELD_NAMES, Columns, Ints
from tandem.hw.isa.field_writer import out_of_range_error

_Words = npt.NDArray[np.uint64]
_ALL_ONES = (1 << WORD_BITS) - 1


_WORDS = INSTRUCTION_BYTES * 8 // WORD_BITS
"""Words of 64 bits in an instruction."""


def decode_columns(config: HardwareConfig, data: bytes) -> Columns:
    """Decode the instructions in `data`, a multiple of 16 bytes, legal or illegal."""
    table = np.frombuffer(data, dtype="<u8").reshape(-1, _WORDS)
    words = [np.ascontiguousarray(column) for column in table.T]
    # One block, and no array beside it: the time of decoding is that of getting memory.
    columns = dict(
        zip(FIELD_NAMES, np.zeros((len(FIELD_NAMES), len(table)), np.int64), strict=True)
    )
    common = finish_layout(config).fields
    for field in common:
        _extract(words, field, columns[field.name])
    opcode, scratch = columns["opcode"], np.empty(len(table), np.int64)
    for owners, own in _own_fields(config):
        ones = _ones(opcode, owners)
        for field in own:
            _extract(words, field, scratch)
            scratch &= ones
            columns[field.name] |= scratch
    for owner in opcodes_of(config):
        unused, ones = instruction_layout(config, owner).unused, _ones(opcode, (owner,))
        bits = [
            word & (ones.view(np.uint64) & np.uint64(unused >> WORD_BITS * number & _ALL_ONES))
            for number, word in enumerate(words)
        ]
        if any(word.any() for word in bits):
            columns["unused"] |= _lowest_bit(bits)
    return Columns(**columns)


@cache
def _own_fields(
    config: HardwareConfig,
) -> tuple[tuple[tuple[Opcode, ...], tuple[Field, ...]], ...]:
    """The fields behind those that all instructions have, with the opcodes whose layouts have
    them."""
    common = len(finish_layout(config).fields)
    owners: dict[Field, tuple[Opcode, ...]] = {}
    for opcode in opcodes_of(config):
        for field in instruction_layout(config, opcode).fields[common:]:
            owners[field] = (*owners.get(field, ()), opcode)
    found: dict[tuple[Opcode, ...], list[Field]] = {}
    for field, opcodes in owners.items():
        found.setdefault(opcodes, []).append(field)
    return tuple((opcodes, tuple(own)) for opcodes, own in found.items())


def _ones(opcode: Ints, owners: Iterable[Opcode]) -> Ints:
    """All ones for each instruction that has one of the opcodes `owners`, 0 for all others."""
    ones = np.zeros(1 << OPCODE_BITS, np.int64)
    ones[[*owners]] = -1
    return ones[opcode]


def encode_columns(config: HardwareConfig, columns: Columns) -> bytes:
    """The instructions that `columns` describe, 16 bytes each: the inverse of `decode_columns`.

    Raises
    ------
    EncodingError
        A value that does not fit its field, or is not 0 in a field that the instruction's layout
        lacks: names the earliest such instruction, the field and the allowed values. Columns that
        are not int64 arrays of one length.
    """
    values = {name: getattr(columns, name) for name in FIELD_NAMES}
    _check_arrays(values)
    count = len(columns.opcode)
    words = np.zeros((count, _WORDS), dtype="<u8")
    misfits: list[tuple[int, int, Field]] = []
    for kind in _kinds(config, columns.opcode):
        chosen = {name: values[name][kind.rows] for name in kind.names}
        positions = np.arange(count)[kind.rows]
        misfits += [
            (int(positions[at]), FIELD_NAMES.index(field.name), field)
            for at, field in _misfits((*kind.fields, *kind.absent), chosen)
        ]
        words[kind.rows] |= _packed(kind.fields, chosen, len(positions), _WORDS)
    if misfits:
        position, _, field = min(misfits, key=lambda found: found[:2])
        opcode = int(columns.opcode[position])
        name = f"{Opcode(opcode).name} " if opcode in set(Opcode) else ""
        error = out_of_range_error(
            f"{name}{field.name}", int(values[field.name][position]), field.limits
        )
        raise EncodingError(f"instruction {position}: {error}")
    return words.tobytes()


def pack_uop_columns(config: HardwareConfig, dst: Ints, src: Ints, wgt: Ints) -> bytes:
    """Micro-ops encoded for DRAM, 4 bytes each, from arrays of their indices.

    Raises
    ------
    EncodingError
        An index that does not fit its field: names the earliest such micro-op. Indices that are
        not int64 arrays of one length.
    """
    layout, values = uop_layout(config), {"dst": dst, "src": src, "wgt": wgt}
    _check_arrays(values)
    for at, field in sorted(_misfits(layout.fields, values), key=lambda found: found[0])[:1]:
        error = out_of_range_error(
            f"micro-op {field.name}", int(values[field.name][at]), field.limits
        )
        raise EncodingError(f"micro-op {at}: {error}")
    return _packed(layout.fields, values, len(dst), 1).astype("<u4").tobytes()


@dataclass(frozen=True, slots=True)
class _Kind:
    """Instructions that share a layout, and the fields of that layout to encode."""

    rows: Ints | slice
    fields: tuple[Field, ...]
    absent: tuple[Field, ...] = ()
    """Zero-width fields for the columns that the layout lacks, which must hold 0."""

    @property
    def names(self) -> Iterator[str]:
        return (field.name for field in (*self.fields, *self.absent))


def _kinds(config: HardwareConfig, opcode: Ints) -> Iterator[_Kind]:
    """First all instructions with the common fields, then each layout's with its own fields."""
    yield _Kind(slice(None), finish_layout(config).fields)
    opcodes = opcodes_of(config)
    for code in opcodes:
        rows = np.flatnonzero(opcode == code)
        if len(rows):
            yield _Kind(rows, *_fields_and_absent(config, code))
    illegal = np.flatnonzero(~np.isin(opcode, opcodes))
    if len(illegal):
        yield _Kind(illegal, *_fields_and_absent(config, None))


@cache
def _fields_and_absent(
    config: HardwareConfig, opcode: Opcode | None
) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """`fields` and `absent` of the `_Kind` of an opcode, or of illegal ones, behind the fields that
    all instructions have."""
    header = finish_layout(config)
    layout = header if opcode is None else instruction_layout(config, opcode)
    present = {field.name for field in layout}
    absent = tuple(Field(name, 0, 0) for name in FIELD_NAMES if name not in present)
    return layout.fields[len(header.fields) :], absent


def _check_arrays(values: Mapping[str, Ints]) -> None:
    lengths = {name: len(column) for name, column in values.items() if column.ndim == 1}
    for name, column in values.items():
        if column.dtype != np.int64 or name not in lengths:
            raise EncodingError(
                f"column {name} is an array of {column.dtype} with {column.ndim} dimensions: "
                f"it must be a flat array of int64"
            )
    first, *others = lengths
    for name in others:
        if lengths[name] != lengths[first]:
            raise EncodingError(
                f"column {name} has {lengths[name]} entries, and {first} has {lengths[first]}: "
                f"columns must have the same length"
            )


def _misfits(fields: Sequence[Field], values: Mapping[str, Ints]) -> Iterator[tuple[int, Field]]:
    """The first misfit (position, field) in each field with values that do not fit."""
    for field in fields:
        column, (low, high) = values[field.name], field.limits
        if column.size and not low <= column.min() <= column.max() <= high:
            yield int(np.argmax((column < low) | (column > high))), field


def _extract(words: Sequence[_Words], field: Field, values: Ints) -> None:
    """Write the field's value in each instruction to `values`."""
    word, shift = divmod(field.lsb, WORD_BITS)
    np.right_shift(words[word], np.uint64(shift), out=values.view(np.uint64))
    values &= (1 << field.width) - 1
    if field.signed:
        sign = 1 << (field.width - 1)
        values ^= sign
        values -= sign


def _lowest_bit(words: Sequence[_Words]) -> Ints:
    """One more than the number of the lowest bit that is set; 0 if there is none."""
    found = np.zeros(len(words[0]), dtype=np.int64)
    for number, bits in reversed(tuple(enumerate(words))):
        lowest = bits & (~bits + np.uint64(1))
        # frexp of a power of two is exact: 2**n is 0.5 * 2**(n + 1).
        exponent = np.frexp(lowest.astype(np.float64))[1]
        found = np.where(bits != 0, WORD_BITS * number + exponent, found)
    return found


def _packed(fields: Sequence[Field], values: Mapping[str, Ints], count: int, size: int) -> _Words:
    """`count` rows of `size` words that hold `values`, which must fit their fields."""
    words = np.zeros((size, count), dtype=np.uint64)
    for field in fields:
        word, shift = divmod(field.lsb, WORD_BITS)
        mask = np.uint64((1 << field.width) - 1)
        words[word] |= (values[field.name].astype(np.uint64) & mask) << np.uint64(shift)
    return words.T
