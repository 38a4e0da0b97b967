"""A whole program decoded at once, one NumPy array a field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.encoding import (
    INSTRUCTION_BYTES,
    Field,
    Opcode,
    WordLayout,
    alu_layout,
    gemm_layout,
    memory_layout,
)
from hw.memories import MemoryId, Module

__all__ = ["Columns", "Ints", "decode_columns", "route"]

Ints = npt.NDArray[np.int64]
_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of every instruction, as int64 arrays by position in the program.

    Names are those of `hw.encoding`. A field that an instruction's kind does not have is 0 there;
    an instruction with an illegal opcode has its opcode and its dependence flags only.
    """

    opcode: Ints
    pop_prev: Ints
    pop_next: Ints
    push_prev: Ints
    push_next: Ints
    memory_type: Ints
    sram_base: Ints
    dram_base: Ints
    y_size: Ints
    x_size: Ints
    x_stride: Ints
    y_pad_0: Ints
    y_pad_1: Ints
    x_pad_0: Ints
    x_pad_1: Ints
    reset_reg: Ints
    uop_bgn: Ints
    uop_end: Ints
    iter_out: Ints
    iter_in: Ints
    dst_factor_out: Ints
    dst_factor_in: Ints
    src_factor_out: Ints
    src_factor_in: Ints
    wgt_factor_out: Ints
    wgt_factor_in: Ints
    alu_opcode: Ints
    use_imm: Ints
    imm: Ints


_HEADER = frozenset({"opcode", "pop_prev", "pop_next", "push_prev", "push_next"})


def decode_columns(config: HardwareConfig, data: bytes) -> Columns:
    """Decode the instructions in `data`, a multiple of 16 bytes. Legality is not looked at."""
    words = np.frombuffer(data, dtype="<u8").reshape(-1, INSTRUCTION_BYTES * 8 // _WORD_BITS)
    halves = [np.ascontiguousarray(words[:, column]) for column in range(words.shape[1])]
    opcode = (halves[0] & np.uint64(7)).astype(np.int64)
    kinds = (
        (memory_layout(config), (Opcode.LOAD, Opcode.STORE)),
        (gemm_layout(config), (Opcode.GEMM,)),
        (alu_layout(config), (Opcode.ALU,)),
    )
    columns: dict[str, Ints] = {"opcode": opcode}
    for name in _HEADER - {"opcode"}:
        columns[name] = _extract(halves, kinds[0][0][name])
    for layout, opcodes in kinds:
        rows = _rows(opcode, opcodes)
        _decode_kind(columns, halves, layout, rows)
    return Columns(**{field.name: columns[field.name] for field in fields(Columns)})


def route(columns: Columns) -> npt.NDArray[np.int8]:
    """The `Module` that executes each instruction; -1 where the opcode is illegal."""
    modules = np.full(len(columns.opcode), Module.COMPUTE, dtype=np.int8)
    loads = columns.opcode == Opcode.LOAD
    memory = columns.memory_type
    modules[loads & ((memory == MemoryId.INP) | (memory == MemoryId.WGT))] = Module.LOAD
    modules[columns.opcode == Opcode.STORE] = Module.STORE
    modules[columns.opcode > max(Opcode)] = -1
    return modules


def _rows(opcode: Ints, opcodes: Iterable[Opcode]) -> Ints:
    mask = np.zeros(len(opcode), dtype=bool)
    for kind in opcodes:
        mask |= opcode == kind
    return np.flatnonzero(mask)


def _decode_kind(
    columns: dict[str, Ints],
    halves: list[npt.NDArray[np.uint64]],
    layout: WordLayout,
    rows: Ints,
) -> None:
    """Fill in the fields of `layout` for the instructions `rows`, which are all of its kind."""
    chosen = [half[rows] for half in halves]
    for field in layout:
        if field.name not in _HEADER:
            column = columns.setdefault(field.name, np.zeros(len(halves[0]), dtype=np.int64))
            column[rows] = _extract(chosen, field)


def _extract(halves: list[npt.NDArray[np.uint64]], field: Field) -> Ints:
    half, shift = divmod(field.lsb, _WORD_BITS)
    mask = np.uint64((1 << field.width) - 1)
    values = (halves[half] >> np.uint64(shift) & mask).astype(np.int64)
    if field.signed:
        sign = 1 << (field.width - 1)
        values = (values ^ sign) - sign
    return values
