"""LLVM instructions that read and write elements: one, or a vector of them.

Pointers are a scalar for elements at a constant stride, and a vector for scattered elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame
from tandem.compiler.machines.cpu.codegen.lane_parts import joined_lanes
from tandem.compiler.machines.cpu.codegen.llvm import (
    BYTE,
    I32,
    I64,
    MASK,
    call_intrinsic,
    constant,
    in_lanes,
    lanes_of,
    suffix,
    vector_type,
)
from tandem.compiler.machines.cpu.codegen.offset import Offset

_WIDEST_BITS = 512


def read(frame: Frame, buffer: Buffer, kind: Any, pointer: Any, mask: Any = None) -> Any:
    """A load of type `kind`: consecutive elements, or a gather if `pointer` is a vector; zeros in
    lanes where `mask` does not hold (None: it holds in all)."""
    align = _alignment(buffer)
    if mask is not None and not scattered(pointer) and _is_split(frame, kind):
        return _read_in_parts(frame, buffer, kind, pointer, mask)
    if mask is None:
        value = frame.builder.load(pointer, typ=kind, align=align)
    else:
        operation = "gather" if scattered(pointer) else "load"
        name = f"llvm.masked.{operation}.{suffix(kind)}.{suffix(pointer.type)}"
        arguments = [pointer, ir.Constant(I32, align), mask, constant(kind, 0)]
        value = call_intrinsic(frame.builder, name, kind, arguments)
    return frame.tag(value, buffer)


def _is_split(frame: Frame, kind: Any) -> bool:
    """Whether a masked load takes several instructions of AVX2; others have masks of their own, or
    none, and load element by element."""
    wide = kind.count * bits_of(kind.element) > frame.target.register_bits
    return wide and "avx2" in frame.target.features and not free_masks(frame, kind.element)


def _read_in_parts(frame: Frame, buffer: Buffer, kind: Any, pointer: Any, mask: Any) -> Any:
    """A masked load, a register at a time. LLVM 22 splits wider ones itself, and where a part's
    mask never holds it then reads all of that part, or ends with an assertion."""
    lanes = frame.target.register_bits // bits_of(kind.element)
    parts = []
    for begin in range(0, kind.count, lanes):
        count = min(lanes, kind.count - begin)
        active = frame.builder.shuffle_vector(mask, mask, _numbers(range(begin, begin + count)))
        where = step(frame, pointer, constant(I64, begin), kind.element) if begin else pointer
        part = ir.VectorType(kind.element, count)
        parts.append(read(frame, buffer, part, where, active))
    return joined_lanes(frame.builder, parts)


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


_PREFETCHED_BYTES = 8 * 1024
"""How far ahead of a read cache lines are prefetched: the way to DRAM takes the time of some 50
steps of a register tile, which read two or three lines each."""
_LINE = 64
_READ, _SECOND_LEVEL, _DATA = 0, 2, 1
"""Arguments of LLVM's prefetch."""


def prefetch(frame: Frame, buffer: Buffer, kind: Any, pointer: Any, offset: Offset) -> None:
    """Emit prefetches of the cache lines behind a vector of a streamed buffer, once for each line
    in the body of a loop."""
    if buffer.name not in frame.streamed:
        return
    if not frame.first_in_body(("prefetch", offset.line_key(buffer, _LINE))):
        return
    size = kind.count * bits_of(kind.element) // 8
    for ahead in range(_PREFETCHED_BYTES, _PREFETCHED_BYTES + size, _LINE):
        where = step(frame, pointer, constant(I64, ahead), BYTE)
        arguments = [where, *(ir.Constant(I32, each) for each in (_READ, _SECOND_LEVEL, _DATA))]
        call_intrinsic(frame.builder, "llvm.prefetch.p0", ir.VoidType(), arguments)


def load_vector(frame: Frame, place: BufferLocation, element: Any, pointer: Any, mask: Any) -> Any:
    """A load of consecutive elements, in lanes where `mask` holds (None: all)."""
    lanes = frame.lanes or 1
    if not place.stack and _odd(frame, element):
        wide, mask = _padded(frame, lanes, mask)
        value = read(frame, place.buffer, ir.VectorType(element, wide), pointer, mask)
        return frame.builder.shuffle_vector(value, value, _numbers(range(lanes)))
    return read(frame, place.buffer, ir.VectorType(element, lanes), pointer, mask)


def store_vector(frame: Frame, place: BufferLocation, value: Any, pointer: Any, mask: Any) -> None:
    """Emit a store of consecutive elements, in lanes where `mask` holds (None: all)."""
    lanes = value.type.count
    if not place.stack and _odd(frame, value.type.element, lanes):
        wide, mask = _padded(frame, lanes, mask)
        # The padding lanes are not stored.
        spread = _numbers([min(lane, lanes - 1) for lane in range(wide)])
        value = frame.builder.shuffle_vector(value, value, spread)
    write(frame, place.buffer, value, pointer, mask)


def free_masks(frame: Frame, element: Any) -> bool:
    """Whether an access to elements under a mask costs no more than one without: in AVX-512."""
    small = isinstance(element, ir.IntType) and element.width < 32
    return {"avx512vl", "avx512bw" if small else "avx512f"} <= {*frame.target.features}


