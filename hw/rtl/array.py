"""The array of lanes: `batch` rows of `block_out` columns."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import alu_layout
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tandem.hw.rtl.alu import WIDTH
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.delay import delayed
from tandem.hw.rtl.lane import Lane, LaneControl, custom_port, hold_port, residual_ports
from tandem.hw.rtl.mac import VALUE_BITS
from tandem.hw.timing import tree_levels
from tandem.hw.topology import MemoryId


def operand_layout(config: HardwareConfig) -> data.StructLayout:
    """Control of what takes an immediate's way into a lane: an operand from INP, or the immediate.

    It belongs to the micro-op that is gathered in the next cycle, and is taken for ALU operations.
    """
    imm = alu_layout(config)["imm"].width
    return data.StructLayout({"take": 1, "inp": 1, "imm": signed(imm)})


class Array(Block):
    """Array in which lane (row, column) multiplies row `row` of INP with row `column` of WGT.

    Members
    -------
    control, hold, shift_out_of_range
        As in `Lane`; `shift_out_of_range` is the OR over all lanes.
    enable
        Bit 0: register `inp` and `wgt`; the other bits as in `Mac`, from the next cycle on.
    inp, wgt, dst, src, result
        Whole elements of INP, WGT and ACC.
    imm
        As in `Lane`, common to all lanes. Only without `Feature.INPUT_OPERANDS`.
    operand
        Control of the immediates and of the operands from INP. Only with `Feature.INPUT_OPERANDS`.
    custom
        As in `Lane`. Only with custom operations.
    scale, scaled
        As in `Lane`, `scale` common to all lanes. Only with residuals.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._input_operands = Feature.INPUT_OPERANDS in config.features
        acc_bits = WIDTH * config.acc_lanes
        self._residuals = AluOp.RESIDUAL in config.operations
        super().__init__(
            {
                **self._operand_ports(),
                **hold_port(In, config.acc_read_ports),
                **residual_ports(self._residuals, config.acc_lanes),
                **custom_port(In, config),
                "control": In(LaneControl),
                "enable": In(1 + tree_levels(config.block_in)),
                "inp": In(8 * config.element_bytes(MemoryId.INP)),
                "wgt": In(8 * config.element_bytes(MemoryId.WGT)),
                "dst": In(acc_bits),
                "src": In(acc_bits),
                "result": Out(acc_bits),
                "shift_out_of_range": Out(1),
            }
        )

    def _operand_ports(self) -> dict[str, Member]:
        if self._input_operands:
            return {"operand": In(operand_layout(self._config))}
        return {"imm": In(signed(WIDTH))}

    def build(self, m: Module) -> None:
        row_bits = VALUE_BITS * self._config.block_in
        # Block RAM is slow: its output is registered before the multipliers.
        inp = _registers("inp", self._config.batch, self._config.block_in)
        wgt = _registers("wgt", self._config.block_out, self._config.block_in)
        with m.If(self.enable[0]):
            m.d.sync += [inp.eq(self.inp), wgt.eq(self.wgt)]
        lanes = self._config.acc_lanes
        imms = self._operands(m, inp) if self._input_operands else [self.imm] * lanes
        shift_out_of_range = []
        for index in range(lanes):
            row, column = divmod(index, self._config.block_out)
            lane = Lane(
                self._config.block_in,
                self._config.acc_read_ports,
                self._residuals,
                **({"custom": self._config} if self._config.alu_operations else {}),
            )
            m.submodules[f"lane_{index}"] = lane
            m.d.comb += [
                lane.control.eq(self.control),
                lane.imm.eq(imms[index]),
                lane.enable.eq(self.enable[1:]),
                lane.inp.eq(inp.word_select(row, row_bits)),
                lane.wgt.eq(wgt.word_select(column, row_bits)),
                lane.dst.eq(self.dst.word_select(index, WIDTH)),
                lane.src.eq(self.src.word_select(index, WIDTH)),
                self.result.word_select(index, WIDTH).eq(lane.result),
            ]
            if self._config.acc_read_ports == 1:
                m.d.comb += lane.hold.eq(self.hold)
            if self._config.alu_operations:
                m.d.comb += lane.custom.eq(self.custom)
            if self._residuals:
                m.d.comb += [
                    lane.scale.eq(self.scale),
                    self.scaled.word_select(index, WIDTH).eq(lane.scaled),
                ]
            shift_out_of_range.append(lane.shift_out_of_range)
        m.d.comb += self.shift_out_of_range.eq(Cat(shift_out_of_range).any())

    def _operands(self, m: Module, inp: Value) -> list[Signal]:
        """What each lane gets as the immediate: from INP, the byte in its row and column."""
        # An element is registered in stage 4; the stage before gathering comes `waits` later.
        waits = tree_levels(self._config.block_in) - 2
        elements = delayed(m, inp, waits, "inp_delayed")
        operands = []
        for index in range(self._config.acc_lanes):
            operand = Signal.like(self.operand.imm, name=f"operand_{index:03}", reset_less=True)
            value = elements.word_select(index, VALUE_BITS).as_signed()
            with m.If(self.operand.take):
                m.d.sync += operand.eq(Mux(self.operand.inp, value, self.operand.imm))
            operands.append(operand)
        return operands


def _registers(name: str, rows: int, columns: int) -> Value:
    """A matrix of values, one register for each: simulators compute with registers of a byte much
    faster than with the bytes of a long one.
    """
    return Cat(
        Signal(VALUE_BITS, name=f"{name}_{row:03}_{column:03}", reset_less=True)
        for row in range(rows)
        for column in range(columns)
    )
