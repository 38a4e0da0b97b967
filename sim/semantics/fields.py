"""Instructions for compiled code: a row of int64 each, with the fields at fixed positions."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from hw.isa import Columns

InstructionFields = npt.NDArray[np.int64]
"""One instruction's fields, indexed by the constants below."""
ProgramTable = npt.NDArray[np.int64]
"""A program: a `InstructionFields` for each instruction."""

_NAMES = tuple(field.name for field in fields(Columns))

OPCODE = _NAMES.index("opcode")
POP_PREV = _NAMES.index("pop_prev")
POP_NEXT = _NAMES.index("pop_next")
PUSH_PREV = _NAMES.index("push_prev")
PUSH_NEXT = _NAMES.index("push_next")

MEMORY_TYPE = _NAMES.index("memory_type")
SRAM_BASE = _NAMES.index("sram_base")
DRAM_BASE = _NAMES.index("dram_base")
Y_SIZE = _NAMES.index("y_size")
X_SIZE = _NAMES.index("x_size")
X_STRIDE = _NAMES.index("x_stride")
Y_PAD_0 = _NAMES.index("y_pad_0")
Y_PAD_1 = _NAMES.index("y_pad_1")
X_PAD_0 = _NAMES.index("x_pad_0")
X_PAD_1 = _NAMES.index("x_pad_1")

OVERWRITE = _NAMES.index("overwrite")
RESET_REG = _NAMES.index("reset_reg")
UOP_BGN = _NAMES.index("uop_bgn")
UOP_END = _NAMES.index("uop_end")
ITER_OUT = _NAMES.index("iter_out")
ITER_IN = _NAMES.index("iter_in")
DST_FACTOR_OUT = _NAMES.index("dst_factor_out")
DST_FACTOR_IN = _NAMES.index("dst_factor_in")
SRC_FACTOR_OUT = _NAMES.index("src_factor_out")
SRC_FACTOR_IN = _NAMES.index("src_factor_in")
WGT_FACTOR_OUT = _NAMES.index("wgt_factor_out")
WGT_FACTOR_IN = _NAMES.index("wgt_factor_in")
ALU_OPCODE = _NAMES.index("alu_opcode")
USE_IMM = _NAMES.index("use_imm")
IMM = _NAMES.index("imm")
FROM_INP = _NAMES.index("from_inp")

ACTIVE = _NAMES.index("active")
LOW = _NAMES.index("low")
HIGH = _NAMES.index("high")
SCALE = _NAMES.index("scale")
PAR_BASE = _NAMES.index("par_base")
PAR_FACTOR_OUT = _NAMES.index("par_factor_out")
PAR_FACTOR_IN = _NAMES.index("par_factor_in")

FIELDS = len(_NAMES)
"""Length of a row."""


def make_table(columns: Columns) -> ProgramTable:
    """The table of a program."""
    return np.stack([getattr(columns, name) for name in _NAMES], axis=1)
