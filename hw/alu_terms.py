"""Terms on whole numbers: what an operation of the ALU computes, as a value.

A term has a text, in the notation of Python: `min(max(a + b >> shift, low), 127)`. Whatever else
says what an operation means is derived from the term: numbers (`evaluate`), the functional engine's
steps, gates (`hw.rtl.custom_units`), documents.

Results are exact. What has to wrap says so: `int32(a + b)` is the low 32 bits, as a signed number,
and `uint16(b)` the low 16 bits without a sign. `sat8` and `usat8` give the nearest number of eight
bits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar, assert_never

from tandem.hw.errors import TermError

BITS = 32
LEAST, GREATEST = -(1 << BITS - 1), (1 << BITS - 1) - 1
MOST_NODES = 64
"""The most operators of a term."""


class TermOp(Enum):
    """An operator of terms, by its sign, or its name as a function."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    SHR = ">>"
    """Arithmetic; the amount is a number of 0 to 31, or a parameter that can be no other one."""
    SHL = "<<"
    AND = "&"
    OR = "|"
    XOR = "^"
    MIN = "min"
    MAX = "max"

    @property
    def shifts(self) -> bool:
        """Whether the second operand is an amount in bits."""
        return self in (TermOp.SHR, TermOp.SHL)

    @property
    def commutes(self) -> bool:
        """Whether the operands may change places."""
        return not self.shifts and self is not TermOp.SUB


@dataclass(frozen=True, slots=True)
class Name:
    """A number that the term's reader supplies: an operand, or a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: int


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator applied to two terms."""

    op: TermOp
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Cast:
    """A term as a number of `width` bits, with or without a sign: its low bits, or, where it
    `saturates`, the nearest such number."""

    width: int
    signed: bool
    term: Term
    saturates: bool = False

    @property
    def name(self) -> str:
        """The function of terms' texts: `int8`, `uint8`, `sat8`, `usat8`."""
        return f"{'' if self.signed else 'u'}{'sat' if self.saturates else 'int'}{self.width}"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest value."""
        least = -(1 << self.width - 1) if self.signed else 0
        return least, least + (1 << self.width) - 1

    def of(self, value: int) -> int:
        """What the cast makes of a number."""
        if self.saturates:
            low, high = self.limits
            return min(max(value, low), high)
        return low_bits(value, self.width, signed=self.signed)


Term: TypeAlias = Name | Number | Binary | Cast
T = TypeVar("T")


def fold(
    term: Term,
    name: Callable[[str], T],
    number: Callable[[int], T],
    binary: Callable[[TermOp, T, T], T],
    cast: Callable[[Cast, T], T],
) -> T:
    """The value of a term in any algebra: of numbers, gates, formulas, texts."""
    match term:
        case Name():
            return name(term.name)
        case Number():
            return number(term.value)
        case Binary():
            left = fold(term.left, name, number, binary, cast)
            return binary(term.op, left, fold(term.right, name, number, binary, cast))
        case Cast():
            return cast(term, fold(term.term, name, number, binary, cast))
        case _:
            assert_never(term)


def low_bits(value: int, width: int, *, signed: bool) -> int:
    """The number that the low bits of `value` are, in two's complement if `signed`."""
    least = -(1 << width - 1) if signed else 0
    return (value - least) % (1 << width) + least


def apply_operator(
    op: TermOp,
    left: Any,
    right: Any,
    least: Callable[[Any, Any], Any] = min,
    greatest: Callable[[Any, Any], Any] = max,
) -> Any:
    """The exact result of an operator on two numbers, or on two of anything that has Python's
    operators: formulas, a compiler's expressions. `least` and `greatest` take one of them."""
    match op:
        case TermOp.ADD:
            return left + right
        case TermOp.SUB:
            return left - right
        case TermOp.MUL:
            return left * right
        case TermOp.SHR:
            return left >> right
        case TermOp.SHL:
            return left << right
        case TermOp.AND:
            return left & right
        case TermOp.OR:
            return left | right
        case TermOp.XOR:
            return left ^ right
        case TermOp.MIN:
            return least(left, right)
        case TermOp.MAX:
            return greatest(left, right)
        case _:
            assert_never(op)


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """The value of a term for numbers by their names."""
    return fold(
        term,
        lambda name: values[name],
        lambda value: value,
        apply_operator,
        lambda cast, value: cast.of(value),
    )


def subterms(term: Term) -> Iterator[Term]:
    """All terms within a term, operands before what uses them; the term itself comes last."""
    for part in operands_of(term):
        yield from subterms(part)
    yield term


def operands_of(term: Term) -> tuple[Term, ...]:
    """The terms that a term is directly made of."""
    match term:
        case Binary():
            return term.left, term.right
        case Cast():
            return (term.term,)
        case _:
            return ()


def names_of(term: Term) -> tuple[str, ...]:
    """The names in a term, in the order in which they are met first."""
    found = (part.name for part in subterms(term) if isinstance(part, Name))
    return tuple(dict.fromkeys(found))


