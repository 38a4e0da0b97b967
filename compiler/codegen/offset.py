"""Where an element lies: indices as one sum of multiples.

    offset = constant + lane * (lane number) + coefficient * atom + ...

Variables of unrolled loops are known numbers and go into the constant, so that the copies of an
unrolled body share the rest of their addresses; the multiple of the lane number says whether a
vector lies in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.codegen.frame import BufferLocation, Frame, LaneVar
from compiler.codegen.llvm import constant, together
from compiler.ir.arithmetic import binary_function
from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Binary, BinaryOp, Const, Expr, Unary, UnaryOp, Var
from compiler.ir.interval import Interval, interval
from compiler.lower.conditions import reads_memory

__all__ = ["Offset", "known_number", "linear", "offset_of"]


@dataclass(slots=True)
class Offset:
    """A sum of multiples, in elements.

    Attributes
    ----------
    terms
        The multiple of each variable, of the base of the lanes (under the lane variable's own
        name), and of whatever else is not linear.
    """

    constant: int = 0
    lane: int = 0
    terms: dict[Expr, int] = field(default_factory=dict)

    def within(self, size: int, frame: Frame) -> bool:
        """Whether it surely names one of `size` elements, whatever the turn and the lane."""
        reach = self.lane * ((frame.lanes or 1) - 1)
        found = Interval(self.constant + min(reach, 0), self.constant + max(reach, 0))
        for atom, factor in self.terms.items():
            found += _range(atom, frame).times(factor)
        return (
            found.low is not None and found.high is not None and 0 <= found.low <= found.high < size
        )

    def value(self, frame: Frame, evaluate: Callable[[Expr], Any]) -> Any:
        """Its part without constant and lanes: an `i64`, or a vector if an atom differs by lane.

        None where there is no such part.
        """
        key = ("sum", frozenset(self.terms.items()))
        total = frame.recall(key)
        if total is not None:
            return total
        for atom, factor in self.terms.items():
            part = _atom(frame, atom, evaluate)
            # Offsets of elements that exist are far from overflowing; what a program computes
            # from its data may wrap on the way.
            flags = ("nsw",) if isinstance(atom, Var) else ()
            if factor != 1:
                part = frame.builder.mul(part, constant(part.type, factor), flags=flags)
            if total is None:
                total = part
            else:
                total = frame.builder.add(*together(frame.builder, total, part))
        # It is the same wherever its variables are, but for memory, which may change, and masks.
        steady = not any(map(reads_memory, self.terms))
        return frame.keep(key, total) if steady and total is not None else total


def _atom(frame: Frame, atom: Expr, evaluate: Callable[[Expr], Any]) -> Any:
    if isinstance(atom, Var):
        binding = frame.binding(atom)
        return frame.number(binding.base if isinstance(binding, LaneVar) else binding)
    return evaluate(atom)


def known_number(expr: Expr, frame: Frame) -> int | None:
    """The value of an expression of constants and variables of unrolled loops, or None."""
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            binding = frame.bindings.get(name)
            return binding if isinstance(binding, int) else None
        case Binary(op=op, left=left, right=right) if not op.compares:
            a = known_number(left, frame)
            b = known_number(right, frame) if a is not None else None
            return None if a is None or b is None else binary_function(op, INDEX)(a, b)
        case _:
            return None


def _range(atom: Expr, frame: Frame) -> Interval:
    if isinstance(atom, Var) and isinstance(frame.bindings.get(atom.name), LaneVar):
        # The base, which is where lane 0 is.
        lanes, values = frame.bindings[atom.name].count, frame.ranges[atom.name]
        return Interval(values.low, None if values.high is None else values.high - lanes + 1)
    return interval(atom, frame.ranges)


def linear(frame: Frame, *summands: tuple[Expr, int]) -> Offset:
    """A sum of multiples of indices as one."""
    result = Offset()
    for expr, factor in summands:
        _collect(expr, factor, result, frame)
    result.terms = {atom: factor for atom, factor in result.terms.items() if factor}
    return result


def offset_of(place: BufferLocation, indices: Sequence[Expr], frame: Frame) -> Offset:
    """Where the element at `indices` lies, counted from the buffer's first."""
    strides = (each * place.lanes for each in place.buffer.strides)
    result = linear(frame, *zip(indices, strides, strict=True))
    if place.lanes > 1 and frame.lanes is not None:
        result.lane += 1
    return result


def _collect(expr: Expr, scale: int, into: Offset, frame: Frame) -> None:
    number = known_number(expr, frame)
    if number is not None:
        into.constant += scale * number
        return
    match expr:
        case Var():
            binding = frame.binding(expr)
            if isinstance(binding, LaneVar):
                into.lane += scale
                if isinstance(binding.base, int):
                    into.constant += scale * binding.base
                    return
            into.terms[expr] = into.terms.get(expr, 0) + scale
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB as op, left=left, right=right):
            _collect(left, scale, into, frame)
            _collect(right, scale if op is BinaryOp.ADD else -scale, into, frame)
        case Unary(op=UnaryOp.NEG, operand=operand):
            _collect(operand, -scale, into, frame)
        case Binary(op=BinaryOp.MUL, left=left, right=right):
            for factor, other in ((right, left), (left, right)):
                number = known_number(factor, frame)
                if number is not None:
                    _collect(other, scale * number, into, frame)
                    return
            into.terms[expr] = into.terms.get(expr, 0) + scale
        case _:
            into.terms[expr] = into.terms.get(expr, 0) + scale
