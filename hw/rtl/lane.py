"""One lane of the array: a dot product, two operands with forwarding, an ALU, a result."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import Flow, In, Member, Out

from hw.rtl.alu import Alu
from hw.rtl.block import Block
from hw.rtl.mac import VALUE_BITS, Mac
from hw.timing import tree_levels

WIDTH = 32


class Forward(data.Struct):
    """Forwarding select of one operand; all bits clear: the value read from ACC."""

    from_execute: 1
    """The micro-op one ahead writes the operand; its result is ready in time for execution."""
    from_write: 1
    """The micro-op two ahead writes the operand in this cycle."""
    from_written: 1
    """The micro-op three ahead wrote the operand in the cycle in which ACC was read."""


class LaneControl(data.Struct):
    """Control signals common to all lanes, for two stages: gathering operands, and execution.

    `gather_*` belongs to the micro-op whose operands are at the memories' outputs, `execute_*` to
    the micro-op one ahead.
    """

    gather: 1
    gather_imm: 1
    imm: signed(WIDTH)
    dst: Forward
    src: Forward
    execute: 1
    execute_gemm: 1
    execute_reset: 1
    op: 3


class Hold(data.Struct):
    """Control, with one ACC read port, of the register of the second operand, read first."""

    take: 1
    from_write: 1
    """The micro-op three ahead writes the second operand in this cycle."""
    from_written: 1
    """The micro-op four ahead wrote the second operand in the cycle in which ACC was read."""


def hold_port(flow: Flow, acc_read_ports: int) -> dict[str, Member]:
    """The port `hold` if ACC has one read port, else no port."""
    return {"hold": flow(Hold)} if acc_read_ports == 1 else {}


class Lane(Block):
    """The datapath that computes the same 32 bits of every accumulator.

    A micro-op's operands are read from ACC two cycles before execution. Up to three earlier
    micro-ops may not have written them by then, so each operand has three forwarding sources.

    Parameters
    ----------
    block_in
        Length of the vectors.
    acc_read_ports
        As in the configuration: with 1, the second operand is read, and held, a cycle earlier.

    Members
    -------
    control, enable
        Common to all lanes; `enable` as in `Mac`.
    hold
        Common to all lanes; only with one read port.
    inp, wgt
        Vectors of signed bytes.
    dst, src
        The operands read from ACC.
    result
        The value to write to ACC, one cycle after execution.
    shift_out_of_range
        The executing micro-op shifts by a value outside -31..31.
    """

    def __init__(self, block_in: int, acc_read_ports: int = 2) -> None:
        self._block_in = block_in
        self._holds = acc_read_ports == 1
        super().__init__(
            {
                **hold_port(In, acc_read_ports),
                "control": In(LaneControl),
                "enable": In(1 + tree_levels(block_in)),
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
        m.submodules.alu = alu = Alu()
        control = self.control
        written = Signal(signed(WIDTH), reset_less=True)
        a = Signal(signed(WIDTH), reset_less=True)
        b = Signal(signed(WIDTH), reset_less=True)
        src = self._held(m, written) if self._holds else self.src
        a_from_execute = Signal(reset_less=True)
        b_from_execute = Signal(reset_less=True)

        with m.If(control.gather):
            m.d.sync += [
                a_from_execute.eq(control.dst.from_execute),
                b_from_execute.eq(control.src.from_execute),
            ]
            with m.If(control.dst.from_write):
                m.d.sync += a.eq(self.result)
            with m.Elif(control.dst.from_written):
                m.d.sync += a.eq(written)
            with m.Else():
                m.d.sync += a.eq(self.dst)
            with m.If(control.gather_imm):
                m.d.sync += b.eq(control.imm)
            with m.Elif(control.src.from_write):
                m.d.sync += b.eq(self.result)
            with m.Elif(control.src.from_written):
                m.d.sync += b.eq(written)
            with m.Else():
                m.d.sync += b.eq(src)

        m.d.comb += [
            mac.enable.eq(self.enable),
            mac.inp.eq(self.inp),
            mac.wgt.eq(self.wgt),
            alu.op.eq(control.op),
            alu.a.eq(Mux(a_from_execute, self.result, a)),
            alu.b.eq(Mux(b_from_execute, self.result, b)),
            self.shift_out_of_range.eq(alu.shift_out_of_range),
        ]
        m.d.sync += written.eq(self.result)
        with m.If(control.execute):
            with m.If(~control.execute_gemm):
                m.d.sync += self.result.eq(alu.result)
            with m.Elif(control.execute_reset):
                m.d.sync += self.result.eq(0)
            with m.Else():
                m.d.sync += self.result.eq(alu.a + mac.dot)

    def _held(self, m: Module, written: Signal) -> Signal:
        """The second operand, registered a cycle before the first operand is gathered."""
        held = Signal(signed(WIDTH), reset_less=True)
        with m.If(self.hold.take):
            with m.If(self.hold.from_write):
                m.d.sync += held.eq(self.result)
            with m.Elif(self.hold.from_written):
                m.d.sync += held.eq(written)
            with m.Else():
                m.d.sync += held.eq(self.src)
        return held
