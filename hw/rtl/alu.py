"""The ALU of one lane: an operation on two 32-bit values."""

from amaranth.hdl import Module, Mux, signed
from amaranth.lib.wiring import In, Out

from hw.operations import MAX_SHIFT, AluOp
from hw.rtl.block import Block

WIDTH = 32
SHIFT_BITS = MAX_SHIFT.bit_length()


class Alu(Block):
    """result = op(a, b), combinational; all arithmetic wraps at 32 bits.

    Members
    -------
    op
        An `AluOp`.
    a, b
        The destination's value and the operand.
    result
        The value to write back.
    shift_out_of_range
        The operation is a shift by more than MAX_SHIFT; the result is then undefined.
    """

    op: In(3)
    a: In(signed(WIDTH))
    b: In(signed(WIDTH))
    result: Out(WIDTH)
    shift_out_of_range: Out(1)

    def build(self, m: Module) -> None:
        # Each value below is used once, so that a simulator evaluates only the selected operation.
        less = self.a < self.b
        with m.Switch(self.op):
            with m.Case(AluOp.MIN, AluOp.MAX):
                takes_a = less ^ (self.op == AluOp.MAX)
                m.d.comb += self.result.eq(Mux(takes_a, self.a, self.b))
            with m.Case(AluOp.ADD):
                m.d.comb += self.result.eq(self.a + self.b)
            with m.Case(AluOp.SHR):
                left = (self.a << (-self.b)[:SHIFT_BITS])[:WIDTH]
                right = self.a >> self.b[:SHIFT_BITS]
                m.d.comb += [
                    self.result.eq(Mux(self.b[-1], left, right)),
                    self.shift_out_of_range.eq((self.b > MAX_SHIFT) | (self.b < -MAX_SHIFT)),
                ]
            with m.Case(AluOp.MUL):
                m.d.comb += self.result.eq(self.a * self.b)
