"""The instruction set as plain data: instructions, their encoding, rules and tools."""

from tandem.hw.codings import Coding
from tandem.hw.encoding import Opcode
from tandem.hw.isa.assembler import Assembler, Loop, pack_uops
from tandem.hw.isa.codec import Codec, decode, decode_uop, encode, encode_uop
from tandem.hw.isa.column_codec import pack_uop_columns
from tandem.hw.isa.columns import Columns
from tandem.hw.isa.disasm import disassemble
from tandem.hw.isa.instructions import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
    unit_of,
)
from tandem.hw.isa.program import Program
from tandem.hw.isa.validate import DramRanges, dram_ranges, validate
from tandem.hw.isa.work import Work, work_of, work_of_columns
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId, TokenQueue, Unit

__all__ = [
    "Alu",
    "AluOp",
    "Assembler",
    "Codec",
    "Coding",
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
    "Table",
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
