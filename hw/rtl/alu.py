"""The ALU of one lane: an operation on two 32-bit values, in two halves a stage apart."""

from amaranth.hdl import Cat, Const, Module, Mux, signed
from amaranth.lib.wiring import In, Out

from hw.operations import MAX_SHIFT, AluOp
from hw.rtl.block import Block

WIDTH = 32
HALF = WIDTH // 2
SHIFT_BITS = MAX_SHIFT.bit_length()


class AluFirstHalf(Block):
    """Reduces MUL and SHR to a sum: `first + second` is their result. Combinational.

    The operands of every other operation pass unchanged.

    Members
    -------
    op
        An `AluOp`.
    a, b
        The destination's value and the operand.
    first, second
        The operands of the second half.
    shift_out_of_range
        The operation is a shift by more than MAX_SHIFT; the sum is then undefined.
    """

    op: In(3)
    a: In(signed(WIDTH))
    b: In(signed(WIDTH))
    first: Out(WIDTH)
    second: Out(WIDTH)
    shift_out_of_range: Out(1)

    def build(self, m: Module) -> None:
        # Each value below is used once, so that a simulator evaluates only the selected operation.
        with m.Switch(self.op):
            with m.Case(AluOp.MUL):
                # Modulo 2**32, the product of the upper halves is nothing.
                a_low, a_high = self.a[:HALF], self.a[HALF:]
                b_low, b_high = self.b[:HALF], self.b[HALF:]
                crossed = (a_low * b_high + a_high * b_low)[:HALF]
                m.d.comb += [
                    self.first.eq(a_low * b_low),
                    self.second.eq(Cat(Const(0, HALF), crossed)),
                ]
            with m.Case(AluOp.SHR):
                left = (self.a << (-self.b)[:SHIFT_BITS])[:WIDTH]
                right = self.a >> self.b[:SHIFT_BITS]
                m.d.comb += [
                    self.first.eq(Mux(self.b[-1], left, right)),
                    self.shift_out_of_range.eq((self.b > MAX_SHIFT) | (self.b < -MAX_SHIFT)),
                ]
            with m.Default():
                m.d.comb += [self.first.eq(self.a), self.second.eq(self.b)]


class AluSecondHalf(Block):
    """result = op(first, second), where MUL and SHR are sums; arithmetic wraps. Combinational.

    Members
    -------
    op
        An `AluOp`.
    first, second
        From the first half.
    result
        The value to write back.
    """

    op: In(3)
    first: In(signed(WIDTH))
    second: In(signed(WIDTH))
    result: Out(WIDTH)

    def build(self, m: Module) -> None:
        with m.Switch(self.op):
            with m.Case(AluOp.MIN, AluOp.MAX):
                takes_first = (self.first < self.second) ^ (self.op == AluOp.MAX)
                m.d.comb += self.result.eq(Mux(takes_first, self.first, self.second))
            with m.Default():
                m.d.comb += self.result.eq(self.first + self.second)
