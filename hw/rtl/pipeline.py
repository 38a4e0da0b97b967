"""Control of the pipeline that GEMM and ALU share, from a micro-op's issue to its write."""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, alu_layout, gemm_layout, uop_layout
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import OPCODE_BITS
from tandem.hw.operations import AluOp
from tandem.hw.rtl.alu import WIDTH
from tandem.hw.rtl.array import operand_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.custom_units import source_of
from tandem.hw.rtl.delay import delay_line, delayed
from tandem.hw.rtl.lane import LaneControl, Scale, custom_port, hold_port
from tandem.hw.rtl.layouts import INSTRUCTION_BITS, shape_of, view_of
from tandem.hw.rtl.micro_ops import mode_layout, offsets_layout
from tandem.hw.rtl.requantiser import RequantiseControl
from tandem.hw.rtl.second_operand import not_from_acc, takes_input
from tandem.hw.rtl.stalls import needs_stall
from tandem.hw.storage import INDEX_BITS
from tandem.hw.timing import (
    OUT_STAGES,
    STALL_STAGE,
    custom_lead,
    pipeline_stages,
    tree_levels,
)
from tandem.hw.topology import MemoryId

_MODE_FIELDS = ("active", "low", "high", "scale")
"""What a micro-op takes along of its mode, beside its index of PAR."""


class _MicroOp(NamedTuple):
    """A micro-op in the pipeline: its fields, and whether it is there."""

    flow: data.View
    valid: Value


