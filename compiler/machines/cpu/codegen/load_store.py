"""Loads and stores of elements: scalar, vector or gather, by the stride between lanes.

An element shared by all lanes is read once, consecutive elements as a vector; entries of tables are
looked up (`byte_tables`), and elements at places that are known in each lane are picked out of
registers (`lane_patterns`). Any other elements are gathered. Elements of inactive lanes are
accessed only if they are provably in bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.byte_tables import looked_up
from tandem.compiler.ir.dtypes import BOOL, Kind
from tandem.compiler.ir.expr import Expr, Load
from tandem.compiler.lower.conditions import reads_memory
from tandem.compiler.machines.cpu.codegen import lane_patterns, vector_access
from tandem.compiler.machines.cpu.codegen.byte_tables import looked_up_bytes
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame
from tandem.compiler.machines.cpu.codegen.llvm import (
    BYTE,
    I64,
    MASK,
    call_intrinsic,
    constant,
    in_lanes,
    lanes_of,
    memory_type,
    register_type,
    splat,
    suffix,
    vector_type,
)
from tandem.compiler.machines.cpu.codegen.offset import Offset, offset_of

Evaluate = Callable[[Expr], Any]

SHUFFLED = 4
"""Up to this stride, elements are shuffled out of vectors, which is faster than a gather."""


def load(frame: Frame, expr: Load, evaluate: Evaluate) -> Any:
    """The value of a load: a scalar, or a vector of each lane's element."""
    place = frame.place(expr.buffer)
    byte = looked_up(expr)
    if byte is not None and place.lanes == 1:
        # Every entry can be read: no lane needs a mask.
        return looked_up_bytes(frame, expr.buffer, place.pointer, evaluate(byte))
    offset, places = _by_lane(frame, offset_of(place, expr.indices, frame))
    element = memory_type(expr.dtype)
    span = None if places is None else lane_patterns.span_of(frame, element, places[1])
    if places is not None and span is not None:
        common, numbers = places
        first = _pointers(frame, place, replace(common, constant=span.start), evaluate)
        value = lane_patterns.picked(frame, expr.buffer, element, first, span, numbers)
        return _in_register(frame, expr, value)
    elements = _pointers(frame, place, offset, evaluate)
    mask = frame.mask
    if mask is not None and offset.within(place.size, frame):
        mask = None
    near = 2 <= offset.lane <= SHUFFLED and not vector_access.scattered(elements)
    if near and (mask is None or vector_access.picked_from_one(frame, element, offset.lane)):
        value = vector_access.strided(frame, expr.buffer, element, elements, offset.lane, mask)
    elif vector_access.scattered(elements) or offset.lane not in (0, 1):
        value = vector_access.gather(frame, expr.buffer, element, elements, offset.lane, mask)
    elif offset.lane == 1:
        kind = vector_type(element, frame.lanes)
        vector_access.prefetch(frame, expr.buffer, kind, elements, offset)
        value = vector_access.load_vector(frame, place, element, elements, mask)
    elif mask is None:
        value = vector_access.read(frame, expr.buffer, element, elements)
    else:
        # The element is read if any lane is active.
        one = splat(frame.builder, any_lane(frame, mask), 1)
        value = vector_access.read(frame, expr.buffer, ir.VectorType(element, 1), elements, one)
        value = frame.builder.extract_element(value, constant(I64, 0))
    return _in_register(frame, expr, value)


def _in_register(frame: Frame, expr: Load, value: Any) -> Any:
    """A loaded value: of a bool, which is a byte in memory, whether that is not 0; of an integer
    of fewer than 8 bits the low bits of its byte."""
    if expr.dtype == BOOL:
        return frame.builder.icmp_unsigned("!=", value, constant(value.type, 0))
    if expr.dtype.is_narrow:
        return frame.builder.trunc(value, in_lanes(register_type(expr.dtype), value))
    return value


_Places = tuple[Offset, tuple[int, ...]]
"""An offset that is the same in all lanes, and what each lane adds to it."""


def _by_lane(frame: Frame, offset: Offset) -> tuple[Offset, _Places | None]:
    """The offset, linear in the lane if it can be; and else its parts, if they are known."""
    places = None if frame.lanes is None else lane_patterns.lane_offsets(frame, offset)
    if places is None:
        return offset, None
    linear = lane_patterns.linear_offset(*places)
    return (offset, places) if linear is None else (linear, None)


