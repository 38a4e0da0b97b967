"""LLVM instructions of a launch's statements, which one thread runs.

Expressions, loads and stores are those of the CPU's code generator, in one lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, assert_never

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import Alloc, Block, For, If, Invoke, LoopKind, Seq, Stmt, Store
from tandem.compiler.lower.ranges import loop_range
from tandem.compiler.machines.cpu.codegen import load_store
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame
from tandem.compiler.machines.cpu.codegen.llvm import (
    I64,
    POINTER,
    call_intrinsic,
    constant,
    counted_loop,
    memory_type,
)
from tandem.compiler.machines.cpu.codegen.offset import known_number
from tandem.compiler.machines.gpu.codegen.ptx_dots import emit_dot
from tandem.compiler.machines.gpu.codegen.ptx_warps import emit_warp_product
from tandem.compiler.machines.gpu.intrinsics import is_dot_product
from tandem.compiler.machines.gpu.launch import is_barrier
from tandem.compiler.machines.gpu.warps import KNOWN, is_warp_product

_BARRIER = "llvm.nvvm.barrier0"
"""All threads of the block wait for each other: `bar.sync 0`."""


def emit(frame: Frame, stmt: Stmt) -> None:
    """Emit the code of a statement. Raises `CodegenError` for one that no launch has, and for
    memory allocated by a thread that is not its own."""
    value_of = partial(evaluate, frame)
    match stmt:
        case Seq(body=body):
            for part in body:
                emit(frame, part)
        case Store(buffer=buffer, indices=indices, value=value):
            load_store.store(frame, buffer, indices, value_of(value), value_of)
        case If(condition=condition, body=body):
            with frame.builder.if_then(value_of(condition)), frame.region():
                emit(frame, body)
        case Alloc(buffer=buffer, body=body):
            if buffer.scope != Scope.LOCAL:
                raise frame.error(f"{buffer.name} of a thread lies in {buffer.scope.value}")
            frame.places[buffer.name] = BufferLocation(buffer, _local(frame, buffer), stack=True)
            emit(frame, body)
            del frame.places[buffer.name]
        case For(kind=LoopKind.UNROLLED | LoopKind.VECTORIZED):
            for number in range(_unrolled(frame, stmt)):
                with frame.bound(stmt.var.name, number, Interval(number, number)):
                    emit(frame, stmt.body)
        case For():
            with (
                _loop(frame, stmt) as index,
                frame.bound(stmt.var.name, index, loop_range(stmt, frame.ranges)),
            ):
                emit(frame, stmt.body)
        case Invoke() if is_barrier(stmt):
            call_intrinsic(frame.builder, _BARRIER, ir.VoidType(), [])
        case Invoke() if is_dot_product(stmt):
            emit_dot(frame, stmt)
        case Invoke() if is_warp_product(stmt):
            emit_warp_product(frame, stmt)
        case Invoke() | Block():
            raise frame.error(f"launches have no {type(stmt).__name__}, but {KNOWN}")
        case _:
            assert_never(stmt)


def _unrolled(frame: Frame, loop: For) -> int:
    """The iterations of a loop that is written out."""
    extent = known_number(loop.extent, frame)
    if extent is None:
        raise frame.error(f"{loop.var.name} is {loop.kind.value}, and its extent is not known")
    return extent


@contextmanager
def _loop(frame: Frame, loop: For) -> Iterator[Any]:
    """A loop, counted in 32 bits where its extent fits; yields its variable, or the number 0 of the
    only iteration."""
    extent = known_number(loop.extent, frame)
    if extent == 1:
        yield 0
    elif extent is None or not 0 < extent < 1 << 31:
        value = evaluate(frame, loop.extent)
        with counted_loop(frame.builder, constant(I64, 0), value) as index:
            yield index
    else:
        kind = ir.IntType(32)
        begin, end = constant(kind, 0), constant(kind, extent)
        with counted_loop(frame.builder, begin, end, nonempty=True, bits=32) as index:
            yield index


def _local(frame: Frame, buffer: Buffer) -> Any:
    """The memory of a buffer of one thread: registers, where indices are known when compiling."""
    memory = frame.entry.alloca(ir.ArrayType(memory_type(buffer.dtype), max(buffer.size, 1)))
    memory.align = buffer.dtype.numpy.itemsize
    memory.type = POINTER  # llvmlite's alloca has a typed pointer
    return memory
