"""The fields of whole programs: a column for each field, by name or by number.

The fields are those of `hw.instruction_fields`. Columns have names, for NumPy; compiled code takes
a table with a row for each instruction instead, in which a field has a number.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tandem.hw.encoding import Opcode
from tandem.hw.instruction_fields import MEMORY_BITS, OPCODE_BITS
from tandem.hw.routing import executing_unit
from tandem.hw.topology import MemoryId

Ints = npt.NDArray[np.int64]
InstructionFields = npt.NDArray[np.int64]
"""One instruction's fields, indexed by the constants below."""
ProgramTable = npt.NDArray[np.int64]
"""A program: a row of `InstructionFields` for each instruction."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of every instruction, as int64 arrays by position in the program.

    Names are those of `hw.encoding`. A field that an instruction's layout lacks is 0; an
    instruction with an illegal opcode has its opcode and its dependence flags only. `unused` is one
    more than the number of the lowest bit that is set and belongs to no field of the layout; 0 if
    no such bit is set.
    """

    opcode: Ints
    pop_prev: Ints
    pop_next: Ints
    push_prev: Ints
    push_next: Ints
    memory_type: Ints
    sram_base: Ints
    dram_base: Ints
    coding: Ints
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
    overwrite: Ints
    dst_factor_out: Ints
    dst_factor_in: Ints
    src_factor_out: Ints
    src_factor_in: Ints
    wgt_factor_out: Ints
    wgt_factor_in: Ints
    alu_opcode: Ints
    use_imm: Ints
    imm: Ints
    from_inp: Ints
    active: Ints
    low: Ints
    high: Ints
    scale: Ints
    par_base: Ints
    par_factor_out: Ints
    par_factor_in: Ints
    upper_half: Ints
    entries_low: Ints
    entries_high: Ints
    unused: Ints

    def __getitem__(self, number: int) -> Ints:
        """The column of the field with a number, one of the constants below."""
        column: Ints = getattr(self, FIELD_NAMES[number])
        return column

    def row(self, position: int) -> InstructionFields:
        """The fields of one instruction."""
        return np.array([self[number][position] for number in range(FIELDS)], np.int64)


FIELD_NAMES = tuple(field.name for field in fields(Columns))
"""The names of all fields: a field's number is its place."""

OPCODE = FIELD_NAMES.index("opcode")
POP_PREV = FIELD_NAMES.index("pop_prev")
POP_NEXT = FIELD_NAMES.index("pop_next")
PUSH_PREV = FIELD_NAMES.index("push_prev")
PUSH_NEXT = FIELD_NAMES.index("push_next")

MEMORY_TYPE = FIELD_NAMES.index("memory_type")
SRAM_BASE = FIELD_NAMES.index("sram_base")
DRAM_BASE = FIELD_NAMES.index("dram_base")
CODING = FIELD_NAMES.index("coding")
Y_SIZE = FIELD_NAMES.index("y_size")
X_SIZE = FIELD_NAMES.index("x_size")
X_STRIDE = FIELD_NAMES.index("x_stride")
Y_PAD_0 = FIELD_NAMES.index("y_pad_0")
Y_PAD_1 = FIELD_NAMES.index("y_pad_1")
X_PAD_0 = FIELD_NAMES.index("x_pad_0")
X_PAD_1 = FIELD_NAMES.index("x_pad_1")

OVERWRITE = FIELD_NAMES.index("overwrite")
RESET_REG = FIELD_NAMES.index("reset_reg")
UOP_BGN = FIELD_NAMES.index("uop_bgn")
UOP_END = FIELD_NAMES.index("uop_end")
ITER_OUT = FIELD_NAMES.index("iter_out")
ITER_IN = FIELD_NAMES.index("iter_in")
DST_FACTOR_OUT = FIELD_NAMES.index("dst_factor_out")
DST_FACTOR_IN = FIELD_NAMES.index("dst_factor_in")
SRC_FACTOR_OUT = FIELD_NAMES.index("src_factor_out")
SRC_FACTOR_IN = FIELD_NAMES.index("src_factor_in")
WGT_FACTOR_OUT = FIELD_NAMES.index("wgt_factor_out")
WGT_FACTOR_IN = FIELD_NAMES.index("wgt_factor_in")
ALU_OPCODE = FIELD_NAMES.index("alu_opcode")
USE_IMM = FIELD_NAMES.index("use_imm")
IMM = FIELD_NAMES.index("imm")
FROM_INP = FIELD_NAMES.index("from_inp")

ACTIVE = FIELD_NAMES.index("active")
LOW = FIELD_NAMES.index("low")
HIGH = FIELD_NAMES.index("high")
SCALE = FIELD_NAMES.index("scale")
PAR_BASE = FIELD_NAMES.index("par_base")
PAR_FACTOR_OUT = FIELD_NAMES.index("par_factor_out")
PAR_FACTOR_IN = FIELD_NAMES.index("par_factor_in")

UPPER_HALF = FIELD_NAMES.index("upper_half")
ENTRIES_LOW = FIELD_NAMES.index("entries_low")
ENTRIES_HIGH = FIELD_NAMES.index("entries_high")

FIELDS = len(FIELD_NAMES)
"""Length of a row."""


def make_table(columns: Columns) -> ProgramTable:
    """The table of a program."""
    return np.stack([getattr(columns, name) for name in FIELD_NAMES], axis=1)


def units_of(columns: Columns) -> npt.NDArray[np.int8]:
    """The unit that executes each instruction; -1 where the opcode is illegal."""
    return _ROUTES.take(columns.opcode * (1 << MEMORY_BITS) + columns.memory_type)


def _routes() -> npt.NDArray[np.int8]:
    """`executing_unit` by the values of the fields opcode and memory_type; -1: illegal opcode."""
    routes = np.full((1 << OPCODE_BITS, 1 << MEMORY_BITS), -1, dtype=np.int8)
    for opcode in Opcode:
        routes[opcode] = executing_unit(opcode)
        for memory in MemoryId:
            routes[opcode, memory] = executing_unit(opcode, memory)
    return routes


_ROUTES = _routes()