def store(
    frame: Frame, buffer: Buffer, indices: Sequence[Expr], value: Any, evaluate: Evaluate
) -> None:
    """Emit a store of an element, or of each lane's element.

    Raises
    ------
    CodegenError
        If lanes write different values to one element under a mask.
    """
    place = frame.place(buffer)
    offset, _ = _by_lane(frame, offset_of(place, indices, frame))
    elements = _pointers(frame, place, offset, evaluate)
    builder, mask = frame.builder, frame.mask
    if buffer.dtype == BOOL or buffer.dtype.is_narrow:
        widen = builder.sext if buffer.dtype.kind is Kind.INT else builder.zext
        value = widen(value, in_lanes(BYTE, value))
    if not vector_access.scattered(elements) and offset.lane == 0:
        if frame.lanes is not None and lanes_of(value) is not None:
            if mask is not None:
                raise frame.error(
                    f"lanes write different values to one element of {buffer.name}, "
                    "and which of them run is not known"
                )
            value = builder.extract_element(value, constant(I64, frame.lanes - 1))
        with nullcontext() if mask is None else builder.if_then(any_lane(frame, mask)):
            vector_access.write(frame, buffer, value, elements)
        return
    value = splat(builder, value, frame.lanes)
    if vector_access.scattered(elements) or offset.lane != 1:
        vector_access.scatter(frame, buffer, value, elements, offset.lane, mask)
        return
    if mask is not None and place.stack and offset.within(place.size, frame):
        # LLVM does not promote memory with masked stores to registers.
        old = vector_access.load_vector(frame, place, value.type.element, elements, None)
        value, mask = builder.select(mask, value, old), None
    vector_access.store_vector(frame, place, value, elements, mask)


def in_bounds(frame: Frame, expr: Load) -> bool:
    """Whether a load is provably in bounds in every iteration and lane."""
    place = frame.place(expr.buffer)
    return offset_of(place, expr.indices, frame).within(place.size, frame)


def masks_well(frame: Frame, expr: Load) -> bool:
    """Whether a load in lanes is one access of a vector, whose mask is free."""
    element = memory_type(expr.dtype)
    offset = offset_of(frame.place(expr.buffer), expr.indices, frame)
    if any(reads_memory(atom) for atom in offset.terms):
        return False
    if offset.lane == 1:
        return vector_access.free_masks(frame, element)
    near = 2 <= offset.lane <= SHUFFLED
    return near and vector_access.picked_from_one(frame, element, offset.lane)


def is_uniform(frame: Frame, buffer: Buffer, indices: Sequence[Expr], evaluate: Evaluate) -> bool:
    """Whether all lanes access the same element."""
    offset = offset_of(frame.place(buffer), indices, frame)
    total = offset.value(frame, evaluate)
    return offset.lane == 0 and (total is None or lanes_of(total) is None)


def address(frame: Frame, buffer: Buffer, indices: Sequence[Expr], evaluate: Evaluate) -> Any:
    """The pointer to an element that is the same for all lanes."""
    place = frame.place(buffer)
    return _pointers(frame, place, offset_of(place, indices, frame), evaluate)


def any_lane(frame: Frame, mask: Any) -> Any:
    """An `i1`: whether the mask holds in any lane."""
    name = f"llvm.vector.reduce.or.{suffix(mask.type)}"
    return call_intrinsic(frame.builder, name, MASK, [mask])


def _pointers(frame: Frame, place: BufferLocation, offset: Offset, evaluate: Evaluate) -> Any:
    """The pointer to lane 0's element; for scattered elements a vector of pointers, to which the
    stride times the lane number is still to be added."""
    element = memory_type(place.buffer.dtype)
    total = offset.value(frame, evaluate)
    pointer = place.pointer
    if total is not None:
        key = ("pointer", place.buffer.name, id(total))
        pointer = frame.recall(key)
        if pointer is None:
            pointer = frame.keep(key, vector_access.step(frame, place.pointer, total, element))
    if offset.constant:
        pointer = vector_access.step(frame, pointer, constant(I64, offset.constant), element)
    return pointer
