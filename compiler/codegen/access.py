"""How elements are read and written: one, or a vector of them.

Pointers are a scalar where elements lie at equal distances, and a vector where they lie anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir

from compiler.codegen.frame import Frame, Place
from compiler.codegen.lanes import (
    I64,
    MASK,
    POINTER,
    call_intrinsic,
    constant,
    lanes_of,
    shaped,
    suffix,
)
from compiler.ir.buffer import Buffer
from compiler.ir.dtypes import DType

__all__ = [
    "alignment",
    "gather",
    "masked",
    "scatter",
    "scattered",
    "step",
    "store_vector",
    "strided",
    "vector",
]


def vector(frame: Frame, place: Place, element: Any, pointer: Any, mask: Any) -> Any:
    """Neighbours, where `mask` holds (None: all)."""
    lanes = frame.lanes or 1
    if mask is not None:
        return masked(frame, place.buffer, ir.VectorType(element, lanes), pointer, mask)
    if not place.stack and _odd(frame, element):
        wide, mask = _padded(lanes)
        value = masked(frame, place.buffer, ir.VectorType(element, wide), pointer, mask)
        return frame.builder.shuffle_vector(value, value, _numbers(range(lanes)))
    kind = ir.VectorType(element, lanes)
    value = frame.builder.load(pointer, typ=kind, align=alignment(place.buffer.dtype))
    return frame.tag(value, place.buffer)


def store_vector(frame: Frame, place: Place, value: Any, pointer: Any, mask: Any) -> None:
    """Write neighbours, where `mask` holds (None: all)."""
    buffer, lanes = place.buffer, value.type.count
    if mask is None and not place.stack and _odd(frame, value.type.element):
        wide, mask = _padded(lanes)
        # Whatever is in the lanes behind is not stored.
        spread = _numbers([min(lane, lanes - 1) for lane in range(wide)])
        value = frame.builder.shuffle_vector(value, value, spread)
    if mask is None:
        stored = frame.builder.store(value, pointer, align=alignment(buffer.dtype))
    else:
        name = f"llvm.masked.store.{suffix(value.type)}.p0"
        arguments = [value, pointer, _alignment_constant(buffer.dtype), mask]
        stored = call_intrinsic(frame.builder, name, ir.VoidType(), arguments)
    frame.tag(stored, buffer)


def _odd(frame: Frame, element: Any) -> bool:
    """Whether a vector fills no power of two lanes, and one access through a mask beats several.

    AVX-512 has masks for free; without them LLVM cuts such an access into pieces.
    """
    lanes = frame.lanes or 1
    small = isinstance(element, ir.IntType) and element.width < 32
    feature = "avx512bw" if small else "avx512vl"
    return bool(lanes & (lanes - 1)) and feature in frame.features


def _padded(lanes: int) -> tuple[int, Any]:
    """The next power of two, and the mask of those lanes that count."""
    wide = 1 << (lanes - 1).bit_length()
    return wide, constant(ir.VectorType(MASK, wide), [lane < lanes for lane in range(wide)])


def _numbers(lanes: Iterable[int]) -> Any:
    values = list(lanes)
    return constant(ir.VectorType(ir.IntType(32), len(values)), values)


def masked(frame: Frame, buffer: Buffer, kind: Any, pointer: Any, mask: Any) -> Any:
    """Neighbours where `mask` holds, and zeros."""
    name = f"llvm.masked.load.{suffix(kind)}.p0"
    nothing = constant(kind, 0)
    arguments = [pointer, _alignment_constant(buffer.dtype), mask, nothing]
    return frame.tag(call_intrinsic(frame.builder, name, kind, arguments), buffer)


def strided(frame: Frame, buffer: Buffer, element: Any, pointer: Any, apart: int) -> Any:
    """Every `apart`-th element, out of `apart` vectors. The last of them ends with the last one."""
    lanes = frame.lanes or 1
    kind = ir.VectorType(element, lanes)
    last = (lanes - 1) * apart
    value = ir.Constant(kind, ir.Undefined)
    for number in range(apart):
        start = min(number * lanes, last + 1 - lanes)
        where = step(frame, pointer, constant(I64, start), element)
        part = frame.builder.load(where, typ=kind, align=alignment(buffer.dtype))
        frame.tag(part, buffer)
        inside = range(start, start + lanes)
        # Those that are in this vector come from it, others from what was picked so far.
        picked = (
            lanes + lane * apart - start if lane * apart in inside else lane
            for lane in range(lanes)
        )
        value = frame.builder.shuffle_vector(value, part, _numbers(picked))
    return value


def gather(frame: Frame, buffer: Buffer, element: Any, pointer: Any, apart: int, mask: Any) -> Any:
    """Each lane's element where `mask` holds (None: all), wherever it is."""
    pointers = _each_pointer(frame, pointer, element, apart)
    kind = ir.VectorType(element, frame.lanes)
    name = f"llvm.masked.gather.{suffix(kind)}.{suffix(pointers.type)}"
    nothing = constant(kind, 0)
    arguments = [
        pointers,
        _alignment_constant(buffer.dtype),
        _mask_or_all(frame, mask),
        nothing,
    ]
    return frame.tag(call_intrinsic(frame.builder, name, kind, arguments), buffer)


def _mask_or_all(frame: Frame, mask: Any) -> Any:
    return mask if mask is not None else constant(ir.VectorType(MASK, frame.lanes), 1)


def alignment(dtype: DType) -> int:
    """Bytes: an array may begin at any of its elements."""
    size: int = dtype.numpy.itemsize
    return size


def _alignment_constant(dtype: DType) -> Any:
    return ir.Constant(ir.IntType(32), alignment(dtype))


def _each_pointer(frame: Frame, pointer: Any, element: Any, apart: int) -> Any:
    """A pointer for each lane."""
    if apart or not scattered(pointer):
        steps = [apart * lane for lane in range(frame.lanes or 1)]
        pointer = step(frame, pointer, constant(ir.VectorType(I64, len(steps)), steps), element)
    return pointer


def scattered(pointer: Any) -> bool:
    """Whether lanes have pointers of their own."""
    return lanes_of(pointer) is not None


def step(frame: Frame, pointer: Any, index: Any, element: Any) -> Any:
    """The pointer `index` elements further; vectors of either make a vector."""
    result = frame.builder.gep(pointer, [index], source_etype=element)
    lanes = lanes_of(pointer) or lanes_of(index)
    result.type = shaped(POINTER, lanes)  # llvmlite keeps the first operand's type
    return result


def scatter(frame: Frame, buffer: Buffer, value: Any, pointer: Any, apart: int, mask: Any) -> None:
    """Write each lane's element, wherever it is; of several to one place the last counts."""
    pointers = _each_pointer(frame, pointer, value.type.element, apart)
    name = f"llvm.masked.scatter.{suffix(value.type)}.{suffix(pointers.type)}"
    arguments = [value, pointers, _alignment_constant(buffer.dtype), _mask_or_all(frame, mask)]
    frame.tag(call_intrinsic(frame.builder, name, ir.VoidType(), arguments), buffer)
