"""Functions in OpenCL C of operations that C lacks, or leaves undefined for some operands."""

from __future__ import annotations

from tandem.compiler.ir.dtypes import DType, Kind
from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.machines.gpu.codegen.opencl_types import (
    c_type,
    container_bits,
    number,
    unsigned_type,
    wrapped,
)


class Functions:
    """The functions that a text uses.

    Attributes
    ----------
    texts
        Their definitions, by name, in the order of first use.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def division(self, op: BinaryOp, dtype: DType) -> str:
        """The name of the function of a quotient or a remainder that rounds down; 0 by 0."""
        name = f"{'quotient' if op is BinaryOp.FLOORDIV else 'remainder'}_{dtype}"
        kind = c_type(dtype)
        if dtype.kind is not Kind.INT:
            sign = "/" if op is BinaryOp.FLOORDIV else "%"
            body = f"return b ? a {sign} b : 0;"
        elif op is BinaryOp.FLOORDIV:
            negative = wrapped(f"0 - ({unsigned_type(dtype)})a", dtype)
            body = (
                f"if (b == 0) return 0; if (b == -1) return {negative}; "
                f"{kind} q = a / b; return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;"
            )
        else:
            body = (
                f"if (b == 0 || b == -1) return 0; {kind} r = a % b; "
                "return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;"
            )
        return self._add(name, kind, f"{kind} a, {kind} b", body)

    def shift(self, op: BinaryOp, dtype: DType) -> str:
        """The name of the function of a shift by an amount that is read as unsigned."""
        name = f"{'shifted_left' if op is BinaryOp.SHL else 'shifted_right'}_{dtype}"
        kind, wide = c_type(dtype), unsigned_type(dtype)
        mask = "" if dtype.bits == container_bits(dtype) else f" & {(1 << dtype.bits) - 1}"
        narrow = f"u{kind.lstrip('u')}"
        amount = f"{wide} n = ({wide})({narrow})b{mask};"
        if op is BinaryOp.SHL:
            shifted = wrapped(f"({wide})a << n", dtype)
            body = f"{amount} return n < {dtype.bits} ? {shifted} : 0;"
        elif dtype.kind is Kind.INT:
            body = f"{amount} return a >> (n < {dtype.bits} ? n : {dtype.bits - 1});"
        else:
            body = f"{amount} return n < {dtype.bits} ? a >> n : 0;"
        return self._add(name, kind, f"{kind} a, {kind} b", body)

    def extreme(self, op: BinaryOp, dtype: DType) -> str:
        """The name of the function of the lesser or the greater of two floats, a NaN if one is."""
        name = f"{op.value}imum_{dtype}"
        kind, sign = c_type(dtype), "<" if op is BinaryOp.MIN else ">"
        return self._add(
            name, kind, f"{kind} a, {kind} b", f"return (a {sign} b || a != a) ? a : b;"
        )

    def truncation(self, old: DType, new: DType) -> str:
        """The name of the function of a float as an integer: towards zero, saturated, 0 for NaN."""
        name, kind = f"{new}_of_{old}", c_type(new)
        high, low = number(Const(new.high, new)), number(Const(new.low, new))
        above = number(Const(float(new.high + 1), old))
        below = number(Const(float(new.low), old))
        body = (
            f"if (x != x) return 0; if (x >= {above}) return {high}; "
            f"if (x <= {below}) return {low}; return ({kind})x;"
        )
        return self._add(name, kind, f"{c_type(old)} x", body)

    def dot_product(self, left: DType, right: DType) -> str:
        """The name of the function that adds four products of bytes to a wrapping int32."""
        body = (
            "return (int)((uint)c + (uint)(a.s0 * b.s0 + a.s1 * b.s1 + a.s2 * b.s2 + a.s3 * b.s3));"
        )
        operands = f"{c_type(left)}4 a, {c_type(right)}4 b, int c"
        return self._add(f"dp4a_{left}_{right}", "int", operands, body)

    def _add(self, name: str, result: str, parameters: str, body: str) -> str:
        self.texts[name] = f"static {result} {name}({parameters}) {{ {body} }}"
        return name