def _odd(frame: Frame, element: Any, lanes: int | None = None) -> bool:
    """Whether the number of lanes is no power of two, and one masked access beats several.

    Without free masks LLVM splits such an access.
    """
    lanes = lanes or frame.lanes or 1
    return bool(lanes & (lanes - 1)) and free_masks(frame, element)


def _padded(frame: Frame, lanes: int, mask: Any) -> tuple[int, Any]:
    """The next power of two, and the mask of the first `lanes` lanes where `mask` holds (None: in
    all)."""
    wide = 1 << (lanes - 1).bit_length()
    if mask is None:
        return wide, constant(ir.VectorType(MASK, wide), [lane < lanes for lane in range(wide)])
    return wide, _spread(frame, mask, [lane if lane < lanes else None for lane in range(wide)])


def _spread(frame: Frame, mask: Any, lanes: Sequence[int | None]) -> Any:
    """A mask with these lanes of `mask`; None is a lane that is not active."""
    none = constant(mask.type, 0)
    count = mask.type.count
    picked = [count if lane is None else lane for lane in lanes]
    return frame.builder.shuffle_vector(mask, none, _numbers(picked))


def store_repeated(frame: Frame, buffer: Buffer, value: Any, pointer: Any, mask: Any) -> None:
    """Emit a store of consecutive elements, of which each lane has an equal number: where `mask`
    holds in the lane (None: in all)."""
    lanes = frame.lanes or 1
    repeats = value.type.count // lanes
    if mask is not None:
        mask = _spread(frame, mask, [lane for lane in range(lanes) for _ in range(repeats)])
    if _odd(frame, value.type.element, value.type.count):
        wide, mask = _padded(frame, value.type.count, mask)
        spread = _numbers([min(at, value.type.count - 1) for at in range(wide)])
        value = frame.builder.shuffle_vector(value, value, spread)
    write(frame, buffer, value, pointer, mask)


def _numbers(lanes: Iterable[int]) -> Any:
    """Lane numbers as a constant vector."""
    values = list(lanes)
    return constant(ir.VectorType(I32, len(values)), values)


def picked_from_one(frame: Frame, element: Any, apart: int) -> bool:
    """Whether every `apart`-th element can be picked out of one vector, under any mask."""
    return free_masks(frame, element) and _spanned(frame, apart) * bits_of(element) <= _WIDEST_BITS


def _spanned(frame: Frame, apart: int) -> int:
    """The elements from the first lane's to the last lane's, up to a power of two."""
    return 1 << (((frame.lanes or 1) - 1) * apart).bit_length()


def bits_of(element: Any) -> int:
    """The size of an element."""
    return 64 if isinstance(element, ir.DoubleType) else int(getattr(element, "width", 32))


def strided(
    frame: Frame, buffer: Buffer, element: Any, pointer: Any, apart: int, mask: Any = None
) -> Any:
    """Every `apart`-th element: out of one vector of only these, where `picked_from_one`; else,
    without a mask, out of `apart` vectors, of which the last one ends at the last element."""
    lanes = frame.lanes or 1
    if picked_from_one(frame, element, apart):
        wide = _spanned(frame, apart)
        active = [
            at // apart if at % apart == 0 and at // apart < lanes else None for at in range(wide)
        ]
        if mask is None:
            mask = constant(ir.VectorType(MASK, wide), [lane is not None for lane in active])
        else:
            mask = _spread(frame, mask, active)
        value = read(frame, buffer, ir.VectorType(element, wide), pointer, mask)
        return frame.builder.shuffle_vector(value, value, _numbers(range(0, lanes * apart, apart)))
    assert mask is None, "several vectors are read in full"
    wide, whole = lanes, None
    if _odd(frame, element):
        wide, whole = _padded(frame, lanes, None)
    last = (lanes - 1) * apart
    value = ir.Constant(ir.VectorType(element, wide), ir.Undefined)
    for number in range(apart):
        start = min(number * lanes, last + 1 - lanes)
        where = step(frame, pointer, constant(I64, start), element)
        part = read(frame, buffer, value.type, where, whole)
        inside = range(start, start + lanes)
        # Lanes with an element in this vector take it; the other lanes keep `value`.
        picked = (
            wide + lane * apart - start if lane * apart in inside else lane for lane in range(wide)
        )
        value = frame.builder.shuffle_vector(value, part, _numbers(picked))
    if wide == lanes:
        return value
    return frame.builder.shuffle_vector(value, value, _numbers(range(lanes)))


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
    if frame.target.pointer_bits == 32:
        index = frame.builder.trunc(index, in_lanes(I32, index))
    result = frame.builder.gep(pointer, [index], source_etype=element)
    lanes = lanes_of(pointer) or lanes_of(index)
    # llvmlite keeps the first operand's type.
    near = pointer.type.element if lanes_of(pointer) else pointer.type
    result.type = vector_type(ir.PointerType(addrspace=near.addrspace), lanes)
    return result


def scatter(frame: Frame, buffer: Buffer, value: Any, pointer: Any, apart: int, mask: Any) -> None:
    """Emit a scatter: where lanes have equal addresses, the value of the last lane is stored."""
    pointers = _each_pointer(frame, pointer, value.type.element, apart)
    write(frame, buffer, value, pointers, _mask_or_all(frame, mask))
