"""Requantisation of results on their way to OUT: the datapath of a value, and that of an element.

A stage is named by its distance from W, the cycle in which a micro-op's results are written to ACC.
Registers take what is requantised and nothing else: a micro-op that is not, and an empty cycle,
leave them as they are. That saves power, and simulators skip a stage that does nothing.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from tandem.hw.config import PARAMETER_BYTES, HardwareConfig
from tandem.hw.operations import AluOp
from tandem.hw.parameter_word import ADDEND_BITS, MULTIPLIER_BITS, SHIFT_BITS
from tandem.hw.rtl.alu import WIDTH
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.delay import delayed
from tandem.hw.rtl.saturation import overflows, shifted_bits
from tandem.hw.timing import OUT_STAGES
from tandem.hw.topology import MemoryId

BYTE = 8
HALF = WIDTH // 2
PARAMETERS = data.StructLayout(
    {
        "addend": signed(ADDEND_BITS),
        "multiplier": MULTIPLIER_BITS,
        "shift": SHIFT_BITS,
        "unused": 8 * PARAMETER_BYTES - ADDEND_BITS - MULTIPLIER_BITS - SHIFT_BITS,
    }
)
"""The parameters of one output channel in an element of PAR."""
ENABLED_STAGES = 2 + OUT_STAGES
TOTAL_BITS = WIDTH + MULTIPLIER_BITS + 1
"""Bits of a product of a result and a multiplier with an addend and a scaled residual: below 2^47
in magnitude, and below 2^32."""


class RequantiseControl(data.Struct):
    """Control signals common to all values, each for the micro-op in one stage."""

    enable: ENABLED_STAGES
    """W - 2, W - 1, ..., W + 3: the micro-op in the stage is requantised."""
    residual: 1
    """W - 1: the scaled operand enters; else 0 does."""
    low: signed(BYTE)
    """W + 3, like `high`: the limits."""
    high: signed(BYTE)


class Requantiser(Block):
    """The datapath that makes a byte of OUT of one value of an element of ACC.

    The byte is clip((result * multiplier + addend + scaled) >> shift, low, high); nothing overflows
    on the way. No stage has both a multiplier and an adder.

    Parameters
    ----------
    residuals
        Whether there are residuals.

    Members
    -------
    control
        Common to all values.
    scaled
        W - 1: the value's byte of INP times the scale. Only with residuals.
    addend, multiplier, shift
        The channel's parameters, in W, W and W + 2.
    result
        W: what is written to ACC.
    value
        W + 4: what is written to OUT.
    """

    def __init__(self, residuals: bool) -> None:
        self._residuals = residuals
        super().__init__(
            {
                **({"scaled": In(signed(WIDTH))} if residuals else {}),
                "control": In(RequantiseControl),
                "addend": In(signed(WIDTH)),
                "multiplier": In(MULTIPLIER_BITS),
                "shift": In(SHIFT_BITS),
                "result": In(signed(WIDTH)),
                "value": Out(BYTE),
            }
        )

    def build(self, m: Module) -> None:
        control = self.control
        execute, write, adds, shifts, clips = control.enable[1:]
        added = Signal(signed(WIDTH + 1), reset_less=True)
        lower = Signal(WIDTH, reset_less=True)
        upper = Signal(signed(WIDTH), reset_less=True)
        total = Signal(signed(TOTAL_BITS), reset_less=True)
        scaled = self._scaled(m, execute)
        with m.If(write):
            m.d.sync += [
                lower.eq(self.result[:HALF] * self.multiplier),
                upper.eq(self.result[HALF:].as_signed() * self.multiplier),
                added.eq(self.addend + scaled),
            ]
        with m.If(adds):
            partial = lower + added
            m.d.sync += total.eq(Cat(partial[:HALF], partial[HALF:].as_signed() + upper))
        shifted = Signal(signed(BYTE), reset_less=True)
        beyond = Signal(reset_less=True)
        negative = Signal(reset_less=True)
        with m.If(shifts):
            m.d.sync += [
                shifted.eq(shifted_bits(total, self.shift, BYTE)),
                beyond.eq(overflows(total, self.shift, BYTE)),
                negative.eq(total[-1]),
            ]
        with m.If(clips):
            with m.If((beyond & negative) | (~beyond & (shifted < control.low))):
                m.d.sync += self.value.eq(control.low)
            with m.Elif((beyond & ~negative) | (~beyond & (shifted > control.high))):
                m.d.sync += self.value.eq(control.high)
            with m.Else():
                m.d.sync += self.value.eq(shifted)

    def _scaled(self, m: Module, execute: Value) -> Value:
        """W: the residual, scaled, or 0. The product that it is has a stage of its own."""
        if not self._residuals:
            return Const(0)
        scaled = Signal(signed(WIDTH), reset_less=True)
        with m.If(execute):
            m.d.sync += scaled.eq(Mux(self.control.residual, self.scaled, Const(0, WIDTH)))
        return scaled


class Requantisers(Block):
    """A requantiser for every value of an element, and the registers of the channels' parameters.

    Members
    -------
    control
        As in `Requantiser`.
    scaled
        As in `Requantiser`, for every value. Only with residuals.
    parameters
        W - 2: the element of PAR at the memory's output.
    result, value
        Whole elements of ACC and OUT, in the stages of `Requantiser`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._residuals = AluOp.RESIDUAL in config.operations
        out_bits = BYTE * config.acc_lanes
        super().__init__(
            {
                **({"scaled": In(WIDTH * config.acc_lanes)} if self._residuals else {}),
                "control": In(RequantiseControl),
                "parameters": In(8 * config.element_bytes(MemoryId.PAR)),
                "result": In(WIDTH * config.acc_lanes),
                "value": Out(out_bits),
            }
        )

    def build(self, m: Module) -> None:
        columns = self._config.block_out
        enable = self.control.enable
        channels = [
            data.View(PARAMETERS, self.parameters.word_select(column, PARAMETERS.size))
            for column in range(columns)
        ]
        # The shifts wait for the stage of their use together: one register, not one a channel.
        shifts = Signal(SHIFT_BITS * columns, reset_less=True)
        with m.If(enable[0]):
            m.d.sync += shifts.eq(Cat(channel.shift for channel in channels))
        shifts_3 = delayed(m, shifts, 3, "shifts")
        factors = [self._factors(m, column, channel) for column, channel in enumerate(channels)]
        for index in range(self._config.acc_lanes):
            column = index % columns
            m.submodules[f"requantiser_{index}"] = one = Requantiser(self._residuals)
            m.d.comb += [
                one.control.eq(self.control),
                one.addend.eq(factors[column][0]),
                one.multiplier.eq(factors[column][1]),
                one.shift.eq(shifts_3.word_select(column, SHIFT_BITS)),
                one.result.eq(self.result.word_select(index, WIDTH)),
                self.value.word_select(index, BYTE).eq(one.value),
            ]
            if self._residuals:
                m.d.comb += one.scaled.eq(self.scaled.word_select(index, WIDTH))

    def _factors(self, m: Module, column: int, channel: data.View) -> tuple[Value, Value]:
        """A channel's addend and multiplier in W, the stage of their use."""
        first = Signal(signed(WIDTH), name=f"addend_{column}", reset_less=True)
        addend = Signal(signed(WIDTH), name=f"addend_{column}_1", reset_less=True)
        second = Signal(MULTIPLIER_BITS, name=f"multiplier_{column}", reset_less=True)
        multiplier = Signal(MULTIPLIER_BITS, name=f"multiplier_{column}_1", reset_less=True)
        # Block RAM is slow: its output is registered.
        with m.If(self.control.enable[0]):
            m.d.sync += [first.eq(channel.addend), second.eq(channel.multiplier)]
        with m.If(self.control.enable[1]):
            m.d.sync += [addend.eq(first), multiplier.eq(second)]
        return addend, multiplier