class Pipeline(Block):
    """Carries micro-ops from issue to write, one a cycle, in a constant number of stages.

    Stages, counted from the issue: 1 loop offsets are added to the micro-op's fields; 2 indices
    are checked, INP and WGT are read; 3 their elements are registered; 4 products; then one stage
    for each level of the adder tree; execution; the write. In the three stages before execution ACC
    is read, operands are gathered, and the ALU's MUL and SHR begin. GEMM and ALU have the same
    stages: hence results are written in order, and one forwarding rule serves both.

    A custom operation does what it does up to the gathering of its operands `custom_lead` stages
    earlier. No other micro-op is in the stages for that then: `MicroOps` leaves slots empty.

    The lanes forward a result to the micro-op behind it only as the first operand of a sum or a
    comparison. A micro-op that uses another's result otherwise stays in stage 3 until the other is
    `FORWARD_DISTANCE` ahead, and so does everything behind it.

    Where ACC has one read port, a micro-op's second operand is read a stage before the first, in
    the empty cycle that `MicroOps` leaves ahead of the micro-op, and held.

    A REQUANTISE passes through the stages as an empty slot that ends an instruction. A micro-op
    takes the mode along from stage 1 on.

    Members
    -------
    valid, offsets, last, current, index
        The micro-op that is issued, as in `MicroOps`, and its instruction.
    mode
        As in `MicroOps`, in the cycle after the issue.
    stall
        The first stages do not move: issue nothing in this cycle.
    uop
        The micro-op's fields, read in the cycle of the issue, valid one cycle later.
    halt
        Accept no more micro-ops.
    array_enable, inp_address, wgt_address
        Reads of INP and WGT.
    dst_enable, dst_address, src_enable, src_address
        Reads of ACC.
    mac_enable, control, hold, shift_out_of_range
        To and from the lanes.
    write_enable, write_address
        The result goes to ACC.
    ends, end_index, push_prev, push_next
        An instruction has completed with this write; its index and its tokens.
    imm, operand
        As in `Array`.
    par_enable, par_address, requantise
        Reads of PAR, three stages ahead of the write; as in `Requantisers`.
    requantised
        As in `OutMemory`.
    scale
        As in `Lane`. Only with residuals.
    custom
        As in `Lane`. Only with custom operations.
    empty
        No micro-op is in a stage after its issue.
    bad_index, bad_shift, fault_index
        A micro-op is refused; the index of its instruction.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._stages = pipeline_stages(config)
        self._input_operands = Feature.INPUT_OPERANDS in config.features
        self._requantises = Feature.REQUANTISE in config.features
        self._residuals = AluOp.RESIDUAL in config.operations
        acc = config.index_bits(MemoryId.ACC)
        super().__init__(
            {
                **hold_port(Out, config.acc_read_ports),
                **self._feature_ports(),
                **custom_port(Out, config),
                "valid": In(1),
                "offsets": In(offsets_layout(config)),
                "last": In(1),
                "current": In(INSTRUCTION_BITS),
                "index": In(INDEX_BITS),
                "uop": In(view_of(uop_layout(config))),
                "halt": In(1),
                "stall": Out(1),
                "array_enable": Out(1),
                "inp_address": Out(config.index_bits(MemoryId.INP)),
                "wgt_address": Out(config.index_bits(MemoryId.WGT)),
                "dst_enable": Out(1),
                "dst_address": Out(acc),
                "src_enable": Out(1),
                "src_address": Out(acc),
                "mac_enable": Out(1 + tree_levels(config.block_in)),
                "control": Out(LaneControl),
                "shift_out_of_range": In(1),
                "write_enable": Out(1),
                "write_address": Out(acc),
                "ends": Out(1),
                "end_index": Out(INDEX_BITS),
                "push_prev": Out(1),
                "push_next": Out(1),
                "empty": Out(1),
                "bad_index": Out(1),
                "bad_shift": Out(1),
                "fault_index": Out(INDEX_BITS),
            }
        )

    def _feature_ports(self) -> dict[str, Member]:
        config = self._config
        ports: dict[str, Member] = {}
        if self._input_operands:
            ports["operand"] = Out(operand_layout(config))
        else:
            ports["imm"] = Out(signed(WIDTH))
        if self._requantises:
            ports |= {
                "mode": In(mode_layout(config)),
                "par_enable": Out(1),
                "par_address": Out(config.index_bits(MemoryId.PAR)),
                "requantise": Out(RequantiseControl),
                "requantised": Out(1),
            }
        if self._residuals:
            ports["scale"] = Out(Scale)
        return ports

    def _flow(self) -> data.StructLayout:
        """Layout of a stage's register: the fields of one micro-op."""
        config = self._config
        offsets, alu = offsets_layout(config), alu_layout(config)
        added: dict[str, object] = {"second_inp": 1} if self._input_operands else {}
        if config.alu_operations:
            added["custom"] = 1
        return data.StructLayout(
            {
                "gemm": 1,
                "reset": 1,
                "clears": 1,
                "second_acc": 1,
                "op": shape_of(alu["alu_opcode"]),
                "imm": shape_of(alu["imm"]),
                "dst": offsets["dst"].width + 1,
                "src": offsets["src"].width + 1,
                "wgt": offsets["wgt"].width + 1,
                "last": 1,
                "push_prev": 1,
                "push_next": 1,
                "index": INDEX_BITS,
                **added,
            }
        )

    def _mode_flow(self) -> data.StructLayout:
        """Layout of a stage's other register: what the micro-op takes along of its mode.

        These are no fields of `_flow`: a simulator moves two narrow words faster than a wide one.
        """
        if not self._requantises:
            return data.StructLayout({})
        mode = mode_layout(self._config)
        fields: dict[str, object] = {name: mode[name].shape for name in _MODE_FIELDS}
        return data.StructLayout({**fields, "par": offsets_layout(self._config)["par"].width + 1})

    def build(self, m: Module) -> None:
        levels = tree_levels(self._config.block_in)
        indices, inputs, elements, products, read, gather, _, execute, write = self._stages
        flow = self._flow()
        # flows[n] is the micro-op in stage n; in flows[1], dst, src and wgt are loop offsets only.
        flows = [Signal(flow, name=f"stage_{stage}", reset_less=True) for stage in range(write + 1)]
        kept = self._mode_flow()
        modes = [Signal(kept, name=f"mode_{stage}", reset_less=True) for stage in range(write + 1)]
        later = Signal(write)
        micro_op = self._accepts()
        if self._requantises:
            micro_op &= ~self._is_requantise()
        valid = Cat(micro_op, later)
        refused = Signal(write)
        m.d.comb += [
            refused[indices].eq(self._out_of_bounds(flows[indices], modes[indices])),
            refused[execute].eq(self._shifts(flows[execute]) & self.shift_out_of_range),
            self.bad_index.eq(valid[indices] & refused[indices]),
            self.bad_shift.eq(valid[execute] & refused[execute]),
            self.fault_index.eq(Mux(self.bad_shift, flows[execute].index, flows[indices].index)),
            self.empty.eq(later == 0),
        ]
        self._advance(m, later, valid[:write] & ~refused)
        m.d.sync += self.stall.eq(needs_stall(self._config, self.stall, flows, valid))
        with m.If(~self.stall):
            self._first_stages(m, flows, modes)
            m.d.sync += [
                flows[STALL_STAGE].eq(flows[STALL_STAGE - 1]),
                modes[STALL_STAGE].eq(modes[STALL_STAGE - 1]),
            ]
        for stage in range(STALL_STAGE + 1, write + 1):
            m.d.sync += [
                flows[stage].eq(flows[stage - 1]),
                modes[stage].eq(modes[stage - 1]),
            ]
        ends = valid[write] & flows[write].last
        if self._requantises:
            # Stages with a REQUANTISE.
            changes = Signal(write)
            self._advance(m, changes, Cat(self._accepts() & self._is_requantise(), changes[:-1]))
            m.d.comb += self.empty.eq((later | changes) == 0)
            ends |= changes[-1]

        with_inputs = self._acting(flows, valid, inputs)
        reads_inp = with_inputs.valid & self._reads_inp(with_inputs.flow)
        if self._input_operands:
            # What the micro-op in the stall's stage has read stays until it moves: the one behind
            # it waits. Where custom operations begin earlier, they alone read ahead of that stage.
            behind = custom_lead(self._config) > 0
            reads_inp &= ~(self.stall & self._is_custom(with_inputs.flow) if behind else self.stall)
        with_elements = self._acting(flows, valid, elements)
        dst = self._acting(flows, valid, read)
        src = dst if self._config.acc_read_ports == 2 else self._acting(flows, valid, read - 1)
        m.d.comb += [
            self.array_enable.eq(reads_inp),
            self.inp_address.eq(with_inputs.flow.src),
            self.wgt_address.eq(with_inputs.flow.wgt),
            self.dst_enable.eq(dst.valid),
            self.dst_address.eq(dst.flow.dst),
            self.src_enable.eq(src.valid & src.flow.second_acc),
            self.src_address.eq(src.flow.src),
            self.mac_enable.eq(
                Cat(
                    with_elements.valid & self._reads_inp(with_elements.flow),
                    *(
                        valid[stage] & flows[stage].gemm & ~flows[stage].reset
                        for stage in range(products, products + levels)
                    ),
                )
            ),
            self.write_enable.eq(valid[write]),
            self.write_address.eq(flows[write].dst),
            self.ends.eq(ends),
            self.end_index.eq(flows[write].index),
            self.push_prev.eq(self.ends & flows[write].push_prev),
            self.push_next.eq(self.ends & flows[write].push_next),
        ]
        self._control(m, flows, valid)
        if self._input_operands:
            m.d.comb += [
                self.operand.take.eq(dst.valid & ~dst.flow.gemm),
                self.operand.inp.eq(dst.flow.second_inp),
                self.operand.imm.eq(dst.flow.imm),
            ]
        else:
            m.d.comb += self.imm.eq(self._acting(flows, valid, gather).flow.imm)
        if self._requantises:
            self._requantise(m, flows, modes, valid)

    def _acting(self, flows: list[data.View], valid: Value, stage: int) -> _MicroOp:
        """The micro-op that does what belongs to a stage up to `gather`: the one that is there, or,
        `custom_lead` stages behind it, one with a custom operation."""
        lead = custom_lead(self._config)
        if not lead:
            return _MicroOp(flows[stage], valid[stage])
        there, behind = flows[stage], flows[stage - lead]
        custom = valid[stage - lead] & behind.custom
        chosen = Mux(custom, behind.as_value(), there.as_value())
        return _MicroOp(data.View(self._flow(), chosen), custom | (valid[stage] & ~there.custom))

    def _accepts(self) -> Value:
        return self.valid & ~self.halt

    def _is_requantise(self) -> Value:
        return self.current[:OPCODE_BITS] == Opcode.REQUANTISE

    def _advance(self, m: Module, stages: Signal, passes: Value) -> None:
        """Register what passes from each stage to the next; `stages` begins with stage 1."""
        m.d.sync += stages[STALL_STAGE:].eq(passes[STALL_STAGE:])
        with m.If(self.stall):
            m.d.sync += stages[STALL_STAGE].eq(0)
        with m.Else():
            m.d.sync += stages[:STALL_STAGE].eq(passes[:STALL_STAGE])

    def _requantise(
        self, m: Module, flows: list[data.View], modes: list[data.View], valid: Value
    ) -> None:
        """Drive the reads of PAR and the requantisers' control signals."""
        *_, read, gather, prepare, _, write = self._stages
        control = self.requantise
        written = modes[write]
        active = [valid[stage] & modes[stage].active for stage in range(gather, write)]
        line = delay_line(m, valid[write] & written.active, OUT_STAGES, "active")
        m.d.comb += [
            self.par_enable.eq(active[0]),
            self.par_address.eq(modes[gather].par),
            control.enable.eq(Cat(active[1:], line[:-1])),
            self.requantised.eq(line[-1]),
            control.low.eq(delayed(m, written.low, 3, "low")),
            control.high.eq(delayed(m, written.high, 3, "high")),
        ]
        if self._residuals:
            residual = self._is_residual(flows[read])
            m.d.comb += self.scale.value.eq(modes[gather].scale)
            # Registers: every bit of every lane selects by them.
            m.d.sync += [
                self.scale.takes.eq(residual | (flows[read].op == AluOp.MUL)),
                self.scale.enters.eq(residual),
                control.residual.eq(active[1] & self._is_residual(flows[prepare])),
            ]

    def _is_residual(self, flow: data.View) -> Value:
        return (flow.op == AluOp.RESIDUAL) if self._residuals else Const(0)

    def _is_custom(self, flow: data.View) -> Value:
        return flow.custom if self._config.alu_operations else Const(0)

    def _reads_inp(self, flow: data.View) -> Value:
        multiplies = flow.gemm & ~flow.reset
        return multiplies | flow.second_inp if self._input_operands else multiplies

    def _first_stages(self, m: Module, flows: list[data.View], modes: list[data.View]) -> None:
        """Load stage 1 with the instruction's fields and loop offsets, stage 2 with indices."""
        loops = data.View(view_of(gemm_layout(self._config)), self.current)
        alu = data.View(view_of(alu_layout(self._config)), self.current)
        is_gemm = loops.opcode == Opcode.GEMM
        first, second = flows[1], flows[2]
        m.d.sync += [
            first.gemm.eq(is_gemm),
            first.reset.eq(is_gemm & loops.reset_reg),
            first.clears.eq(self._clears(loops, alu)),
            first.second_acc.eq(~is_gemm & ~not_from_acc(self._config, alu)),
            first.op.eq(Mux(is_gemm, AluOp.ADD, alu.alu_opcode)),
            first.imm.eq(alu.imm),
            first.dst.eq(self.offsets.dst),
            first.src.eq(self.offsets.src),
            first.wgt.eq(self.offsets.wgt),
            first.last.eq(self.last),
            first.push_prev.eq(loops.push_prev),
            first.push_next.eq(loops.push_next),
            first.index.eq(self.index),
        ]
        if self._config.alu_operations:
            custom = alu.alu_opcode.matches(*self._config.custom_operations)
            m.d.sync += first.custom.eq(~is_gemm & custom)
        m.d.sync += [
            second.eq(first),
            second.dst.eq(first.dst + self.uop.dst),
            second.src.eq(first.src + self.uop.src),
            second.wgt.eq(first.wgt + self.uop.wgt),
        ]
        if self._input_operands:
            m.d.sync += first.second_inp.eq(~is_gemm & takes_input(self._config, alu))
        if self._requantises:
            mode = self.mode
            m.d.sync += [
                modes[1].par.eq(self.offsets.par),
                modes[2].par.eq(modes[1].par + mode.par_base),
                *(modes[2][name].eq(mode[name]) for name in _MODE_FIELDS),
            ]

    def _clears(self, loops: data.View, alu: data.View) -> Value:
        """Whether an instruction takes 0 for its first operand."""
        overwrites = loops.overwrite if Feature.OVERWRITE in self._config.features else Const(0)
        clears = (loops.opcode == Opcode.GEMM) & (loops.reset_reg | overwrites)
        if self._input_operands:
            clears |= (loops.opcode == Opcode.ALU) & (alu.alu_opcode == AluOp.MOVE)
        return clears

    def _out_of_bounds(self, flow: data.View, mode: data.View) -> Signal:
        """Whether the index of an operand in use lies beyond its memory."""
        depth = self._config.depth
        acc, inp, wgt = MemoryId.ACC, MemoryId.INP, MemoryId.WGT
        in_array = (flow.src >= depth(inp)) | (flow.wgt >= depth(wgt))
        added: Value = Const(0)
        if self._input_operands:
            added |= flow.second_inp & (flow.src >= depth(inp))
        if self._requantises:
            added |= mode.active & (mode.par >= depth(MemoryId.PAR))
        return (
            (flow.dst >= depth(acc))
            | (flow.gemm & ~flow.reset & in_array)
            | (flow.second_acc & (flow.src >= depth(acc)))
            | added
        )

    def _shifts(self, flow: data.View) -> Signal:
        return ~flow.gemm & (flow.op == AluOp.SHR)

    def _control(self, m: Module, flows: list[data.View], valid: Value) -> None:
        """Drive the lanes' control signals, the forwarding selects of their operands included.

        The selects are found a stage ahead, so that they are registers: a micro-op that is written
        in the next cycle is executed in this one.
        """
        *_, read, gather, prepare, execute, write = self._stages
        control = self.control

        def written_in_this_cycle(index: Value, used: Value) -> Value:
            return used & valid[write] & (flows[write].dst == index)

        def written_in_the_next(index: Value, used: Value) -> Value:
            return used & valid[execute] & (flows[execute].dst == index)

        operands = self._acting(flows, valid, read).flow
        gathered = self._acting(flows, valid, gather)
        for target, index, used in (
            (control.gather_dst, operands.dst, ~operands.clears),
            (control.gather_src, operands.src, operands.second_acc),
        ):
            m.d.sync += [
                target.from_write.eq(written_in_the_next(index, used)),
                target.from_written.eq(written_in_this_cycle(index, used)),
            ]
        for stage, target in ((gather, control.prepare_dst), (prepare, control.execute_dst)):
            ahead = flows[stage]
            m.d.sync += target.eq(written_in_the_next(ahead.dst, ~ahead.clears))
        m.d.comb += [
            control.gather.eq(gathered.valid),
            control.gather_second.eq(gathered.valid & ~gathered.flow.gemm),
            control.gather_imm.eq(~gathered.flow.second_acc),
            control.prepare.eq(valid[prepare]),
            control.prepare_gemm.eq(flows[prepare].gemm),
            control.prepare_reset.eq(flows[prepare].reset | self._is_residual(flows[prepare])),
            control.prepare_clear.eq(flows[prepare].clears | self._is_custom(flows[prepare])),
            control.prepare_op.eq(flows[prepare].op),
            control.execute.eq(valid[execute]),
            control.execute_op.eq(
                Mux(self._is_custom(flows[execute]), AluOp.ADD, flows[execute].op)
                if self._config.alu_operations
                else flows[execute].op
            ),
        ]
        if self._config.alu_operations:
            stages = range(prepare - custom_lead(self._config), prepare + 1)
            ahead = flows[gather]
            # A register: every bit of every lane selects by it.
            m.d.sync += self.custom.source.eq(source_of(self._config, ahead.gemm, ahead.op))
            m.d.comb += self.custom.imm.eq(Cat(flows[stage].imm for stage in stages))
        if self._config.acc_read_ports == 1:
            # The second operand is at the memory's output in the stage `read`.
            taken = self._acting(flows, valid, read)
            src = self._acting(flows, valid, read - 1).flow
            m.d.comb += self.hold.take.eq(taken.valid & taken.flow.second_acc)
            m.d.sync += self.hold.from_written.eq(written_in_this_cycle(src.src, src.second_acc))
