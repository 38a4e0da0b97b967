"""Issues the micro-ops of a GEMM's or ALU's loop nest, with the loop offsets of operands."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, alu_layout, gemm_layout, requantise_layout
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import REQUANTISE, own_fields
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import INSTRUCTION_BITS, shape_of, view_of
from tandem.hw.rtl.second_operand import not_from_acc
from tandem.hw.timing import custom_lead
from tandem.hw.topology import MemoryId


def offsets_layout(config: HardwareConfig) -> data.StructLayout:
    """Loop offsets, one bit wider than an index, so that an offset out of bounds is detected."""
    src = max(config.index_bits(MemoryId.INP), config.index_bits(MemoryId.ACC))
    requantises = Feature.REQUANTISE in config.features
    return data.StructLayout(
        {
            "dst": config.index_bits(MemoryId.ACC) + 1,
            "src": src + 1,
            "wgt": config.index_bits(MemoryId.WGT) + 1,
            **({"par": config.index_bits(MemoryId.PAR) + 1} if requantises else {}),
        }
    )


def mode_layout(config: HardwareConfig) -> data.StructLayout:
    """What a REQUANTISE says, for the micro-ops behind it."""
    fields = requantise_layout(config)
    return data.StructLayout(
        {spec.name: shape_of(fields[spec.name]) for spec in own_fields(REQUANTISE)}
    )


class MicroOps(Block):
    """Issues the loop nest `for outer, for inner, for micro-op`, one micro-op a cycle.

    An instruction of a custom operation leaves `custom_lead` cycles empty before its first
    micro-op.

    Where ACC has one read port, a micro-op with two operands from ACC is issued after an empty
    cycle, whose place in the pipeline serves to read the second operand.

    A REQUANTISE is issued like an instruction of a single micro-op. It changes the mode of those
    behind it.

    Members
    -------
    start, word
        A new instruction. Only while `ready`; its first micro-op, or the empty cycle before it,
        comes one cycle later.
    ready
        No instruction is in progress, or its last micro-op is issued in this cycle: instructions
        can follow each other without a gap.
    stall
        Issue nothing in this cycle.
    valid, uop, offsets, last
        A micro-op is issued: its index in the micro-op memory, its operands' loop offsets, and
        whether the micro-op is its instruction's last.
    current
        The instruction of the micro-op.
    active
        An instruction has micro-ops left to issue.
    mode
        From the cycle after a REQUANTISE was issued: what it says. Off at first, when everything
        but `active` is without effect: bytes lie within the limits. Only of machines with
        `Feature.REQUANTISE`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._requantises = Feature.REQUANTISE in config.features
        super().__init__(
            {
                **({"mode": Out(mode_layout(config))} if self._requantises else {}),
                "start": In(1),
                "word": In(INSTRUCTION_BITS),
                "ready": Out(1),
                "stall": In(1),
                "valid": Out(1),
                "uop": Out(config.index_bits(MemoryId.UOP)),
                "offsets": Out(offsets_layout(config)),
                "last": Out(1),
                "current": Out(INSTRUCTION_BITS),
                "active": Out(1),
            }
        )

    def build(self, m: Module) -> None:
        layout = offsets_layout(self._config)
        word = Signal(INSTRUCTION_BITS, reset_less=True)
        m.d.comb += self.current.eq(word)
        loops = data.View(view_of(gemm_layout(self._config)), word)
        alu = data.View(view_of(alu_layout(self._config)), word)
        is_alu = loops.opcode == Opcode.ALU

        # A loop's offset grows by its factor in each iteration; the inner loop's offset starts
        # at the outer loop's. An offset out of bounds is reported with the next micro-op that
        # uses the offset; no later micro-op has an effect.
        outer = Signal(layout, reset_less=True)
        inner = Signal(layout, reset_less=True)
        outer_factor = Signal(layout)
        inner_factor = Signal(layout)
        m.d.comb += [
            outer_factor.dst.eq(self._dst_factor(word, "dst_factor_out")),
            inner_factor.dst.eq(self._dst_factor(word, "dst_factor_in")),
            outer_factor.src.eq(Mux(is_alu, alu.src_factor_out, loops.src_factor_out)),
            inner_factor.src.eq(Mux(is_alu, alu.src_factor_in, loops.src_factor_in)),
            outer_factor.wgt.eq(loops.wgt_factor_out),
            inner_factor.wgt.eq(loops.wgt_factor_in),
        ]
        if self._requantises:
            mode = self._mode(m, word)
            m.d.comb += [
                outer_factor.par.eq(mode.par_factor_out),
                inner_factor.par.eq(mode.par_factor_in),
            ]

        # Whether a loop is in its last iteration is a register: it is found an iteration ahead.
        running = Signal()
        uop = Signal(self._config.index_bits(MemoryId.UOP) + 1, reset_less=True)
        outer_left = Signal(loops.iter_out.shape(), reset_less=True)
        inner_left = Signal(loops.iter_in.shape(), reset_less=True)
        single_uop = Signal(reset_less=True)
        kernel_ends = Signal(reset_less=True)
        inner_is_last = Signal(reset_less=True)
        outer_is_last = Signal(reset_less=True)
        inner_ends = Signal()
        nest_ends = Signal()
        m.d.comb += [
            inner_ends.eq(kernel_ends & inner_is_last),
            nest_ends.eq(inner_ends & outer_is_last),
            self.active.eq(running),
            self.uop.eq(uop),
            self.offsets.eq(inner),
            self.last.eq(nest_ends),
            self.ready.eq(~running | (self.valid & nest_ends)),
        ]
        may_issue = running & ~self.stall
        lead = custom_lead(self._config)
        if lead:
            # The slots ahead of the first micro-op of a custom operation.
            empty = Signal(range(lead + 1))
            may_issue &= empty == 0
            with m.If(~self.stall & (empty != 0)):
                m.d.sync += empty.eq(empty - 1)
            with m.If(self.start & self._is_custom(self.word)):
                m.d.sync += empty.eq(lead)
        if self._config.acc_read_ports == 1:
            # The second of the two cycles that a micro-op with two operands from ACC takes.
            second = Signal()
            m.d.comb += self.valid.eq(
                may_issue & (second | ~is_alu | not_from_acc(self._config, alu))
            )
            with m.If(~self.stall):
                m.d.sync += second.eq(running & ~self.valid & (empty == 0 if lead else 1))
        else:
            m.d.comb += self.valid.eq(may_issue)
        with m.If(self.valid):
            m.d.sync += [uop.eq(uop + 1), kernel_ends.eq(uop + 2 == loops.uop_end)]
            with m.If(kernel_ends):
                m.d.sync += [
                    uop.eq(loops.uop_bgn),
                    kernel_ends.eq(single_uop),
                    inner_left.eq(inner_left - 1),
                    inner_is_last.eq(inner_left == 2),
                ]
                for name in layout.members:
                    m.d.sync += inner[name].eq(inner[name] + inner_factor[name])
            with m.If(inner_ends):
                m.d.sync += [
                    inner_left.eq(loops.iter_in),
                    inner_is_last.eq(loops.iter_in == 1),
                    outer_left.eq(outer_left - 1),
                    outer_is_last.eq(outer_left == 2),
                ]
                for name in layout.members:
                    advanced = outer[name] + outer_factor[name]
                    m.d.sync += [outer[name].eq(advanced), inner[name].eq(advanced)]
            with m.If(nest_ends):
                m.d.sync += running.eq(0)
        with m.If(self.start):
            new = data.View(view_of(gemm_layout(self._config)), self.word)
            single = new.uop_bgn + 1 == new.uop_end
            m.d.sync += [
                running.eq(1),
                word.eq(self.word),
                uop.eq(new.uop_bgn),
                single_uop.eq(single),
                kernel_ends.eq(single),
                outer_left.eq(new.iter_out),
                outer_is_last.eq(new.iter_out == 1),
                inner_left.eq(new.iter_in),
                inner_is_last.eq(new.iter_in == 1),
                outer.eq(0),
                inner.eq(0),
            ]
            if self._requantises:
                with m.If(new.opcode == Opcode.REQUANTISE):
                    m.d.sync += [flag.eq(1) for flag in (kernel_ends, inner_is_last, outer_is_last)]

    def _dst_factor(self, word: Value, name: str) -> Value:
        """A factor, in the same place in GEMM and ALU unless one has a bit more before it."""
        layouts = gemm_layout(self._config), alu_layout(self._config)
        gemm, alu = (data.View(view_of(layout), word) for layout in layouts)
        if layouts[0][name] == layouts[1][name]:
            return gemm[name]
        return Mux(gemm.opcode == Opcode.ALU, alu[name], gemm[name])

    def _is_custom(self, word: Value) -> Value:
        """Whether an instruction has a custom operation."""
        alu = data.View(view_of(alu_layout(self._config)), word)
        custom = alu.alu_opcode.matches(*self._config.custom_operations)
        return (alu.opcode == Opcode.ALU) & custom

    def _mode(self, m: Module, word: Value) -> data.View:
        """Keep the fields of the last REQUANTISE; returns them."""
        fields = data.View(view_of(requantise_layout(self._config)), word)
        off = {spec.name: spec.default for spec in own_fields(REQUANTISE) if spec.default}
        mode = Signal(mode_layout(self._config), init=off)
        m.d.comb += self.mode.eq(mode)
        with m.If(self.valid & (fields.opcode == Opcode.REQUANTISE)):
            m.d.sync += [mode[name].eq(fields[name]) for name in mode.shape().members]
            with m.If(~fields.active):
                m.d.sync += [mode[name].eq(value) for name, value in off.items()]
        return mode
