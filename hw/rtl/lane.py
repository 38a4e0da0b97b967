"""One lane of the array: a dot product, two operands with forwarding, an ALU, a result."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import Flow, In, Member, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.instruction_fields import SCALE_BITS
from tandem.hw.operations import AluOp
from tandem.hw.rtl.alu import WIDTH, Alu, Products, Shifter, product
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.custom_units import CustomUnits, custom_control
from tandem.hw.rtl.mac import VALUE_BITS, Mac
from tandem.hw.timing import tree_levels


class Forward(data.Struct):
    """Forwarding select of one operand at the memories' outputs; both bits clear: ACC's value."""

    from_write: 1
    """The micro-op three ahead writes the operand in this cycle."""
    from_written: 1
    """The micro-op four ahead wrote the operand in the cycle in which ACC was read."""


class LaneControl(data.Struct):
    """Control signals common to all lanes, for the three stages before the write.

    They are: gathering of operands; preparation, in which MUL and SHR begin and a GEMM's dot
    product becomes the second operand; execution. `gather_*` belongs to the micro-op whose operands
    are at the memories' outputs, `prepare_*` to the micro-op one ahead, `execute_*` to the micro-op
    two ahead.
    """

    gather: 1
    gather_second: 1
    """The second operand is gathered: of ALU operations only, as a GEMM has its dot product."""
    gather_imm: 1
    gather_dst: Forward
    gather_src: Forward
    prepare: 1
    prepare_gemm: 1
    prepare_reset: 1
    """The second operand is 0."""
    prepare_clear: 1
    """The first operand is 0."""
    prepare_op: 3
    prepare_dst: 1
    """The first operand is the result that is written in this cycle."""
    execute: 1
    execute_op: 3
    execute_dst: 1
    """The first operand is the result that is written in this cycle."""


class Hold(data.Struct):
    """Control, with one ACC read port, of the register of the second operand, read first."""

    take: 1
    from_written: 1
    """The micro-op five ahead wrote the second operand in the cycle in which ACC was read."""


def hold_port(flow: Flow, acc_read_ports: int) -> dict[str, Member]:
    """The port `hold` if ACC has one read port, else no port."""
    return {"hold": flow(Hold)} if acc_read_ports == 1 else {}


class Scale(data.Struct):
    """Control, with residuals, of the first factor of the micro-op in gathering."""

    takes: 1
    """The micro-op is a RESIDUAL or a MUL."""
    enters: 1
    """It is a RESIDUAL: the scale is the first factor."""
    value: SCALE_BITS


def residual_ports(residuals: bool, lanes: int = 1) -> dict[str, Member]:
    """The ports `scale` and `scaled` of a machine with residuals, for that many lanes."""
    return {"scale": In(Scale), "scaled": Out(WIDTH * lanes)} if residuals else {}


def custom_port(flow: Flow, config: HardwareConfig | None) -> dict[str, Member]:
    """The port `custom` of a machine with custom operations, else no port."""
    if config is None or not config.alu_operations:
        return {}
    return {"custom": flow(custom_control(config))}


class Lane(Block):
    """The datapath that computes the same 32 bits of every accumulator.

    A micro-op's operands are read from ACC three cycles before execution. Up to four earlier
    micro-ops may not have written them by then. The first operand is forwarded whatever the
    distance, if it only enters a sum or a comparison; the second operand, and both of MUL and SHR,
    from the micro-op three ahead on: a micro-op that uses a younger result must come later.

    Parameters
    ----------
    block_in
        Length of the vectors.
    acc_read_ports
        As in the configuration: with 1, the second operand is read, and held, a cycle earlier.
    residuals
        Whether there are residuals: their products are those of MUL.
    custom
        A configuration with operations of its own, or None.

    Members
    -------
    control, enable
        Common to all lanes; `enable` as in `Mac`.
    imm
        The second operand of the micro-op in gathering if it is from neither ACC nor the dot
        product: an immediate, or a byte of INP.
    hold
        Common to all lanes; only with one read port.
    inp, wgt
        Vectors of signed bytes.
    dst, src
        The operands read from ACC.
    result
        The value to write to ACC, one cycle after execution.
    shift_out_of_range
        The executing micro-op, if it is a SHR, shifts by a value outside -31..31.
    scale
        As in `Scale`, common to all lanes. Only with residuals.
    scaled
        The second operand of the executing RESIDUAL times its scale. Only with residuals.
    custom
        As in `CustomUnits`, common to all lanes. Only with custom operations; what these give is
        the second operand of a sum with zero: where the dot product of a GEMM comes in, the gates
        have an input to spare.
    """

    def __init__(
        self,
        block_in: int,
        acc_read_ports: int = 2,
        residuals: bool = False,
        custom: HardwareConfig | None = None,
    ) -> None:
        self._block_in = block_in
        self._custom = custom
        self._holds = acc_read_ports == 1
        self._residuals = residuals
        super().__init__(
            {
                **hold_port(In, acc_read_ports),
                **residual_ports(residuals),
                **custom_port(In, custom),
                "control": In(LaneControl),
                "imm": In(signed(WIDTH)),
                "enable": In(tree_levels(block_in)),
                "inp": In(VALUE_BITS * block_in),
                "wgt": In(VALUE_BITS * block_in),
                "dst": In(signed(WIDTH)),
                "src": In(signed(WIDTH)),
                "result": Out(signed(WIDTH)),
                "shift_out_of_range": Out(1),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.mac = mac = Mac(self._block_in)
        m.submodules.shifter = shifter = Shifter()
        m.submodules.products = products = Products()
        m.submodules.alu = alu = Alu()
        control = self.control
        written = Signal(signed(WIDTH), reset_less=True)
        a = Signal(signed(WIDTH), reset_less=True)
        b = Signal(signed(WIDTH), reset_less=True)
        src = self._held(m, written) if self._holds else self.src
        with m.If(control.gather):
            with m.If(control.gather_dst.from_write):
                m.d.sync += a.eq(self.result)
            with m.Elif(control.gather_dst.from_written):
                m.d.sync += a.eq(written)
            with m.Else():
                m.d.sync += a.eq(self.dst)
        with m.If(control.gather_second):
            with m.If(control.gather_imm):
                m.d.sync += b.eq(self.imm)
            with m.Elif(control.gather_src.from_write):
                m.d.sync += b.eq(self.result)
            with m.Elif(control.gather_src.from_written):
                m.d.sync += b.eq(written)
            with m.Else():
                m.d.sync += b.eq(src)

        first = Signal(signed(WIDTH), reset_less=True)
        second = Signal(signed(WIDTH), reset_less=True)
        shifts = ~control.prepare_gemm & (control.prepare_op == AluOp.SHR)
        multiplies = ~control.prepare_gemm & (control.prepare_op == AluOp.MUL)
        factor = a
        if self._residuals:
            multiplies |= ~control.prepare_gemm & (control.prepare_op == AluOp.RESIDUAL)
            factor = self._factor(m, written)
            m.d.comb += self.scaled.eq(product(products.low, products.crossed))
        if self._custom is not None:
            m.submodules.custom_units = units = CustomUnits(self._custom)
            m.d.comb += [units.control.eq(self.custom), units.a.eq(a), units.b.eq(b)]
        m.d.comb += [
            shifter.a.eq(a),
            shifter.b.eq(b),
            products.a.eq(factor),
            products.b.eq(b),
            products.enable.eq(control.prepare & multiplies),
            mac.enable.eq(self.enable),
            mac.inp.eq(self.inp),
            mac.wgt.eq(self.wgt),
        ]
        with m.If(control.prepare):
            with m.If(shifts):
                m.d.sync += self.shift_out_of_range.eq(shifter.out_of_range)
            with m.Else():
                m.d.sync += self.shift_out_of_range.eq(0)
            with m.If(control.prepare_clear):
                m.d.sync += first.eq(0)
            with m.Elif(shifts):
                m.d.sync += first.eq(shifter.result)
            with m.Else():
                m.d.sync += first.eq(Mux(control.prepare_dst, self.result, a))
            with m.If(control.prepare_reset | shifts):
                m.d.sync += second.eq(0)
            if self._custom is not None:
                with m.Else(), m.Switch(self.custom.source):
                    for code, value in enumerate((b, mac.dot, *units.results)):
                        with m.Case(code):
                            m.d.sync += second.eq(value)
            else:
                with m.Elif(control.prepare_gemm):
                    m.d.sync += second.eq(mac.dot)
                with m.Else():
                    m.d.sync += second.eq(b)

        m.d.comb += [
            alu.op.eq(control.execute_op),
            alu.first.eq(Mux(control.execute_dst, self.result, first)),
            alu.second.eq(second),
            alu.low.eq(products.low),
            alu.crossed.eq(products.crossed),
        ]
        m.d.sync += written.eq(self.result)
        with m.If(control.execute):
            m.d.sync += self.result.eq(alu.result)

    def _factor(self, m: Module, written: Signal) -> Signal:
        """The first factor, gathered like the first operand: no multiplexer is in front of the
        multipliers, which may lie far away."""
        factor = Signal(signed(WIDTH), reset_less=True)
        forward = self.control.gather_dst
        with m.If(self.scale.takes):
            with m.If(self.scale.enters):
                m.d.sync += factor.eq(self.scale.value)
            with m.Elif(forward.from_write):
                m.d.sync += factor.eq(self.result)
            with m.Elif(forward.from_written):
                m.d.sync += factor.eq(written)
            with m.Else():
                m.d.sync += factor.eq(self.dst)
        return factor

    def _held(self, m: Module, written: Signal) -> Signal:
        """The second operand, registered a cycle before the first operand is gathered."""
        held = Signal(signed(WIDTH), reset_less=True)
        with m.If(self.hold.take):
            with m.If(self.hold.from_written):
                m.d.sync += held.eq(written)
            with m.Else():
                m.d.sync += held.eq(self.src)
        return held
