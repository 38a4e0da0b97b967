"""Refuses illegal instructions before they reach a unit."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import (
    Opcode,
    alu_layout,
    gemm_layout,
    instruction_layout,
    memory_layout,
    opcodes_of,
)
from tandem.hw.faults import Fault
from tandem.hw.instruction_fields import ALU, MEMORY_BITS, OPCODE_BITS, PADDING, own_fields
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import INSTRUCTION_BITS, executed_by, view_of
from tandem.hw.timing import CHECK_STAGES
from tandem.hw.topology import MemoryId, Unit, flags_without_queue

FAULT_BITS = 6
EXTENT_BITS = 17
"""Bits of a padded row or column length: at most 65535 + 2 * 15."""


class Check(Block):
    """Four-stage pipeline that detects the faults visible in an instruction alone.

    Rules and priorities as in `hw.isa.validate`: of several faults the smallest code counts.

    Members
    -------
    word
        The instruction that enters.
    advance
        One bit per stage: the stage takes the word of the stage before it, stage 1 takes `word`.
    fault
        Fault of the word in stage 4, or `Fault.NONE`.
    illegal
        `fault` is a fault.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "word": In(INSTRUCTION_BITS),
                "advance": In(CHECK_STAGES),
                "fault": Out(FAULT_BITS),
                "illegal": Out(1),
            }
        )

    def build(self, m: Module) -> None:
        # Stage 1 holds the word, stage 2 the faults of single fields and rows and width of the
        # on-chip range, stage 3 the range's extent, stage 4 the result.
        word = Signal(INSTRUCTION_BITS, reset_less=True)
        move = data.View(view_of(memory_layout(self._config)), word)
        moves_data = Signal()
        early_2 = Signal(FAULT_BITS, reset_less=True)
        rows = Signal(EXTENT_BITS, reset_less=True)
        width = Signal(EXTENT_BITS, reset_less=True)
        base_2 = Signal(16, reset_less=True)
        limit_2 = Signal(17, reset_less=True)
        early_3 = Signal(FAULT_BITS, reset_less=True)
        extent = Signal(2 * EXTENT_BITS, reset_less=True)
        base_3 = Signal(16, reset_less=True)
        limit_3 = Signal(17, reset_less=True)
        beyond = Signal()
        fault = Signal(FAULT_BITS)
        m.d.comb += moves_data.eq(
            ((move.opcode == Opcode.LOAD) | (move.opcode == Opcode.STORE)) & (move.x_size != 0)
        )
        with m.If(self.advance[0]):
            m.d.sync += word.eq(self.word)
        with m.If(self.advance[1]):
            m.d.sync += [
                early_2.eq(self._from_fields(m, word)),
                rows.eq(Mux(moves_data, move.y_pad_0 + move.y_size + move.y_pad_1, 0)),
                width.eq(move.x_pad_0 + move.x_size + move.x_pad_1),
                base_2.eq(Mux(moves_data, move.sram_base, 0)),
                limit_2.eq(self._depth(m, move.memory_type)),
            ]
        with m.If(self.advance[2]):
            m.d.sync += [
                early_3.eq(early_2),
                extent.eq(rows * width),
                base_3.eq(base_2),
                limit_3.eq(limit_2),
            ]
        m.d.comb += [
            beyond.eq(base_3 + extent > limit_3),
            fault.eq(early_3),
        ]
        early_wins = (early_3 != Fault.NONE) & (early_3 < Fault.SRAM_RANGE)
        with m.If(beyond & ~early_wins):
            m.d.comb += fault.eq(Fault.SRAM_RANGE)
        with m.If(self.advance[3]):
            m.d.sync += [self.fault.eq(fault), self.illegal.eq(fault != Fault.NONE)]

    def _depth(self, m: Module, memory_type: Value) -> Value:
        depth = Signal(17, name="depth")
        *memories, last = self._config.memories
        # Of a switch with eight cases Yosys makes a memory, which is no Verilog of ours.
        every = len(memories) + 1 == 1 << MEMORY_BITS
        with m.Switch(memory_type):
            for memory in memories if every else self._config.memories:
                with m.Case(memory):
                    m.d.comb += depth.eq(self._config.depth(memory))
            with m.Default():
                m.d.comb += depth.eq(self._config.depth(last) if every else 0)
        return depth

    def _sets_unused(self, word: Value) -> Value:
        """Whether a bit is set that belongs to no field."""
        return reduce(
            or_,
            (
                (word[:OPCODE_BITS] == opcode)
                & (word & instruction_layout(self._config, opcode).unused).any()
                for opcode in opcodes_of(self._config)
            ),
        )

    def _beyond_features(self, alu: data.View) -> Value:
        """Whether an ALU instruction's operation, or its operand, is one that there is not."""
        config = self._config
        beyond = ~alu.alu_opcode.matches(*config.alu_opcodes)
        if config.without_second:
            beyond |= ~alu.use_imm & alu.alu_opcode.matches(*config.without_second)
        if config.without_immediate:
            beyond |= alu.use_imm & alu.alu_opcode.matches(*config.without_immediate)
        for spec in own_fields(ALU):
            if spec.on(config.features):
                if spec.excludes:
                    beyond |= alu[spec.name] & alu[spec.excludes]
                if forced := config.having(spec.forced_by):
                    opcode = reduce(or_, (alu.alu_opcode == op for op in forced))
                    beyond |= ~alu[spec.name] & opcode
        return beyond

    def _from_fields(self, m: Module, word: Value) -> Value:
        """The smallest fault code of all rules but `SRAM_RANGE`."""
        fault = Signal(FAULT_BITS, name="early")
        move = data.View(view_of(memory_layout(self._config)), word)
        loops = data.View(view_of(gemm_layout(self._config)), word)
        alu = data.View(view_of(alu_layout(self._config)), word)
        is_load = move.opcode == Opcode.LOAD
        is_store = move.opcode == Opcode.STORE
        is_alu = move.opcode == Opcode.ALU
        is_loop = (move.opcode == Opcode.GEMM) | is_alu
        unknown_memory = ~move.memory_type.matches(*self._config.memories)
        pads = Cat(move[spec.name] for spec in PADDING) != 0
        shift = (alu.alu_opcode == AluOp.SHR) & alu.use_imm
        shift_out_of_range = (alu.imm > MAX_SHIFT) | (alu.imm < -MAX_SHIFT)
        rules = {
            Fault.OPCODE: ~move.opcode.matches(*opcodes_of(self._config)),
            Fault.MEMORY_ID: (is_load | is_store) & unknown_memory,
            Fault.LOAD_OUT: is_load & (move.memory_type == MemoryId.OUT),
            Fault.STORE_MEMORY: is_store & (move.memory_type != MemoryId.OUT),
            Fault.STORE_PAD: is_store & (move.x_size != 0) & pads,
            Fault.NO_ROWS: (is_load | is_store) & (move.x_size != 0) & (move.y_size == 0),
            Fault.LOOP_COUNT: is_loop & ((loops.iter_out == 0) | (loops.iter_in == 0)),
            Fault.UOP_RANGE: is_loop
            & (
                (loops.uop_end <= loops.uop_bgn)
                | (loops.uop_end > self._config.depth(MemoryId.UOP))
            ),
            Fault.SHIFT: is_alu & shift & shift_out_of_range,
            Fault.TOKEN_FLAG: reduce(
                or_,
                (
                    executed_by(self._config, unit, move)
                    & reduce(or_, (move[flag] for flag in flags))
                    for unit in Unit
                    if (flags := flags_without_queue(unit))
                ),
            ),
            Fault.FEATURE: (is_alu & self._beyond_features(alu)) | self._sets_unused(word),
        }
        if MemoryId.WGT_CODES in self._config.memories:
            others = move.memory_type != MemoryId.WGT_CODES
            rules[Fault.FEATURE] |= is_load & others & (move.coding != 0)
        # The violated rule with the smallest fault code.
        first = m.If
        for number in sorted(rules):
            with first(rules[number]):
                m.d.comb += fault.eq(Const(number, FAULT_BITS))
            first = m.Elif
        return fault
