"""A builder of LLVM instructions for formulas of floats, in one lane or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.dtypes import DType
from tandem.compiler.machines.cpu.codegen.llvm import (
    I32,
    call_intrinsic,
    constant,
    in_lanes,
    lanes_of,
    suffix,
)
from tandem.compiler.machines.cpu.codegen.value_ops import fused

_REGISTER_BITS = 512
"""The size of AVX-512's registers."""
_AS_THE_PROCESSOR_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class FloatBuilder:
    """Emits arithmetic on floats of one type; Python numbers stand for constants.

    Attributes
    ----------
    like
        A value with the LLVM type of all operands.
    contract
        Whether `mul_add` rounds once; otherwise twice.
    scales
        Whether an instruction multiplies by powers of two (AVX-512).
    """

    builder: Any
    dtype: DType
    like: Any
    contract: bool
    scales: bool = False

    @property
    def mantissa(self) -> int:
        """The number of fraction bits."""
        return 23 if self.dtype.bits == 32 else 52

    @property
    def bias(self) -> int:
        """The exponent's bias: the exponent bits of 1.0."""
        return 127 if self.dtype.bits == 32 else 1023

    def number(self, value: Any) -> Any:
        """A constant for a Python number; an LLVM value as it is."""
        if isinstance(value, int | float):
            # LLVM takes float32 constants only if float32 holds them exactly.
            return constant(self.like.type, float(self.dtype.numpy.type(value)))
        return value

    def integer(self, value: int) -> Any:
        """A constant of the integer type of the same width."""
        return constant(self._integers, value)

    @property
    def _integers(self) -> Any:
        return in_lanes(ir.IntType(self.dtype.bits), self.like)

    def add(self, a: Any, b: Any) -> Any:
        """a + b."""
        return self.builder.fadd(self.number(a), self.number(b))

    def sub(self, a: Any, b: Any) -> Any:
        """a - b."""
        return self.builder.fsub(self.number(a), self.number(b))

    def mul(self, a: Any, b: Any) -> Any:
        """a * b."""
        return self.builder.fmul(self.number(a), self.number(b))

    def div(self, a: Any, b: Any) -> Any:
        """a / b."""
        return self.builder.fdiv(self.number(a), self.number(b))

    def mul_add(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c."""
        if not self.contract:
            return self.add(self.mul(a, b), c)
        return fused(self.builder, *(self.number(each) for each in (a, b, c)))

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """The sum of coefficients[i] * x**i."""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.mul_add(result, x, coefficient)
        return result

    def less(self, a: Any, b: Any) -> Any:
        """a < b; false if a or b is NaN."""
        return self.builder.fcmp_ordered("<", self.number(a), self.number(b))

    def not_less(self, a: Any, b: Any) -> Any:
        """a >= b; true if a or b is NaN."""
        return self.builder.fcmp_unordered(">=", self.number(a), self.number(b))

    def equals(self, a: Any, b: Any) -> Any:
        """a == b; false if a or b is NaN."""
        return self.builder.fcmp_ordered("==", self.number(a), self.number(b))

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        """a where the condition holds, else b."""
        return self.builder.select(condition, self.number(a), self.number(b))

    def at_most(self, x: Any, limit: float) -> Any:
        """The lesser of x and the limit; NaN if x is NaN."""
        below = self.builder.fcmp_unordered("<", x, self.number(limit))
        return self.choose(below, x, limit)

    def magnitude(self, x: Any) -> Any:
        """|x|."""
        return call_intrinsic(self.builder, f"llvm.fabs.{suffix(x.type)}", x.type, [x])

    def with_sign(self, x: Any, sign: Any) -> Any:
        """|x| with the sign of `sign`."""
        name = f"llvm.copysign.{suffix(x.type)}"
        return call_intrinsic(self.builder, name, x.type, [x, sign])

    def bits(self, x: Any) -> Any:
        """The bits of a float, as an integer."""
        return self.builder.bitcast(self.number(x), self._integers)

    def from_bits(self, bits: Any) -> Any:
        """The float with these bits."""
        return self.builder.bitcast(bits, self.like.type)

    def whole(self, integer: Any) -> Any:
        """An integer as a float; its value must fit in 32 bits."""
        short = in_lanes(I32, self.like)
        if self.dtype.bits > 32:  # few processors convert 64 bits in vectors
            integer = self.builder.trunc(integer, short)
        return self.builder.sitofp(integer, self.like.type)

    def power_of_two(self, exponent: Any) -> Any:
        """2 to the power of an integer from 1 - bias to bias."""
        biased = self.builder.add(exponent, self.integer(self.bias))
        return self.from_bits(self.builder.shl(biased, self.integer(self.mantissa)))

    def scaled(self, x: Any, whole: Any, exponent: Any) -> Any:
        """x * 2**exponent, rounded once, for x from 0.5 to 2 and exponents from -2 * bias to
        2 * bias. `whole` is the exponent as a float."""
        if self.scales and (lanes_of(x) or 1) * self.dtype.bits == _REGISTER_BITS:
            # The instruction takes floats; LLVM's own operation converts integers to them.
            kind = "ps" if self.dtype.bits == 32 else "pd"
            mask = constant(ir.IntType(_REGISTER_BITS // self.dtype.bits), -1)
            operands = [x, whole, x, mask, constant(I32, _AS_THE_PROCESSOR_ROUNDS)]
            name = f"llvm.x86.avx512.mask.scalef.{kind}.512"
            return call_intrinsic(self.builder, name, x.type, operands)
        if self.scales:
            kinds = f"{suffix(x.type)}.{suffix(exponent.type)}"
            return call_intrinsic(self.builder, f"llvm.ldexp.{kinds}", x.type, [x, exponent])
        # In two steps, because 2**exponent may be out of range where the result is not.
        half = self.builder.ashr(exponent, self.integer(1))
        first = self.mul(x, self.power_of_two(half))
        return self.mul(first, self.power_of_two(self.builder.sub(exponent, half)))

    def nearest_multiple(self, x: Any, factor: float) -> tuple[Any, Any]:
        """x * factor rounded to nearest, as a float and as an integer, for products below
        2**(mantissa - 2).

        The integer of a NaN is undefined.
        """
        # The sum has no fraction bits left, and its last bits are the integer.
        shift = self.number(1.5 * 2.0**self.mantissa)
        moved = self.mul_add(x, factor, shift)
        return self.sub(moved, shift), self.builder.sub(self.bits(moved), self.bits(shift))

    def round(self, x: Any) -> Any:
        """x rounded to the nearest whole number, of two the even one; -0.0 and NaN stay."""
        # A sum of so many has no fraction bits left.
        whole = self.number(2.0**self.mantissa)
        size = self.magnitude(x)
        rounded = self.sub(self.add(size, whole), whole)
        return self.with_sign(self.choose(self.less(size, whole), rounded, size), x)

    def floor(self, x: Any) -> Any:
        """The greatest whole number up to x; -0.0 and NaN stay."""
        near = self.round(x)
        return self.choose(self.less(x, near), self.sub(near, 1.0), near)

    def ceiling(self, x: Any) -> Any:
        """The least whole number from x on; -0.0 and NaN stay."""
        near = self.round(x)
        above = self.choose(self.less(near, x), self.add(near, 1.0), near)
        return self.with_sign(above, x)
