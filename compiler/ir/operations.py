"""The operations of expressions."""

from __future__ import annotations

from enum import Enum


class BinaryOp(Enum):
    """Operations on two values of one type; the enum's value is the operator in the text form."""

    __hash__ = object.__hash__

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    """Of floats."""
    FLOORDIV = "//"
    """Of integers, towards minus infinity. Division by zero gives 0."""
    MOD = "%"
    """Of integers; has the sign of the divisor. Modulo zero gives 0."""
    POW = "pow"
    """Of floats."""
    MIN = "min"
    """A NaN on either side is the result."""
    MAX = "max"
    AND = "&"
    OR = "|"
    XOR = "^"
    SHL = "<<"
    """Of integers, by an amount read as unsigned."""
    SHR = ">>"
    """Likewise: an arithmetic shift of an `int`, a logical one of a `uint`."""
    LT = "<"
    LE = "<="
    EQ = "=="
    NE = "!="

    @property
    def compares(self) -> bool:
        """Whether the operation is a comparison, whose result is a bool."""
        return self in _COMPARISONS


_COMPARISONS = frozenset((BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ, BinaryOp.NE))


class UnaryOp(Enum):
    """Operations on one value."""

    __hash__ = object.__hash__

    NEG = "-"
    NOT = "~"
    """Of integers and bools."""
    ABS = "abs"
    EXP = "exp"
    """This and all below: of floats."""
    LOG = "log"
    SQRT = "sqrt"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ERF = "erf"
    FLOOR = "floor"
    CEIL = "ceil"
    ROUND = "round"
    """To the nearest, halves to even."""