def print_term(term: Term) -> str:
    """The text of a term, which `parse_term` reads back."""
    return ast.unparse(_to_python(term))


def parse_term(text: str) -> Term:
    """The term of a text.

    Raises
    ------
    TermError
        Something that is no term; says what, and what is allowed. A term of more than `MOST_NODES`
        operators, and a number that does not fit 32 bits.
    """
    if len(text) > 100 * MOST_NODES:
        raise TermError(f"a term of {len(text):,} characters: at most {100 * MOST_NODES:,}")
    try:
        found = _from_python(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TermError(f"{text!r} is no term: {error}") from None
    operators = sum(isinstance(part, Binary | Cast) for part in subterms(found))
    if operators > MOST_NODES:
        raise TermError(f"a term of {operators} operators: at most {MOST_NODES} are allowed")
    return found


_SIGNS: Mapping[type[ast.operator], TermOp] = {
    ast.Add: TermOp.ADD,
    ast.Sub: TermOp.SUB,
    ast.Mult: TermOp.MUL,
    ast.RShift: TermOp.SHR,
    ast.LShift: TermOp.SHL,
    ast.BitAnd: TermOp.AND,
    ast.BitOr: TermOp.OR,
    ast.BitXor: TermOp.XOR,
}
_FUNCTIONS = {each.value: each for each in (TermOp.MIN, TermOp.MAX)}
_CAST = re.compile(r"(u?)(int|sat)([1-9][0-9]?)")
MOST_CAST = 32
"""The most bits of a cast."""


def _from_python(node: ast.expr) -> Term:
    match node:
        case ast.Name(id=name):
            return Name(name)
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() as value):
            return _number(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return _number(-value)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return Binary(_SIGNS[type(sign)], _from_python(left), _from_python(right))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if (
            name in _FUNCTIONS
        ):
            return Binary(_FUNCTIONS[name], _from_python(left), _from_python(right))
        case ast.Call(func=ast.Name(id=name), args=[term], keywords=[]) if (
            cast := _CAST.fullmatch(name)
        ) is not None and int(cast[3]) <= MOST_CAST:
            return Cast(int(cast[3]), not cast[1], _from_python(term), cast[2] == "sat")
        case _:
            pass
    allowed = " ".join(op.value for op in TermOp if op.value not in _FUNCTIONS)
    raise TermError(
        f"{ast.unparse(node)!r} is no term: names, whole numbers, {allowed}, min and max of two, "
        f"and int1 to int{MOST_CAST}, uint1 to uint{MOST_CAST}, sat1 and usat1 to those of one are"
    )


def _number(value: int) -> Number:
    if not LEAST <= value <= GREATEST:
        raise TermError(f"{value} does not fit {BITS} bits: {LEAST} to {GREATEST} do")
    return Number(value)


def _to_python(term: Term) -> ast.expr:
    signs = {op: sign for sign, op in _SIGNS.items()}

    def binary(op: TermOp, left: ast.expr, right: ast.expr) -> ast.expr:
        if op in signs:
            return ast.BinOp(left, signs[op](), right)
        return ast.Call(ast.Name(op.value), [left, right], [])

    def number(value: int) -> ast.expr:
        if value < 0:
            return ast.UnaryOp(ast.USub(), ast.Constant(-value))
        return ast.Constant(value)

    def cast(cast: Cast, term: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(cast.name), [term], [])

    return fold(term, lambda name: ast.Name(name), number, binary, cast)


def interval(term: Term, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Least and greatest values between which a term lies, of names within `ranges`. The bounds are
    safe, not the narrowest."""

    def binary(op: TermOp, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        if op in (TermOp.AND, TermOp.OR, TermOp.XOR):
            return _bitwise(left, right)
        if op is TermOp.SUB:
            low, high = left[0] - right[1], left[1] - right[0]
        elif op in (TermOp.MUL, TermOp.SHL, TermOp.SHR):
            corners = [apply_operator(op, one, other) for one in left for other in right]
            low, high = min(corners), max(corners)
        else:
            low, high = (apply_operator(op, left[at], right[at]) for at in (0, 1))
        return low, high

    def cast(cast: Cast, values: tuple[int, int]) -> tuple[int, int]:
        low, high = cast.limits
        if low <= values[0] and values[1] <= high:
            return values
        if cast.saturates:
            return min(max(values[0], low), high), min(max(values[1], low), high)
        return low, high

    return fold(term, lambda name: ranges[name], lambda value: (value, value), binary, cast)


def _bitwise(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Bounds of what bits of two numbers make: as many bits as the longer has."""
    bits = max(signed_bits(*left), signed_bits(*right))
    if left[0] >= 0 and right[0] >= 0:
        return 0, (1 << bits - 1) - 1
    return -(1 << bits - 1), (1 << bits - 1) - 1


def signed_bits(low: int, high: int) -> int:
    """The bits of the shortest two's complement that has all numbers from `low` to `high`."""
    return 1 + max(high.bit_length() if high >= 0 else 0, (~low).bit_length() if low < 0 else 0)
