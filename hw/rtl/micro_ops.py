"""Walks a GEMM's or ALU's loops, a micro-op at a time, with the offsets of its operands."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.encoding import Opcode, alu_layout, gemm_layout
from hw.rtl.block import Block
from hw.rtl.layouts import INSTRUCTION_BITS, view_of
from hw.topology import MemoryId

__all__ = ["MicroOps", "offsets_layout"]


def offsets_layout(config: HardwareConfig) -> data.StructLayout:
    """Loop offsets, one bit wider than an index, which shows the first that is out of bounds."""
    src = max(config.index_bits(MemoryId.INP), config.index_bits(MemoryId.ACC))
    return data.StructLayout(
        {
            "dst": config.index_bits(MemoryId.ACC) + 1,
            "src": src + 1,
            "wgt": config.index_bits(MemoryId.WGT) + 1,
        }
    )


class MicroOps(Block):
    """The loop nest `for outer, for inner, for micro-op`, innermost fastest, one a cycle.

    Where ACC has one read port, each micro-op with two operands from it comes after an empty cycle,
    in which the pipeline reads the first of them.

    Members
    -------
    start, word
        A new instruction. Only while `ready`; its first micro-op, or the empty cycle before it,
        comes one cycle later.
    ready
        Nothing goes out in this cycle, or the last micro-op does: two instructions can follow
        each other without a gap.
    valid, uop, offsets, last
        A micro-op goes out: its place in the micro-op memory, its operands' loop offsets, and
        whether it is its instruction's last.
    current
        The instruction it belongs to.
    active
        An instruction is under way: micro-ops go out, or will.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "word": In(INSTRUCTION_BITS),
                "ready": Out(1),
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

        # A loop's offset grows by its factor each time round; the inner loop begins where the
        # outer one stands. An offset out of bounds is reported with the next micro-op that
        # uses the offset; no later micro-op has an effect.
        outer = Signal(layout, reset_less=True)
        inner = Signal(layout, reset_less=True)
        outer_factor = Signal(layout)
        inner_factor = Signal(layout)
        m.d.comb += [
            outer_factor.dst.eq(loops.dst_factor_out),
            inner_factor.dst.eq(loops.dst_factor_in),
            outer_factor.src.eq(Mux(is_alu, alu.src_factor_out, loops.src_factor_out)),
            inner_factor.src.eq(Mux(is_alu, alu.src_factor_in, loops.src_factor_in)),
            outer_factor.wgt.eq(loops.wgt_factor_out),
            inner_factor.wgt.eq(loops.wgt_factor_in),
        ]

        running = Signal()
        uop = Signal(self._config.index_bits(MemoryId.UOP) + 1, reset_less=True)
        outer_left = Signal(loops.iter_out.shape(), reset_less=True)
        inner_left = Signal(loops.iter_in.shape(), reset_less=True)
        kernel_ends = Signal()
        inner_ends = Signal()
        nest_ends = Signal()
        m.d.comb += [
            kernel_ends.eq(uop + 1 == loops.uop_end),
            inner_ends.eq(kernel_ends & (inner_left == 1)),
            nest_ends.eq(inner_ends & (outer_left == 1)),
            self.active.eq(running),
            self.uop.eq(uop),
            self.offsets.eq(inner),
            self.last.eq(nest_ends),
            self.ready.eq(~running | (self.valid & nest_ends)),
        ]
        if self._config.acc_read_ports == 1:
            # The second of the two cycles that a micro-op with two operands from ACC takes.
            second = Signal()
            m.d.comb += self.valid.eq(running & (second | ~is_alu | alu.use_imm))
            m.d.sync += second.eq(running & ~self.valid)
        else:
            m.d.comb += self.valid.eq(running)
        with m.If(self.valid):
            m.d.sync += uop.eq(uop + 1)
            with m.If(kernel_ends):
                m.d.sync += [uop.eq(loops.uop_bgn), inner_left.eq(inner_left - 1)]
                for name in layout.members:
                    m.d.sync += inner[name].eq(inner[name] + inner_factor[name])
            with m.If(inner_ends):
                m.d.sync += [inner_left.eq(loops.iter_in), outer_left.eq(outer_left - 1)]
                for name in layout.members:
                    advanced = outer[name] + outer_factor[name]
                    m.d.sync += [outer[name].eq(advanced), inner[name].eq(advanced)]
            with m.If(nest_ends):
                m.d.sync += running.eq(0)
        with m.If(self.start):
            new = data.View(view_of(gemm_layout(self._config)), self.word)
            m.d.sync += [
                running.eq(1),
                word.eq(self.word),
                uop.eq(new.uop_bgn),
                outer_left.eq(new.iter_out),
                inner_left.eq(new.iter_in),
                outer.eq(0),
                inner.eq(0),
            ]
