"""Instructions and micro-ops as immutable values.

Attributes carry the names of the encoding's fields (`hw.encoding`), but for `memory`
(`memory_type`), `op` (`alu_opcode`) and `reset` (`reset_reg`). Every instruction that the
encoding can express is a value here, legal or not; `hw.isa.validate` checks legality.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypedDict, assert_never

from tandem.hw.codings import Coding
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.encoding import Opcode
from tandem.hw.routing import executing_unit
from tandem.hw.topology import MemoryId, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The dependence flags. `prev` and `next` are the units before and after the executing unit, in
    the order load, compute, store."""

    pop_prev: bool = False
    pop_next: bool = False
    push_prev: bool = False
    push_next: bool = False


NO_TOKENS = Tokens()


class GemmExtensions(TypedDict, total=False):
    """The flags of GEMM that extensions add, as options of `Assembler.gemm`."""

    overwrite: bool


class AluExtensions(TypedDict, total=False):
    """The flags of ALU that extensions add, as options of `Assembler.alu`."""

    from_inp: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Copy a rectangle of DRAM into an on-chip memory, with zeros around it.

    Bases, sizes and the stride count elements of `memory`; with `x_size` 0 only tokens act. Of
    WGT_CODES (`Feature.COMPRESSED_WEIGHTS`) `coding` says how they lie in DRAM, and the table that
    the last `Table`s have set what they are widened to; `dram_base` and `x_stride` count beats,
    from the base register of WGT.
    """

    memory: MemoryId
    sram_base: int
    dram_base: int
    y_size: int
    x_size: int
    x_stride: int
    y_pad_0: int = 0
    y_pad_1: int = 0
    x_pad_0: int = 0
    x_pad_1: int = 0
    coding: Coding = Coding.BITS_1
    tokens: Tokens = NO_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Copy the low 8 bits of accumulators to a rectangle of DRAM (`memory` OUT, no padding).

    Bases, sizes and the stride count elements of OUT; with `x_size` 0 only tokens act.
    """

    memory: MemoryId
    sram_base: int
    dram_base: int
    y_size: int
    x_size: int
    x_stride: int
    y_pad_0: int = 0
    y_pad_1: int = 0
    x_pad_0: int = 0
    x_pad_1: int = 0
    tokens: Tokens = NO_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Multiply-accumulate over micro-ops and two loops.

    With `reset`, clear accumulators and multiply nothing; otherwise, with `overwrite`
    (`Feature.OVERWRITE`), replace accumulators by products instead of adding to them.
    """

    reset: bool
    uop_bgn: int
    uop_end: int
    iter_out: int
    iter_in: int
    dst_factor_out: int
    dst_factor_in: int
    src_factor_out: int
    src_factor_in: int
    wgt_factor_out: int
    wgt_factor_in: int
    overwrite: bool = False
    tokens: Tokens = NO_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Alu:
    """`op` on accumulators and an immediate or other accumulators, over micro-ops and two loops.

    With `from_inp` (`Feature.INPUT_OPERANDS`) the second operand is an element of INP, its bytes
    sign-extended. `imm` holds the parameters of an operation that has some. `reset` is a bit of the
    encoding that the machine ignores.
    """

    op: AnyOperation
    use_imm: bool
    imm: int
    uop_bgn: int
    uop_end: int
    iter_out: int
    iter_in: int
    dst_factor_out: int
    dst_factor_in: int
    src_factor_out: int
    src_factor_in: int
    reset: bool = False
    from_inp: bool = False
    tokens: Tokens = NO_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Requantise:
    """How results become elements of OUT, from here to the next REQUANTISE (`Feature.REQUANTISE`).

    Not `active`, as at a launch: OUT gets the low byte of every result, and the other fields have
    no effect. Active: a result v of channel o becomes clip((v * M[o] + C[o] + k) >> S[o], low,
    high), where M, C and S are the channel's parameters in element `par_base` of PAR plus the loop
    iterations times their factors, and k is the second operand of `AluOp.RESIDUAL` times `scale`,
    else 0.
    """

    active: bool
    low: int = -128
    high: int = 127
    scale: int = 0
    par_base: int = 0
    par_factor_out: int = 0
    par_factor_in: int = 0
    tokens: Tokens = NO_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The end of the program."""

    tokens: Tokens = NO_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Half of the table by which LOADs of WGT_CODES, from here on, widen codes
    (`Feature.COMPRESSED_WEIGHTS`): eight int8 entries, four in each number, the first in the
    lowest byte. Load executes it, in order with its LOADs; the table stays from launch to launch.
    """

    upper_half: bool = False
    entries_low: int
    entries_high: int
    tokens: Tokens = NO_TOKENS

    @property
    def entries(self) -> tuple[int, ...]:
        """The eight entries."""
        words = self.entries_low | self.entries_high << 32
        return tuple((words >> 8 * at & 0xFF ^ 0x80) - 0x80 for at in range(8))


Instruction: TypeAlias = Load | Store | Gemm | Alu | Finish | Requantise | Table


@dataclass(frozen=True, slots=True)
class MicroOp:
    """One entry of the micro-op memory: element indices in ACC, in INP (or ACC, for an ALU
    instruction without `from_inp`) and in WGT."""

    dst: int
    src: int = 0
    wgt: int = 0


def unit_of(instruction: Instruction) -> Unit:
    """The unit that executes `instruction`."""
    memory = instruction.memory if isinstance(instruction, Load) else None
    return executing_unit(opcode_of(instruction), memory)


def opcode_of(instruction: Instruction) -> Opcode:
    """The opcode of `instruction`."""
    match instruction:
        case Load():
            return Opcode.LOAD
        case Store():
            return Opcode.STORE
        case Gemm():
            return Opcode.GEMM
        case Alu():
            return Opcode.ALU
        case Finish():
            return Opcode.FINISH
        case Requantise():
            return Opcode.REQUANTISE
        case Table():
            return Opcode.TABLE
        case _:
            assert_never(instruction)
