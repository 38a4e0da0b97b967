"""The ALU of one lane, in two stages: shifts and products begin a stage before all else."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.rtl.block import Block

WIDTH = 32
HALF = WIDTH // 2
SHIFT_BITS = MAX_SHIFT.bit_length()


class Shifter(Block):
    """result = a >> b, arithmetic, or a << -b where b is negative; combinational.

    Members
    -------
    a, b
        The value and the amount.
    result
        The shifted value.
    out_of_range
        The amount is beyond MAX_SHIFT; the result is then undefined.
    """

    a: In(signed(WIDTH))
    b: In(signed(WIDTH))
    result: Out(WIDTH)
    out_of_range: Out(1)

    def build(self, m: Module) -> None:
        # The 32 bits from bit b modulo 32 on of two words: `a` below copies of its sign or, where b
        # is negative, zeros below `a`. Long steps come first: fewer bits are left for the others.
        left = self.b[-1]
        bits = Cat(
            Mux(left, 0, self.a.as_unsigned()),
            Mux(left, self.a.as_unsigned(), self.a[-1].replicate(WIDTH)),
        )
        for step in reversed(range(SHIFT_BITS)):
            amount = Cat(Const(0, step), self.b[step])
            bits = (bits >> amount)[: WIDTH + (1 << step) - 1]
        m.d.comb += [
            self.result.eq(bits),
            self.out_of_range.eq((self.b > MAX_SHIFT) | (self.b < -MAX_SHIFT)),
        ]


class Products(Block):
    """The three products of half words that make up a * b modulo 2**32, a cycle later.

    Members
    -------
    a, b
        The factors.
    enable
        Take the factors.
    low
        The product of the lower halves.
    crossed
        The lower 16 bits of the product of a's lower and b's upper half, then those of a's upper
        and b's lower half. `product` adds both to `low`, from bit 16 on.
    """

    a: In(signed(WIDTH))
    b: In(signed(WIDTH))
    enable: In(1)
    low: Out(WIDTH)
    crossed: Out(WIDTH)

    def build(self, m: Module) -> None:
        a_low, a_high = self.a[:HALF], self.a[HALF:]
        b_low, b_high = self.b[:HALF], self.b[HALF:]
        with m.If(self.enable):
            m.d.sync += [
                self.low.eq(a_low * b_low),
                self.crossed[:HALF].eq(a_low * b_high),
                self.crossed[HALF:].eq(a_high * b_low),
            ]


def product(low: Value, crossed: Value) -> Value:
    """a * b modulo 2**32, of what `Products` makes of a and b."""
    return Cat(low[:HALF], (low[HALF:] + _of_crossed(crossed))[:HALF])


def _of_crossed(crossed: Value) -> Value:
    return (crossed[:HALF] + crossed[HALF:])[:HALF]


class Alu(Block):
    """The second stage: result = op(first, second); arithmetic wraps at 32 bits. Combinational.

    Members
    -------
    op
        An `AluOp`. A SHR is the sum of the shifted value, `first`, and zero.
    first, second
        The operands.
    low, crossed
        The products of MUL, as in `Products`.
    result
        The value to write back.
    """

    op: In(3)
    first: In(signed(WIDTH))
    second: In(signed(WIDTH))
    low: In(WIDTH)
    crossed: In(WIDTH)
    result: Out(WIDTH)

    def build(self, m: Module) -> None:
        multiplies = self.op == AluOp.MUL
        a, b = Signal(WIDTH), Signal(WIDTH)
        m.d.comb += [
            a.eq(Mux(multiplies, self.low, self.first)),
            b.eq(Mux(multiplies, Cat(Const(0, HALF), _of_crossed(self.crossed)), self.second)),
        ]
        with m.Switch(self.op):
            with m.Case(AluOp.MIN, AluOp.MAX):
                takes_first = (self.first < self.second) ^ (self.op == AluOp.MAX)
                m.d.comb += self.result.eq(Mux(takes_first, self.first, self.second))
            with m.Default():
                m.d.comb += self.result.eq(a + b)
