"""LLVM instructions of statements."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, assert_never

from llvmlite import ir

from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import Alloc, Block, For, If, Invoke, LoopKind, Seq, Stmt, Store
from tandem.compiler.lower.ranges import loop_range
from tandem.compiler.machines.cpu.codegen import load_store
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame, LaneVar
from tandem.compiler.machines.cpu.codegen.lane_patterns import values_by_lane
from tandem.compiler.machines.cpu.codegen.lane_reductions import reduce_lanes, update_of
from tandem.compiler.machines.cpu.codegen.lane_transposes import interleaved, transposed
from tandem.compiler.machines.cpu.codegen.llvm import I64, constant, counted_loop, lanes_of, splat
from tandem.compiler.machines.cpu.codegen.offset import known_number
from tandem.compiler.machines.cpu.codegen.tasks import Tasks
from tandem.compiler.machines.cpu.codegen.tensor_intrinsics import emit_invoke
from tandem.compiler.machines.cpu.codegen.vector_strips import Strip, constant_extent, strips_of


def emit(frame: Frame, stmt: Stmt, tasks: Tasks) -> None:
    """Emit the code of a statement."""
    match stmt:
        case Seq(body=body):
            for part in body:
                emit(frame, part, tasks)
        case Store():
            _store(frame, stmt)
        case If():
            _if(frame, stmt, tasks)
        case Alloc(buffer=buffer, body=body):
            slot = tasks.storage.slots[buffer.name]
            pointer = tasks.allocate(frame, slot)
            frame.places[buffer.name] = BufferLocation(
                buffer, pointer, slot.lanes, slot.offset is None
            )
            emit(frame, body, tasks)
            del frame.places[buffer.name]
        case For():
            _for(frame, stmt, tasks)
        case Invoke():
            emit_invoke(frame, stmt)
        case Block(name=name):
            raise frame.error(f"{name} is still a block: lower blocks first")
        case _:
            assert_never(stmt)


def _store(frame: Frame, stmt: Store) -> None:
    value_of = partial(evaluate, frame)
    if frame.lanes is not None and load_store.is_uniform(
        frame, stmt.buffer, stmt.indices, value_of
    ):
        update = update_of(stmt)
        if update is not None:
            op, term = update
            vector = splat(frame.builder, value_of(term), frame.lanes)
            old = value_of(Load(stmt.buffer, stmt.indices))
            value = reduce_lanes(frame, op, stmt.buffer.dtype, old, vector)
            load_store.store(frame, stmt.buffer, stmt.indices, value, value_of)
            return
    load_store.store(frame, stmt.buffer, stmt.indices, value_of(stmt.value), value_of)


def _if(frame: Frame, stmt: If, tasks: Tasks) -> None:
    condition = evaluate(frame, stmt.condition)
    if lanes_of(condition) is not None:
        with frame.masked(condition, values_by_lane(frame, stmt.condition)):
            emit(frame, stmt.body, tasks)
    else:
        with frame.builder.if_then(condition), frame.region():
            emit(frame, stmt.body, tasks)


def _for(frame: Frame, stmt: For, tasks: Tasks) -> None:
    match stmt.kind:
        case LoopKind.VECTORIZED if frame.lanes is None:
            _vectorized(frame, stmt, tasks)
        case LoopKind.UNROLLED | LoopKind.VECTORIZED:
            extent = constant_extent(stmt)
            if not interleaved(frame, stmt, extent) and not transposed(frame, stmt, extent):
                _unrolled(frame, stmt, extent, tasks)
        case LoopKind.PARALLEL if frame.launch is not None:
            if frame.lanes is not None:
                raise frame.error(f"{stmt.var.name} is parallel within a vectorized loop")
            tasks.start(frame, stmt, _extent(frame, stmt), emit)
        case (
            LoopKind.PARALLEL
            | LoopKind.SERIAL
            | LoopKind.VIRTUAL_THREAD
            | LoopKind.EAGER
            | LoopKind.BLOCKS
            | LoopKind.THREADS
        ):
            _serial(frame, stmt, tasks)
        case _:
            assert_never(stmt.kind)


def _extent(frame: Frame, stmt: For) -> Any:
    """The number of iterations: an int if known when compiling, else an `i64`."""
    number = known_number(stmt.extent, frame)
    if number is not None:
        return number
    value = evaluate(frame, stmt.extent)
    if lanes_of(value) is not None:
        raise frame.error(f"{stmt.var.name}: its extent differs between lanes")
    return value


def _unrolled(frame: Frame, stmt: For, extent: int, tasks: Tasks) -> None:
    for number in range(extent):
        with frame.bound(stmt.var.name, number, Interval(number, number)):
            emit(frame, stmt.body, tasks)


def _vectorized(frame: Frame, stmt: For, tasks: Tasks) -> None:
    for strip in strips_of(stmt, tasks.register_bits):
        if strip.vectors == 1:
            _strip(frame, stmt, strip, strip.begin, tasks)
            continue
        with _loop(frame, strip.vectors) as number:
            base = frame.builder.mul(number, constant(I64, strip.lanes), flags=("nsw",))
            base = frame.builder.add(base, constant(I64, strip.begin), flags=("nsw",))
            _strip(frame, stmt, strip, base, tasks)


def _strip(frame: Frame, stmt: For, strip: Strip, base: Any, tasks: Tasks) -> None:
    """One vector of a strip, whose lane 0 is the iteration `base`."""
    values, name = Interval(strip.begin, strip.last), stmt.var.name
    if strip.lanes == 1:
        with frame.bound(name, base, values):
            emit(frame, stmt.body, tasks)
    else:
        with (
            frame.vectorized(strip.lanes),
            frame.bound(name, LaneVar(base, strip.lanes), values),
        ):
            emit(frame, stmt.body, tasks)


def _serial(frame: Frame, stmt: For, tasks: Tasks) -> None:
    extent = _extent(frame, stmt)
    if isinstance(extent, int) and extent <= 1:
        _unrolled(frame, stmt, extent, tasks)
        return
    with (
        _loop(frame, extent) as index,
        frame.bound(stmt.var.name, index, loop_range(stmt, frame.ranges)),
    ):
        emit(frame, stmt.body, tasks)


def _loop(frame: Frame, extent: Any) -> AbstractContextManager[Any]:
    """A loop of so many iterations: an int, which is 1 or more, or an `i64`."""
    if not isinstance(extent, int):
        return counted_loop(frame.builder, constant(I64, 0), frame.number(extent))
    bits = 32 if frame.target.pointer_bits == 32 and extent < 1 << 31 else 64
    kind = ir.IntType(bits)
    begin, end = constant(kind, 0), constant(kind, extent)
    return counted_loop(frame.builder, begin, end, nonempty=True, bits=bits)
