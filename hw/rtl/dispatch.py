"""Dispatches instructions to the queues of the three units, in program order."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, memory_layout
from tandem.hw.faults import Fault
from tandem.hw.registers import NO_INSTRUCTION
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.check import FAULT_BITS, Check
from tandem.hw.rtl.layouts import INSTRUCTION_BITS, executed_by, queued_layout, view_of
from tandem.hw.storage import INDEX_BITS
from tandem.hw.timing import CHECK_STAGES
from tandem.hw.topology import Unit


class Dispatch(Block):
    """Checks and dispatches one instruction a cycle; a full queue blocks later instructions.

    Members
    -------
    start, count
        A new program of `count` instructions.
    instruction
        Instruction words, in program order.
    load, compute, store
        To the units' instruction queues.
    fault, fault_index
        Fault of a refused instruction, or `Fault.NONE`, and the instruction's index.
    exhausted
        No instruction is left to dispatch.
    stuck
        No instruction is left to dispatch, or the head is blocked or illegal.
    fetched, dispatched
        An instruction becomes ready for dispatch; an instruction enters its unit's queue.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        queued = stream.Signature(queued_layout())
        super().__init__(
            {
                "start": In(1),
                "count": In(INDEX_BITS),
                "instruction": In(stream.Signature(INSTRUCTION_BITS)),
                "load": Out(queued),
                "compute": Out(queued),
                "store": Out(queued),
                "fault": Out(FAULT_BITS),
                "fault_index": Out(INDEX_BITS),
                "exhausted": Out(1),
                "stuck": Out(1),
                "fetched": Out(1),
                "dispatched": Out(1),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.check = check = Check(self._config)
        # Words pass through the stages of `Check`. The head is in the last stage; while it is
        # blocked or illegal, the words behind it move up until no stage before them is empty.
        valid = Signal(CHECK_STAGES)
        words = [
            Signal(INSTRUCTION_BITS, name=f"word_{stage}", reset_less=True)
            for stage in range(CHECK_STAGES)
        ]
        head = data.View(view_of(memory_layout(self._config)), words[-1])
        advance = Signal(CHECK_STAGES)
        blocked = Signal()
        arrived = Signal()
        m.d.sync += arrived.eq(advance[-1])
        m.d.comb += [
            advance.eq(Cat(~(valid[stage:].all() & blocked) for stage in range(CHECK_STAGES))),
            check.advance.eq(advance),
            check.word.eq(self.instruction.payload),
            self.instruction.ready.eq(advance[0]),
        ]
        sources = [(self.instruction.valid, self.instruction.payload)]
        sources += [(valid[stage], words[stage]) for stage in range(CHECK_STAGES - 1)]
        for stage, (source_valid, source) in enumerate(sources):
            with m.If(advance[stage]):
                m.d.sync += [valid[stage].eq(source_valid), words[stage].eq(source)]

        # `is_last`, `exhausted`: one instruction is left to dispatch, none.
        index = Signal(INDEX_BITS)
        left = Signal(INDEX_BITS)
        is_last = Signal()
        exhausted = Signal(init=1)
        finished = Signal()
        is_finish = Signal()
        no_finish = Signal()
        legal = Signal()
        m.d.comb += [
            is_finish.eq(head.opcode == Opcode.FINISH),
            no_finish.eq(is_last & ~is_finish),
            legal.eq(~(check.illegal | finished | no_finish)),
        ]
        with m.If(valid[-1]):
            m.d.comb += [self.fault.eq(check.fault), self.fault_index.eq(index)]
            with m.If(finished & ~check.illegal):
                m.d.comb += self.fault.eq(Fault.AFTER_FINISH)
            with m.Elif(no_finish & ~check.illegal):
                m.d.comb += [
                    self.fault.eq(Fault.NO_FINISH),
                    self.fault_index.eq(NO_INSTRUCTION),
                ]

        full = self._route(m, words, advance[-1], index, valid[-1] & legal)
        m.d.comb += [
            blocked.eq(valid[-1] & (~legal | full)),
            self.exhausted.eq(exhausted),
            self.stuck.eq(exhausted | blocked),
            self.fetched.eq(valid[-1] & arrived),
            self.dispatched.eq(valid[-1] & legal & ~full),
        ]
        with m.If(self.dispatched):
            m.d.sync += [
                index.eq(index + 1),
                left.eq(left - 1),
                is_last.eq(left == 2),
                exhausted.eq(is_last),
            ]
            with m.If(is_finish):
                m.d.sync += finished.eq(1)
        with m.If(self.start):
            m.d.sync += [
                index.eq(0),
                left.eq(self.count),
                is_last.eq(self.count == 1),
                exhausted.eq(0),
                finished.eq(0),
            ]

    def _route(
        self, m: Module, words: list[Signal], advance: Value, index: Signal, go: Value
    ) -> Value:
        """Offer the head, if `go`, to the queue of the unit that executes it.

        Returns whether that queue is full.
        """
        ahead = data.View(view_of(memory_layout(self._config)), words[-2])
        chosen = Signal(len(Unit))
        with m.If(advance):
            with m.If(executed_by(self._config, Unit.STORE, ahead)):
                m.d.sync += chosen.eq(1 << Unit.STORE)
            with m.Elif(executed_by(self._config, Unit.LOAD, ahead)):
                m.d.sync += chosen.eq(1 << Unit.LOAD)
            with m.Else():
                m.d.sync += chosen.eq(1 << Unit.COMPUTE)
        targets = (self.load, self.compute, self.store)
        for number, target in enumerate(targets):
            m.d.comb += [
                target.valid.eq(go & chosen[number]),
                target.payload.word.eq(words[-1]),
                target.payload.index.eq(index),
            ]
        return Cat(chosen[n] & ~target.ready for n, target in enumerate(targets)).any()
