"""Loops inside lanes that transpose: unrolled iterations as shuffles of whole vectors.

In lanes, the iterations of an unrolled loop are copies of its body. Two loops are better than their
copies:

    D[i * 4 + k] = f(i, k)      i in lanes, k unrolled: the vectors of all k are interleaved and
                                stored as one, instead of 4 scattered stores
    D[k, i] = A[i, k]           contiguous elements of A are loaded for each lane and transposed,
                                instead of gathers
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.expr import Expr, Load
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import For, Store
from tandem.compiler.machines.cpu.codegen import load_store, vector_access
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import I32, I64, MASK, constant, memory_type, splat
from tandem.compiler.machines.cpu.codegen.load_store import SHUFFLED
from tandem.compiler.machines.cpu.codegen.offset import Offset, offset_of
from tandem.compiler.machines.cpu.codegen.vector_access import free_masks

_ROWS = 16
"""The most lanes that are transposed: a block of them and their results stay in registers."""
_VECTOR_BYTES = 64
_LEAST_COLUMNS = 4


def interleaved(frame: Frame, loop: For, extent: int) -> bool:
    """Emit an unrolled loop inside lanes whose iterations store interleaved elements, as one store.

    Returns
    -------
    bool
        Whether the loop is one; if it is not, nothing is emitted.
    """
    store = loop.body
    if not isinstance(store, Store) or frame.lanes is None:
        return False
    buffer = store.buffer
    if frame.mask is not None and not free_masks(frame, memory_type(buffer.dtype)):
        return False
    if not 2 <= extent <= SHUFFLED or buffer.dtype == BOOL:
        return False
    if buffer.name in expr_facts(store.value).loads:
        return False
    first = _step(frame, loop, buffer, store.indices)
    if first is None or first.lane != extent or _scattered(frame, first):
        return False
    values = []
    for number in range(extent):
        with frame.bound(loop.var.name, number, Interval(number, number)):
            value = evaluate(frame, store.value)
            values.append(splat(frame.builder, value, frame.lanes))
    address = partial(evaluate, frame)
    with frame.bound(loop.var.name, 0, Interval(0, 0)):
        pointer = load_store.address(frame, buffer, store.indices, address)
    vector = _interleave(frame.builder, values)
    vector_access.store_repeated(frame, buffer, vector, pointer, frame.mask)
    return True


def transposed(frame: Frame, loop: For, extent: int) -> bool:
    """Emit an unrolled loop inside lanes that copies a matrix into its transpose.

    Returns
    -------
    bool
        Whether the loop is one; if it is not, nothing is emitted.
    """
    store = loop.body
    if not isinstance(store, Store) or not isinstance(store.value, Load):
        return False
    loaded = store.value
    rows = frame.lanes
    if rows is None or not 2 <= rows <= _ROWS or frame.mask is not None:
        return False
    if loaded.buffer == store.buffer or loaded.dtype == BOOL:
        return False
    first = _step(frame, loop, loaded.buffer, loaded.indices)
    if first is None or first.lane <= SHUFFLED or _scattered(frame, first):
        return False
    element = memory_type(loaded.dtype)
    widest = min(_ROWS, _VECTOR_BYTES // loaded.dtype.numpy.itemsize)
    begin = 0
    while begin < extent:
        columns = min(widest, extent - begin)
        if not vector_access.free_masks(frame, element):
            columns = 1 << columns.bit_length() - 1
        if columns < _LEAST_COLUMNS:
            break
        _block(frame, loop, store, loaded, begin, columns, first.lane, element)
        begin += columns
    for number in range(begin, extent):
        with frame.bound(loop.var.name, number, Interval(number, number)):
            value = evaluate(frame, loaded)
            load_store.store(frame, store.buffer, store.indices, value, partial(evaluate, frame))
    return True


def _block(
    frame: Frame,
    loop: For,
    store: Store,
    loaded: Load,
    begin: int,
    columns: int,
    apart: int,
    element: Any,
) -> None:
    """Emit the copies of `columns` iterations from `begin` on."""
    lanes, builder = frame.lanes, frame.builder
    assert lanes is not None
    address = partial(evaluate, frame)
    wide = 1 << (columns - 1).bit_length()
    kind = ir.VectorType(element, wide)
    active = None
    if wide > columns:
        active = constant(ir.VectorType(MASK, wide), [column < columns for column in range(wide)])
    with frame.bound(loop.var.name, begin, Interval(begin, begin)):
        base = load_store.address(frame, loaded.buffer, loaded.indices, address)
    vectors = [
        vector_access.read(
            frame,
            loaded.buffer,
            kind,
            vector_access.step(frame, base, constant(I64, lane * apart), element),
            active,
        )
        for lane in range(lanes)
    ]
    rows = 1 << (lanes - 1).bit_length()
    vectors += [ir.Constant(kind, ir.Undefined)] * (rows - lanes)
    half = rows // 2
    for _ in range(half.bit_length()):
        vectors = [
            zipped
            for top, bottom in zip(vectors[:half], vectors[half:], strict=True)
            for zipped in _zip(builder, top, bottom)
        ]
    # The vectors one after the other are now the transpose: `rows` elements for each column.
    for column in range(columns):
        number, start = divmod(column * rows, wide)
        parts = vectors[number : number + max(1, rows // wide)]
        value = _joined(builder, parts)
        value = builder.shuffle_vector(value, value, _numbers(range(start, start + lanes)))
        at = begin + column
        with frame.bound(loop.var.name, at, Interval(at, at)):
            load_store.store(frame, store.buffer, store.indices, value, address)


def _step(frame: Frame, loop: For, buffer: Any, indices: Sequence[Expr]) -> Offset | None:
    """The offset in the loop's first iteration, if each iteration's offset is one more than that of
    the iteration before; else None."""
    place = frame.place(buffer)
    if place.lanes != 1:
        return None
    offsets = []
    for number in (0, 1):
        with frame.bound(loop.var.name, number, Interval(number, number)):
            offsets.append(offset_of(place, indices, frame))
    first, second = offsets
    # An index that is not linear in the loop's variable is a term of the offset that mentions it.
    if any(loop.var.name in expr_facts(atom).variables for atom in first.terms):
        return None
    alike = first.terms == second.terms and first.lane == second.lane
    return first if alike and second.constant == first.constant + 1 else None


def _scattered(frame: Frame, offset: Offset) -> bool:
    """Whether a part of the offset differs between lanes in another way than by a stride."""
    total = offset.value(frame, partial(evaluate, frame))
    return total is not None and isinstance(total.type, ir.VectorType)


def _interleave(builder: Any, vectors: Sequence[Any]) -> Any:
    """The elements 0 of all vectors, then the elements 1, and so on, as one vector."""
    lanes, count = vectors[0].type.count, len(vectors)
    joined = _joined(builder, vectors)
    order = [number * lanes + lane for lane in range(lanes) for number in range(count)]
    return builder.shuffle_vector(joined, joined, _numbers(order))


def _joined(builder: Any, vectors: Sequence[Any]) -> Any:
    """Vectors one after the other; missing ones up to a power of two are undefined."""
    parts = list(vectors)
    while len(parts) & (len(parts) - 1):
        parts.append(ir.Constant(parts[0].type, ir.Undefined))
    while len(parts) > 1:
        parts = [
            builder.shuffle_vector(left, right, _numbers(range(2 * left.type.count)))
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _zip(builder: Any, top: Any, bottom: Any) -> tuple[Any, Any]:
    """Elements of two vectors in turns: the vector of the first half of both, and of the second."""
    lanes = top.type.count
    pairs = [index for lane in range(lanes) for index in (lane, lanes + lane)]
    return (
        builder.shuffle_vector(top, bottom, _numbers(pairs[:lanes])),
        builder.shuffle_vector(top, bottom, _numbers(pairs[lanes:])),
    )


def _numbers(lanes: Sequence[int]) -> Any:
    """Lane numbers as a constant vector."""
    return constant(ir.VectorType(I32, len(lanes)), list(lanes))
