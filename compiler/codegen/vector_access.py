"""LLVM instructions that read and write elements: one, or a vector of them.

Pointers are a scalar for elements at a constant stride, and a vector for scattered elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir

from compiler.codegen.frame import BufferLocation, Frame
from compiler.codegen.llvm import (
    I32,
    I64,
    MASK,
    POINTER,
    call_intrinsic,
    constant,
    lanes_of,
    suffix,
    vector_type,
)
from compiler.ir.buffer import Buffer


def read(frame: Frame, buffer: Buffer, kind: Any, pointer: Any, mask: Any = None) -> Any:
    """A load of type `kind`: consecutive elements, or a gather if `pointer` is a vector; zeros in
    lanes where `mask` does not hold (None: it holds in all)."""
    align = _alignment(buffer)
    if mask is None:
        value = frame.builder.load(pointer, typ=kind, align=align)
    else:
        operation = "gather" if scattered(pointer) else "load"
        name = f"llvm.masked.{operation}.{suffix(kind)}.{suffix(pointer.type)}"
        arguments = [pointer, ir.Constant(I32, align), mask, constant(kind, 0)]
        value = call_intrinsic(frame.builder, name, kind, arguments)
    return frame.tag(value, buffer)


def write(frame: Frame, buffer: Buffer, value: Any, pointer: Any, mask: Any = None) -> None:
    """Store a value where `mask` holds: the counterpart of `read`."""
    align = _alignment(buffer)
    if mask is None:
        stored = frame.builder.store(value, pointer, align=align)
    else:
        operation = "scatter" if scattered(pointer) else "store"
        name = f"llvm.masked.{operation}.{suffix(value.type)}.{suffix(pointer.type)}"
        arguments = [value, pointer, ir.Constant(I32, align), mask]
        stored = call_intrinsic(frame.builder, name, ir.VoidType(), arguments)
    frame.tag(stored, buffer)


def _alignment(buffer: Buffer) -> int:
    """The alignment in bytes, of one element: a buffer may begin anywhere in an array."""
    return int(buffer.dtype.numpy.itemsize)


def load_vector(frame: Frame, place: BufferLocation, element: Any, pointer: Any, mask: Any) -> Any:
    """A load of consecutive elements, in lanes where `mask` holds (None: all)."""
    lanes = frame.lanes or 1
    if mask is None and not place.stack and _odd(frame, element):
        wide, mask = _padded(lanes)
        value = read(frame, place.buffer, ir.VectorType(element, wide), pointer, mask)
        return frame.builder.shuffle_vector(value, value, _numbers(range(lanes)))
    return read(frame, place.buffer, ir.VectorType(element, lanes), pointer, mask)


def store_vector(frame: Frame, place: BufferLocation, value: Any, pointer: Any, mask: Any) -> None:
    """Emit a store of consecutive elements, in lanes where `mask` holds (None: all)."""
    lanes = value.type.count
    if mask is None and not place.stack and _odd(frame, value.type.element):
        wide, mask = _padded(lanes)
        # The padding lanes are not stored.
        spread = _numbers([min(lane, lanes - 1) for lane in range(wide)])
        value = frame.builder.shuffle_vector(value, value, spread)
    write(frame, place.buffer, value, pointer, mask)


def _odd(frame: Frame, element: Any) -> bool:
    """Whether the number of lanes is no power of two, and one masked access beats several.

    Masks are free in AVX-512; without them LLVM splits such an access.
    """
    lanes = frame.lanes or 1
    small = isinstance(element, ir.IntType) and element.width < 32
    feature = "avx512bw" if small else "avx512vl"
    return bool(lanes & (lanes - 1)) and feature in frame.features


def _padded(lanes: int) -> tuple[int, Any]:
    """The next power of two, and the mask of the first `lanes` lanes."""
    wide = 1 << (lanes - 1).bit_length()
    return wide, constant(ir.VectorType(MASK, wide), [lane < lanes for lane in range(wide)])


def _numbers(lanes: Iterable[int]) -> Any:
    """Lane numbers as a constant vector."""
    values = list(lanes)
    return constant(ir.VectorType(I32, len(values)), values)


def strided(frame: Frame, buffer: Buffer, element: Any, pointer: Any, apart: int) -> Any:
    """Every `apart`-th element, out of `apart` vectors; the last one ends at the last element."""
    lanes = frame.lanes or 1
    kind = ir.VectorType(element, lanes)
    last = (lanes - 1) * apart
    value = ir.Constant(kind, ir.Undefined)
    for number in range(apart):
        start = min(number * lanes, last + 1 - lanes)
        part = read(frame, buffer, kind, step(frame, pointer, constant(I64, start), element))
        inside = range(start, start + lanes)
        # Lanes with an element in this vector take it; the other lanes keep `value`.
        picked = (
            lanes + lane * apart - start if lane * apart in inside else lane
            for lane in range(lanes)
        )
        value = frame.builder.shuffle_vector(value, part, _numbers(picked))
    return value


def gather(frame: Frame, buffer: Buffer, element: Any, pointer: Any, apart: int, mask: Any) -> Any:
    """A gather of elements at any addresses, in lanes where `mask` holds (None: all)."""
    pointers = _each_pointer(frame, pointer, element, apart)
    kind = ir.VectorType(element, frame.lanes)
    return read(frame, buffer, kind, pointers, _mask_or_all(frame, mask))


def _mask_or_all(frame: Frame, mask: Any) -> Any:
    return mask if mask is not None else constant(ir.VectorType(MASK, frame.lanes), 1)


def _each_pointer(frame: Frame, pointer: Any, element: Any, apart: int) -> Any:
    """The pointers of all lanes as a vector."""
    if apart or not scattered(pointer):
        steps = [apart * lane for lane in range(frame.lanes or 1)]
        pointer = step(frame, pointer, constant(ir.VectorType(I64, len(steps)), steps), element)
    return pointer


def scattered(pointer: Any) -> bool:
    """Whether `pointer` is a vector, with a pointer for each lane."""
    return lanes_of(pointer) is not None


def step(frame: Frame, pointer: Any, index: Any, element: Any) -> Any:
    """`pointer` plus `index` elements; a vector if `pointer` or `index` is a vector."""
    result = frame.builder.gep(pointer, [index], source_etype=element)
    lanes = lanes_of(pointer) or lanes_of(index)
    result.type = vector_type(POINTER, lanes)  # llvmlite keeps the first operand's type
    return result


def scatter(frame: Frame, buffer: Buffer, value: Any, pointer: Any, apart: int, mask: Any) -> None:
    """Emit a scatter: where lanes have equal addresses, the value of the last lane is stored."""
    pointers = _each_pointer(frame, pointer, value.type.element, apart)
    write(frame, buffer, value, pointers, _mask_or_all(frame, mask))
