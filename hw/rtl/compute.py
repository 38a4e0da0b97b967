"""The compute unit: GEMM, ALU, and the LOADs of micro-ops and accumulators."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, memory_layout
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tandem.hw.rtl.accumulator import COMPUTE_MEMORIES, Accumulator
from tandem.hw.rtl.array import Array
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.delay import delay_line, delayed
from tandem.hw.rtl.gate import Gate
from tandem.hw.rtl.layouts import UnitStatus, queued_layout, view_of
from tandem.hw.rtl.load_dma import LoadDma, bases_layout
from tandem.hw.rtl.micro_ops import MicroOps
from tandem.hw.rtl.out_memory import OutMemory
from tandem.hw.rtl.pipeline import Pipeline
from tandem.hw.rtl.ports import ReadPort, TokenPort
from tandem.hw.rtl.requantiser import Requantisers
from tandem.hw.rtl.scratchpad import Scratchpad
from tandem.hw.storage import INDEX_BITS, storage_of
from tandem.hw.timing import out_delay
from tandem.hw.topology import MemoryId

END = data.StructLayout({"ends": 1, "push_prev": 1, "push_next": 1, "finishes": 1})
"""The end of an instruction: its tokens, and whether it is FINISH."""


class ComputeUnit(Block):
    """Executes the instructions of its queue in order.

    GEMM, ALU and REQUANTISE instructions enter the pipeline back to back; any other instruction
    starts when the pipeline is empty, and runs alone. An instruction's tokens are pushed in the
    cycle of its last write; where results are requantised, of its last write of OUT, which comes a
    constant time after that of ACC, so that other instructions may have started by then.

    Members
    -------
    queue, prev, next
        Instructions, and the tokens shared with load and with store.
    bases, port
        As in `LoadDma`.
    array_enable, inp_address, inp_data, wgt_address, wgt_data
        Read ports of INP and WGT, with a latency of one cycle.
    par_enable, par_address, par_data
        Read port of PAR, of machines with `Feature.REQUANTISE` only.
    out_enable, out_address, out_data
        Read port of OUT, for the store unit.
    halt
        Start no more instructions.
    finished
        FINISH has been executed.
    bad_index, bad_shift, fault_index
        As in `Pipeline`.
    status
        See `UnitStatus`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._requantises = Feature.REQUANTISE in config.features
        acc = config.index_bits(MemoryId.ACC)
        par = {
            "par_enable": Out(1),
            "par_address": Out(config.index_bits(MemoryId.PAR)),
            "par_data": In(8 * config.element_bytes(MemoryId.PAR)),
        }
        super().__init__(
            {
                **(par if self._requantises else {}),
                "queue": In(stream.Signature(queued_layout())),
                "prev": Out(TokenPort()),
                "next": Out(TokenPort()),
                "bases": In(bases_layout(config)),
                "port": Out(ReadPort(config)),
                "array_enable": Out(1),
                "inp_address": Out(config.index_bits(MemoryId.INP)),
                "inp_data": In(8 * config.element_bytes(MemoryId.INP)),
                "wgt_address": Out(config.index_bits(MemoryId.WGT)),
                "wgt_data": In(8 * config.element_bytes(MemoryId.WGT)),
                "out_enable": In(1),
                "out_address": In(acc),
                "out_data": Out(8 * config.acc_lanes),
                "halt": In(1),
                "finished": Out(1),
                "bad_index": Out(1),
                "bad_shift": Out(1),
                "fault_index": Out(INDEX_BITS),
                "status": Out(UnitStatus()),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.gate = gate = Gate(config)
        m.submodules.micro_ops = micro_ops = MicroOps(config)
        m.submodules.pipeline = pipeline = Pipeline(config)
        depth = storage_of(config)["compute_buffer"].depth
        m.submodules.dma = dma = LoadDma(config, COMPUTE_MEMORIES, depth=depth)
        wiring.connect(m, wiring.flipped(self.queue), gate.queue)
        wiring.connect(m, dma.port, wiring.flipped(self.port))
        self._datapath(m, micro_ops, pipeline, dma)

        loops = (Opcode.GEMM, Opcode.ALU) + (Opcode.REQUANTISE,) * self._requantises
        # Three kinds of instruction: GEMM, ALU and REQUANTISE, which use the pipeline; LOADs with
        # data, which use the DMA; and those without data (empty LOAD, FINISH), which take a cycle.
        head = data.View(view_of(memory_layout(config)), gate.word)
        is_loop = Signal()
        moves_data = Signal()
        alone = Signal()
        tokens_only = Signal()
        m.d.comb += [
            is_loop.eq(reduce(or_, (head.opcode == opcode for opcode in loops))),
            moves_data.eq((head.opcode == Opcode.LOAD) & (head.x_size != 0)),
            alone.eq(dma.active | tokens_only),
        ]
        with m.If(is_loop):
            m.d.comb += gate.ready.eq(~self.halt & ~alone & micro_ops.ready)
        with m.Else():
            m.d.comb += gate.ready.eq(~self.halt & ~alone & ~micro_ops.active & pipeline.empty)

        loop_index = Signal(INDEX_BITS, reset_less=True)
        index = Signal(INDEX_BITS, reset_less=True)
        push_prev = Signal()
        push_next = Signal()
        finishes = Signal()
        m.d.comb += [
            micro_ops.start.eq(gate.start & is_loop),
            micro_ops.word.eq(gate.word),
            micro_ops.stall.eq(pipeline.stall),
            dma.start.eq(gate.start & moves_data),
            dma.word.eq(head),
            dma.bases.eq(self.bases),
            pipeline.valid.eq(micro_ops.valid),
            pipeline.last.eq(micro_ops.last),
            pipeline.current.eq(micro_ops.current),
            pipeline.index.eq(loop_index),
            pipeline.halt.eq(self.halt),
        ]
        if self._requantises:
            m.d.comb += pipeline.mode.eq(micro_ops.mode)
        m.d.sync += tokens_only.eq(gate.start & ~is_loop & ~moves_data)
        with m.If(gate.start):
            m.d.sync += [
                index.eq(gate.index),
                push_prev.eq(head.push_prev),
                push_next.eq(head.push_next),
                finishes.eq(head.opcode == Opcode.FINISH),
            ]
        with m.If(micro_ops.start):
            m.d.sync += loop_index.eq(gate.index)

        # An instruction ends when OUT is written.
        end = Signal(END)
        ends_alone = Signal()
        delay = out_delay(config)
        line = delay_line(m, end, delay, "end", reset=True)
        end_index = Mux(ends_alone, index, pipeline.end_index)
        in_out_stages = reduce(or_, (each.ends for each in line[1:]), Const(0))
        seen = line[-1]
        with m.If(seen.finishes):
            m.d.sync += self.finished.eq(1)
        m.d.comb += [
            ends_alone.eq(tokens_only | dma.last),
            end.finishes.eq(tokens_only & finishes),
            end.ends.eq(ends_alone | pipeline.ends),
            end.push_prev.eq((ends_alone & push_prev) | pipeline.push_prev),
            end.push_next.eq((ends_alone & push_next) | pipeline.push_next),
            gate.prev.available.eq(self.prev.available),
            gate.next.available.eq(self.next.available),
            self.prev.pop.eq(gate.prev.pop),
            self.next.pop.eq(gate.next.pop),
            self.prev.push.eq(seen.push_prev),
            self.next.push.eq(seen.push_next),
            self.bad_index.eq(pipeline.bad_index),
            self.bad_shift.eq(pipeline.bad_shift),
            self.fault_index.eq(pipeline.fault_index),
        ]
        m.d.comb += [
            self.status.end_index.eq(delayed(m, end_index, delay, "end_index")),
            self.status.events.end.eq(seen.ends),
        ]
        in_loops = micro_ops.active | ~pipeline.empty
        self._report(m, gate, dma, in_loops | alone | in_out_stages, index)

    def _report(self, m: Module, gate: Gate, dma: LoadDma, under_way: Value, index: Signal) -> None:
        """Drive the status: only a unit without an instruction in progress waits for a token."""
        status = self.status
        m.d.comb += [
            status.busy.eq((under_way & ~dma.starved) | gate.start),
            status.memory.eq(dma.starved),
            status.token.eq(~under_way & (gate.waits != 0)),
            status.quiet.eq(~under_way & ~gate.start),
            status.active.eq(under_way | gate.valid),
            status.index.eq(index),
            status.waits.eq(gate.waits),
            status.events.start.eq(gate.start),
            status.events.pop_prev.eq(gate.prev.pop),
            status.events.pop_next.eq(gate.next.pop),
            status.events.push_prev.eq(self.prev.push),
            status.events.push_next.eq(self.next.push),
        ]
        with m.If(~under_way):
            m.d.comb += status.index.eq(gate.index)

    def _datapath(self, m: Module, micro_ops: MicroOps, pipeline: Pipeline, dma: LoadDma) -> None:
        """Add micro-op memory, accumulators and lanes, and connect them to the pipeline."""
        config = self._config
        m.submodules.uop_memory = uop = Scratchpad(
            bits=32, bank_bits=32, depth=config.depth(MemoryId.UOP)
        )
        m.submodules.accumulator = acc = Accumulator(config)
        m.submodules.array = array = Array(config)
        write = dma.write
        m.d.comb += [
            uop.write_enable.eq(write.valid & write.select[COMPUTE_MEMORIES.index(MemoryId.UOP)]),
            uop.write_address.eq(write.address),
            uop.read_enable.eq(micro_ops.valid),
            uop.read_address.eq(micro_ops.uop),
            pipeline.uop.eq(uop.read_data),
            pipeline.offsets.eq(micro_ops.offsets),
            self.array_enable.eq(pipeline.array_enable),
            self.inp_address.eq(pipeline.inp_address),
            self.wgt_address.eq(pipeline.wgt_address),
            array.inp.eq(self.inp_data),
            array.wgt.eq(self.wgt_data),
            array.control.eq(pipeline.control),
            array.enable.eq(pipeline.mac_enable),
            pipeline.shift_out_of_range.eq(array.shift_out_of_range),
            acc.dst_enable.eq(pipeline.dst_enable),
            acc.dst_address.eq(pipeline.dst_address),
            array.dst.eq(acc.dst_data),
            acc.src_enable.eq(pipeline.src_enable),
            acc.src_address.eq(pipeline.src_address),
            array.src.eq(acc.src_data),
            acc.write_enable.eq(pipeline.write_enable),
            acc.write_address.eq(pipeline.write_address),
            acc.write_data.eq(array.result),
        ]
        out = self._requantisers(m, pipeline, array, acc) if self._requantises else acc
        m.d.comb += [
            out.out_enable.eq(self.out_enable),
            out.out_address.eq(self.out_address),
            self.out_data.eq(out.out_data),
        ]
        if Feature.INPUT_OPERANDS in config.features:
            m.d.comb += array.operand.eq(pipeline.operand)
        else:
            m.d.comb += array.imm.eq(pipeline.imm)
        if config.acc_read_ports == 1:
            m.d.comb += array.hold.eq(pipeline.hold)
        if config.alu_operations:
            m.d.comb += array.custom.eq(pipeline.custom)
        with m.If(~write.pad):
            m.d.comb += uop.write_data.eq(write.data)
        wiring.connect(m, dma.write, acc.dma)

    def _requantisers(
        self, m: Module, pipeline: Pipeline, array: Array, acc: Accumulator
    ) -> OutMemory:
        """Add what is between the writes of ACC and those of OUT; returns OUT."""
        m.submodules.requantisers = requantisers = Requantisers(self._config)
        m.submodules.out_memory = out = OutMemory(self._config)
        m.d.comb += [
            self.par_enable.eq(pipeline.par_enable),
            self.par_address.eq(pipeline.par_address),
            requantisers.parameters.eq(self.par_data),
            requantisers.control.eq(pipeline.requantise),
            requantisers.result.eq(array.result),
            out.requantised.eq(pipeline.requantised),
            out.value.eq(requantisers.value),
            out.write.eq(acc.write),
            out.low.eq(acc.low),
        ]
        if AluOp.RESIDUAL in self._config.operations:
            m.d.comb += [
                array.scale.eq(pipeline.scale),
                requantisers.scaled.eq(array.scaled),
            ]
        return out
