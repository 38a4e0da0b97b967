"""Indices that are known in each lane while compiling, as `q // 7` and `q % 7` of lanes q.

Rows of an image that are shorter than a vector lie at such indices of another image. A vector of
them is picked out of one or two registers of neighbouring elements, instead of a gather.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from llvmlite import ir

from tandem.compiler.ir.arithmetic import binary_function
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX
from tandem.compiler.ir.expr import Binary, Const, Expr, Unary, Var
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.visit import variables
from tandem.compiler.lower.conditions import reads_memory
from tandem.compiler.machines.cpu.codegen.frame import Frame, LaneVar
from tandem.compiler.machines.cpu.codegen.llvm import I32, I64, MASK, constant
from tandem.compiler.machines.cpu.codegen.offset import Offset
from tandem.compiler.machines.cpu.codegen.vector_access import bits_of, read, step

_OF_TRUTHS: Final[Mapping[BinaryOp, Callable[[int, int], int]]] = MappingProxyType(
    {BinaryOp.AND: operator.and_, BinaryOp.OR: operator.or_, BinaryOp.XOR: operator.xor}
)
_REGISTER_BITS = 512
_MOST_REGISTERS = 2
"""One instruction permutes so many."""


def values_by_lane(frame: Frame, expr: Expr) -> tuple[int, ...] | None:
    """The value of an index, or the truth of a condition as 0 or 1, in each lane; None if it is not
    known."""
    if frame.lanes is None:
        return None
    match expr:
        case Const(value=value) if expr.dtype in (INDEX, BOOL):
            return (int(value),) * frame.lanes
        case Var(name=name):
            binding = frame.bindings.get(name)
            if isinstance(binding, int):
                return (binding,) * frame.lanes
            if isinstance(binding, LaneVar) and isinstance(binding.base, int):
                return tuple(range(binding.base, binding.base + binding.count))
            return None
        case Unary(op=UnaryOp.NOT, operand=operand) if expr.dtype == BOOL:
            found = values_by_lane(frame, operand)
            return None if found is None else tuple(1 - each for each in found)
        case Binary(op=op, left=left, right=right) if left.dtype == INDEX or op in _OF_TRUTHS:
            a = values_by_lane(frame, left)
            b = values_by_lane(frame, right) if a is not None else None
            if a is None or b is None:
                return None
            compute = _OF_TRUTHS[op] if left.dtype == BOOL else binary_function(op, INDEX)
            return tuple(int(compute(one, other)) for one, other in zip(a, b, strict=True))
        case _:
            return None


def lane_offsets(frame: Frame, offset: Offset) -> tuple[Offset, tuple[int, ...]] | None:
    """An offset as a part that is the same in all lanes, and what each lane adds to it. None if the
    offset is linear in the lane anyway, or a lane's part is not known."""
    places = [offset.constant + offset.lane * lane for lane in range(frame.lanes or 1)]
    rest: dict[Expr, int] = {}
    for atom, factor in offset.terms.items():
        if reads_memory(atom):
            return None
        if isinstance(atom, Var) or not _differs(frame, atom):
            rest[atom] = factor
            continue
        found = values_by_lane(frame, atom)
        if found is None:
            return None
        places = [place + factor * each for place, each in zip(places, found, strict=True)]
    return None if len(rest) == len(offset.terms) else (Offset(0, 0, rest), tuple(places))


def _differs(frame: Frame, atom: Expr) -> bool:
    """Whether an atom may differ between lanes."""
    return any(isinstance(frame.bindings.get(name), LaneVar) for name in variables(atom))


def linear_offset(offset: Offset, places: Sequence[int]) -> Offset | None:
    """The offset with what lanes add to it, if that is linear in the lane; else None."""
    apart = places[1] - places[0] if len(places) > 1 else 0
    if any(place != places[0] + apart * lane for lane, place in enumerate(places)):
        return None
    return replace(offset, constant=offset.constant + places[0], lane=apart)


def span_of(frame: Frame, element: Any, places: Sequence[int]) -> range | None:
    """The elements between the first and the last that active lanes read, if a permutation of
    registers picks these out at little cost; else None. It is empty if no lane is active."""
    if frame.active is None or not frame.target.permutes(bits_of(element)):
        return None
    read_ = [place for place, active in zip(places, frame.active, strict=True) if active]
    span = range(min(read_), max(read_) + 1) if read_ else range(0)
    return span if len(span) <= _MOST_REGISTERS * _REGISTER_BITS // bits_of(element) else None


def picked(
    frame: Frame, buffer: Buffer, element: Any, pointer: Any, span: range, places: Sequence[int]
) -> Any:
    """The elements of lanes at their places, of which those of active lanes lie in a span.

    Parameters
    ----------
    pointer
        The pointer to the span's first element.
    """
    lanes = len(places)
    if not span:
        return constant(ir.VectorType(element, lanes), 0)
    most = _REGISTER_BITS // bits_of(element)
    parts = []
    for begin in range(0, len(span), most):
        count = min(most, len(span) - begin)
        width = most if begin else 1 << (count - 1).bit_length()
        mask = None
        if count < width:
            mask = constant(ir.VectorType(MASK, width), [lane < count for lane in range(width)])
        kind = ir.VectorType(element, width)
        parts.append(
            read(frame, buffer, kind, step(frame, pointer, constant(I64, begin), element), mask)
        )
    first, *others = parts
    second = others[0] if others else ir.Constant(first.type, ir.Undefined)
    numbers = [place - span.start if place in span else 0 for place in places]
    return frame.builder.shuffle_vector(first, second, constant(ir.VectorType(I32, lanes), numbers))
