"""The gates of a configuration's own ALU operations, in stages ahead of a lane's first operand."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from tandem.hw.alu_terms import BITS, Binary, Cast, Name, Number, Term, TermOp, signed_bits
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import PARAMETER_BITS
from tandem.hw.custom_stages import (
    ParameterBits,
    gate_operands,
    shifted_cast,
    stage_terms,
    sum_above,
)
from tandem.hw.rtl.alu import SHIFT_BITS
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.saturation import nearest, overflows, saturated, shifted_bits

OPERAND, DOT, _FIRST_RESULT = 0, 1, 2
"""Codes of `source`: the gathered second operand, the dot product, and the first result."""


def custom_control(config: HardwareConfig) -> data.StructLayout:
    """Control of custom operations, common to all lanes.

    `source`: where the second operand of the micro-op in the last stage, that of preparation, comes
    from, in the code of `source_of`: one multiplexer chooses among all. `imm`: the immediates of
    the micro-ops in all stages, the first stage first.
    """
    codes = _FIRST_RESULT + len(config.alu_operations)
    return data.StructLayout(
        {
            "source": bits_for(codes - 1),
            "imm": PARAMETER_BITS * config.alu_stages,
        }
    )


def source_of(config: HardwareConfig, gemm: Value, op: Value) -> Value:
    """The code of a micro-op's second operand: `OPERAND`, `DOT`, then results by opcode."""
    code: Value = Const(OPERAND)
    for result, number in enumerate(sorted(config.custom_operations)):
        code = Mux(op == number, _FIRST_RESULT + result, code)
    return Mux(gemm, DOT, code)


class CustomUnits(Block):
    """Computes the custom operations of one lane.

    What a later stage uses is registered from stage to stage, in as many bits as its values need.

    Members
    -------
    control
        As in `custom_control`.
    a, b
        The operands of the micro-op in the first stage.
    results
        What the micro-op in the last stage gives by each operation, by opcode; combinational, of
        its stage.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._last = config.alu_stages
        self._terms = stage_terms(config.custom_operations, config.alu_stages)
        super().__init__(
            {
                "control": In(custom_control(config)),
                "a": In(signed(BITS)),
                "b": In(signed(BITS)),
                "results": Out(signed(BITS)).array(len(config.alu_operations)),
            }
        )

    def build(self, m: Module) -> None:
        self._values: dict[tuple[Term, int], Value] = {}
        self._number = 0
        for result, (_, term) in zip(
            self.results, sorted(self._terms.results.items()), strict=True
        ):
            m.d.comb += result.eq(self._value(m, term, self._last))

    def _value(self, m: Module, term: Term, stage: int) -> Value:
        """The value of a term in a stage."""
        if (term, stage) not in self._values:
            self._values[term, stage] = self._made(m, term, stage)
        return self._values[term, stage]

    def _made(self, m: Module, term: Term, stage: int) -> Value:
        match term:
            case Number(value=value):
                return Const(value, signed(signed_bits(value, value)))
            case Name(name=name) if name in self._terms.parameters:
                return self._parameter(self._terms.parameters[name], stage)
            case Name(name=name) if stage == 1:
                return self.a if name == "a" else self.b
            case Binary() if self._terms.stages[term] == stage:
                return self._signal(m, term, stage, self._binary(m, term, stage), "comb")
            case Cast(saturates=True) if self._terms.stages[term] == stage:
                value = self._saturated(m, term, stage)
                return self._signal(m, term, stage, value, "comb")
            case Cast() if self._terms.stages[term] == stage:
                # A signal of its own: a narrow value is extended, and its sign may be no sign.
                value = self._value(m, term.term, stage)
                return self._signal(m, term, stage, _low_bits(term, value), "comb")
            case _:
                return self._signal(m, term, stage, self._value(m, term, stage - 1), "sync")

    def _binary(self, m: Module, term: Binary, stage: int) -> Value:
        left, right = (self._value(m, part, stage) for part in gate_operands(term))
        parts = sum_above(term)
        if parts is None:
            return _gates(term.op, left, right)
        _, bits, below = parts
        low = _low_bits(Cast(bits, False, below), right)
        return Cat(low, (right >> bits) + left).as_signed()

    def _saturated(self, m: Module, term: Cast, stage: int) -> Value:
        """The nearest number, of a value, or of a value that is shifted, in one go."""
        operands = [self._value(m, part, stage) for part in gate_operands(term)]
        value = operands[0]
        if shifted_cast(term) is not None:
            shift = Cat(operands[1], Const(0, SHIFT_BITS - len(operands[1])))
            low = shifted_bits(value, shift, term.width)
            beyond = overflows(value, shift, term.width)
            return nearest(low, beyond, value[-1], term.width)
        low, high = term.limits
        if term.signed and len(value) > term.width:
            return saturated(value, term.width)
        return Mux(value < low, low, Mux(value > high, high, value))

    def _parameter(self, bits: ParameterBits, stage: int) -> Value:
        lowest = PARAMETER_BITS * (stage - 1) + bits.lowest
        value = self.control.imm[lowest : lowest + bits.parameter.width]
        return value.as_signed() if bits.parameter.signed else value

    def _signal(self, m: Module, term: Term, stage: int, value: Value, domain: str) -> Signal:
        """A signal of the term's width with a value: of the stage's gates, or a register."""
        shape: Shape = signed(self._terms.width_of(term))
        self._number += 1
        name = f"{'gates' if domain == 'comb' else 'kept'}_{self._number}_{stage}"
        signal = Signal(shape, name=name, reset_less=True)
        m.d[domain] += signal.eq(value)
        return signal


def _gates(op: TermOp, left: Value, right: Value) -> Value:
    """The value of an operator; it may be wider than the result."""
    match op:
        case TermOp.ADD:
            return left + right
        case TermOp.SUB:
            return left - right
        case TermOp.MUL:
            return left * right
        case TermOp.SHR:
            return left >> _amount(right)
        case TermOp.SHL:
            return left << _amount(right)
        case TermOp.AND:
            return left & right
        case TermOp.OR:
            return left | right
        case TermOp.XOR:
            return left ^ right
        case TermOp.MIN:
            return Mux(left < right, left, right)
        case TermOp.MAX:
            return Mux(left < right, right, left)


def _low_bits(cast: Cast, value: Value) -> Value:
    """The bits that a cast takes, of a value that may have fewer."""
    missing = cast.width - len(value)
    if missing > 0:
        sign = value[-1] if value.shape().signed else Const(0)
        value = Cat(value, sign.replicate(missing))
    low = value[: cast.width]
    return low.as_signed() if cast.signed else low


def _amount(right: Value) -> Value:
    """The amount of a shift: at most five bits without a sign."""
    return right[:5] if isinstance(right, Const) else right
