"""The instruction set as plain data: instructions, their encoding, rules and tools."""

from hw.encoding import Opcode
from hw.isa.assembler import Assembler, Loop, pack_uops
from hw.isa.codec import Codec, decode, decode_uop, encode, encode_uop
from hw.isa.column_codec import pack_uop_columns
from hw.isa.columns import Columns
from hw.isa.disasm import disassemble
from hw.isa.instructions import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Tokens,
    unit_of,
)
from hw.isa.program import Program
from hw.isa.validate import DramRanges, dram_ranges, validate
from hw.isa.work import Work, work_of, work_of_columns
from hw.operations import AluOp
from hw.topology import MemoryId, TokenQueue, Unit

__all__ = [
    "Alu",
    "AluOp",
    "Assembler",
    "Codec",
    "Columns",
    "DramRanges",
    "Finish",
    "Gemm",
    "Instruction",
    "Load",
    "Loop",
    "MemoryId",
    "MicroOp",
    "Opcode",
    "Program",
    "Requantise",
    "Store",
    "TokenQueue",
    "Tokens",
    "Unit",
    "Work",
    "decode",
    "decode_uop",
    "disassemble",
    "dram_ranges",
    "encode",
    "encode_uop",
    "pack_uop_columns",
    "pack_uops",
    "unit_of",
    "validate",
    "work_of",
    "work_of_columns",
]
