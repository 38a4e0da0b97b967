"""Offsets of elements in a buffer, as linear forms.

    offset = constant + lane * (lane number) + coefficient * atom + ...

Variables of unrolled loops are known numbers and go into the constant, so that the copies of an
unrolled body share the rest of their addresses; the multiple of the lane number says whether the
elements of a vector are contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tandem.compiler.ir.arithmetic import binary_function
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Const, Expr, Var
from tandem.compiler.ir.interval import interval
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.lower.conditions import reads_memory
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame, LaneVar
from tandem.compiler.machines.cpu.codegen.llvm import broadcast_lanes, constant


@dataclass(slots=True)
class Offset:
    """An offset in elements, as a linear form.

    Attributes
    ----------
    terms
        The multiple of each variable, of the lanes' base (under the lane variable's name), and of
        each expression that is not linear.
    """

    constant: int = 0
    lane: int = 0
    terms: dict[Expr, int] = field(default_factory=dict)

    def key(self, buffer: Buffer) -> Hashable:
        """A key that is equal for equal elements of a buffer."""
        return buffer.name, self.constant, frozenset(self.terms.items())

    def line_key(self, buffer: Buffer, line_bytes: int) -> Hashable:
        """A key that is equal for elements of a buffer that are within one line of memory, if
        multiples of the variables are whole lines."""
        elements = max(line_bytes // buffer.dtype.numpy.itemsize, 1)
        return buffer.name, self.constant // elements, frozenset(self.terms.items())

    def within(self, size: int, frame: Frame) -> bool:
        """Whether the offset is provably less than `size` in every iteration and lane."""
        reach = self.lane * ((frame.lanes or 1) - 1)
        found = Interval(self.constant + min(reach, 0), self.constant + max(reach, 0))
        for atom, factor in self.terms.items():
            found += _range(atom, frame).times(factor)
        return (
            found.low is not None and found.high is not None and 0 <= found.low <= found.high < size
        )

    def value(self, frame: Frame, evaluate: Callable[[Expr], Any]) -> Any:
        """The sum of the terms: an `i64`, or a vector if an atom differs by lane; None without
        terms."""
        key = ("sum", frozenset(self.terms.items()))
        total = frame.recall(key)
        if total is not None:
            return total
        for atom, factor in self.terms.items():
            part = _atom(frame, atom, evaluate)
            # Offsets of elements that exist do not overflow; numbers computed from data may.
            flags = ("nsw",) if isinstance(atom, Var) else ()
            if factor != 1:
                part = frame.builder.mul(part, constant(part.type, factor), flags=flags)
            if total is None:
                total = part
            else:
                total = frame.builder.add(*broadcast_lanes(frame.builder, total, part))
        # The sum can be reused while its variables are in scope, unless it depends on memory.
        reusable = not any(map(reads_memory, self.terms))
        return frame.keep(key, total) if reusable and total is not None else total


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


def known_truth(expr: Expr, frame: Frame) -> bool | None:
    """Whether a comparison of indices with `known_number` holds; None if it is not known."""
    match expr:
        case Binary(op=op, left=left, right=right) if op.compares and left.dtype == INDEX:
            a = known_number(left, frame)
            b = known_number(right, frame) if a is not None else None
            return None if a is None or b is None else bool(binary_function(op, INDEX)(a, b))
        case _:
            return None


def _range(atom: Expr, frame: Frame) -> Interval:
    if isinstance(atom, Var) and isinstance(frame.bindings.get(atom.name), LaneVar):
        # The lanes' base, which is the value in lane 0.
        lanes, values = frame.bindings[atom.name].count, frame.ranges[atom.name]
        return Interval(values.low, None if values.high is None else values.high - lanes + 1)
    return interval(atom, frame.ranges)


def offset_sum(frame: Frame, *summands: tuple[Expr, int]) -> Offset:
    """The sum of `factor * expr` over the summands."""
    result = Offset()
    for expr, factor in summands:
        _add(linear(expr), factor, result, frame)
    result.terms = {atom: factor for atom, factor in result.terms.items() if factor}
    return result


def offset_of(place: BufferLocation, indices: Sequence[Expr], frame: Frame) -> Offset:
    """The offset of the element at `indices` from the buffer's first element."""
    strides = (each * place.lanes for each in place.buffer.strides)
    result = offset_sum(frame, *zip(indices, strides, strict=True))
    if place.lanes > 1 and frame.lanes is not None:
        result.lane += 1
    return result


def _add(total: Linear, scale: int, into: Offset, frame: Frame) -> None:
    """Add `scale * total` to `into`, with numbers for the variables that are known."""
    into.constant += scale * total.constant
    for atom, multiple in total.terms:
        factor = scale * multiple
        number = known_number(atom, frame)
        if number is not None:
            into.constant += factor * number
            continue
        match atom:
            case Var():
                binding = frame.binding(atom)
                if isinstance(binding, LaneVar):
                    into.lane += factor
                    if isinstance(binding.base, int):
                        into.constant += factor * binding.base
                        continue
            case Binary(op=BinaryOp.MUL, left=left, right=right):
                sides = (known_number(left, frame), right), (known_number(right, frame), left)
                known = next(((number, rest) for number, rest in sides if number is not None), None)
                if known is not None:
                    _add(linear(known[1]), factor * known[0], into, frame)
                    continue
            case _:
                pass
        into.terms[atom] = into.terms.get(atom, 0) + factor
