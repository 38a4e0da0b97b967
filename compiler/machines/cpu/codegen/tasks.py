"""Parallel loops: the body becomes a function of its own, which the caller's launcher runs.

    task(closure, begin, end, worker)      iterations begin..end-1, as worker number `worker`
    launch(call, task, closure, count)     returns when all iterations have run

The closure holds the variables and pointers that the body uses. The launcher is a pointer to the
call's state, which begins with the address of `launch`. A parallel loop inside a task is serial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.stmt import For, Stmt
from tandem.compiler.lower.ranges import loop_range
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import (
    BYTE,
    I32,
    I64,
    POINTER,
    constant,
    counted_loop,
)
from tandem.compiler.machines.cpu.codegen.storage import Slot, StoragePlan
from tandem.runtime.native import ALIGNMENT

TASK = ir.FunctionType(ir.VoidType(), [POINTER, I64, I64, I64])
_LAUNCH = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, POINTER, I64])

Emit = Callable[[Frame, Stmt, "Tasks"], None]


@dataclass
class Tasks:
    """The module's parallel loops, its storage, and the size of the target's registers."""

    module: Any
    storage: StoragePlan
    register_bits: int
    count: int = 0

    def allocate(self, frame: Frame, slot: Slot) -> Any:
        """The pointer to a newly allocated buffer."""
        name = slot.buffer.name
        if name in frame.stack:
            return frame.stack[name]
        if slot.offset is None:
            memory = stack(frame.entry, ir.ArrayType(BYTE, slot.bytes))
        else:
            where = [constant(I64, slot.offset)]
            memory = frame.entry.gep(frame.workspace, where, source_etype=BYTE)
        frame.stack[name] = memory
        return memory

    def start(self, frame: Frame, loop: For, extent: Any, emit: Emit) -> None:
        """Emit a parallel loop as a task, and its launch."""
        needed = facts(loop.body)
        bindings = {
            name: value
            for name, value in frame.bindings.items()
            if name in needed.variables and isinstance(value, ir.Value)
        }
        places = {name: place for name, place in frame.places.items() if name in needed.buffers}
        values = [*bindings.values(), *(each.pointer for each in places.values()), frame.workspace]
        kind = ir.LiteralStructType([each.type for each in values])
        closure = stack(frame.entry, kind)
        builder = frame.builder
        for number, value in enumerate(values):
            builder.store(value, _field(builder, closure, kind, number))

        task = ir.Function(self.module, TASK, f"{frame.builder.function.name}.{self.count}")
        task.linkage = "internal"
        task.attributes.add("nounwind")
        self.count += 1
        inner = open_frame(task, frame.tags, frame.target, [*frame.where])
        held = [
            inner.entry.load(_field(inner.entry, task.args[0], kind, number), typ=value.type)
            for number, value in enumerate(values)
        ]
        inner.bindings = dict(zip(bindings, held, strict=False))
        inner.bindings |= {
            name: value for name, value in frame.bindings.items() if isinstance(value, int)
        }
        inner.ranges = dict(frame.ranges)
        inner.streamed = frame.streamed
        inner.places = {
            name: replace(place, pointer=pointer, stack=False)
            for (name, place), pointer in zip(places.items(), held[len(bindings) :], strict=False)
        }
        inner.workspace = self._own_part(inner, held[-1], task.args[3])
        self._body(inner, loop, emit)
        _launch(builder, frame.launch, task, closure, frame.number(extent))

    def _own_part(self, frame: Frame, workspace: Any, worker: Any) -> Any:
        """The worker's own part of the workspace."""
        bytes_before = frame.entry.add(
            constant(I64, self.storage.shared_bytes),
            frame.entry.mul(worker, constant(I64, self.storage.worker_bytes), flags=("nsw",)),
            flags=("nsw",),
        )
        return frame.entry.gep(workspace, [bytes_before], source_etype=BYTE)

    def _body(self, frame: Frame, loop: For, emit: Emit) -> None:
        begin, end = frame.builder.function.args[1:3]
        with (
            counted_loop(frame.builder, begin, end) as index,
            frame.bound(loop.var.name, index, loop_range(loop, frame.ranges)),
        ):
            emit(frame, loop.body, self)
        close_frame(frame)


def open_frame(function: Any, tags: Any, target: CpuTarget, where: list[str]) -> Frame:
    """A frame at the beginning of an LLVM function."""
    entry, start = (function.append_basic_block(name) for name in ("entry", "start"))
    builder, stack = ir.IRBuilder(start), ir.IRBuilder(entry)
    return Frame(builder, stack, None, None, tags, target, where)


def close_frame(frame: Frame) -> None:
    """Complete an LLVM function."""
    frame.builder.ret_void()
    frame.entry.branch(frame.entry.function.blocks[1])


def stack(builder: Any, kind: Any) -> Any:
    """A pointer to aligned stack memory for a value of type `kind`."""
    memory = builder.alloca(kind)
    memory.align = ALIGNMENT
    memory.type = POINTER  # llvmlite's alloca has a typed pointer
    return memory


def _field(builder: Any, closure: Any, kind: Any, number: int) -> Any:
    where = [constant(I32, 0), constant(I32, number)]
    return builder.gep(closure, where, source_etype=kind)


def _launch(builder: Any, call: Any, task: Any, closure: Any, count: Any) -> None:
    alone = builder.icmp_unsigned("==", call, ir.Constant(POINTER, None))
    with builder.if_else(alone) as (serial, parallel):
        with serial:
            builder.call(task, [closure, constant(I64, 0), count, constant(I64, 0)])
        with parallel:
            launch = builder.load(call, typ=_LAUNCH.as_pointer())
            builder.call(launch, [call, task, closure, count])
