"""The LLVM module of a whole function."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

from llvmlite import ir

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.stmt import For, Invoke, LoopKind, PrimFunc, Stmt, Store, parameters
from tandem.compiler.ir.visit import buffers_in, children
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation
from tandem.compiler.machines.cpu.codegen.llvm import POINTER
from tandem.compiler.machines.cpu.codegen.statements import emit
from tandem.compiler.machines.cpu.codegen.storage import StoragePlan, plan_storage
from tandem.compiler.machines.cpu.codegen.tasks import Tasks, close_frame, open_frame
from tandem.compiler.machines.cpu.codegen.vector_strips import constant_extent, strips_of

BUILDING = threading.Lock()
"""Held while modules are built: llvmlite fills tables of its own at their first use, and a second
thread would see a part of them."""

MOST_STATEMENTS = 20_000
"""The most stores and intrinsics after unrolling: about half a minute of compiling."""


def entry_name(name: str) -> str:
    """The linker symbol of a compiled function, which no library defines."""
    return f"compiled.{name}"


def build_module(
    function: PrimFunc, target: CpuTarget, streamed: Collection[str] = ()
) -> tuple[str, StoragePlan]:
    """The LLVM text of a function of plain loops, and its storage.

    The LLVM function takes a pointer for each of the `parameters`, the workspace, and the launcher
    of parallel loops or NULL (`compiler.machines.cpu.codegen.tasks`).

    Parameters
    ----------
    streamed
        As in `compiler.machines.cpu.codegen.emit_object`.

    Raises
    ------
    CodegenError
        For parameters that are not in global memory, and programs that are too long.
    """
    passed = parameters(function)
    for buffer in passed:
        if buffer.scope != Scope.GLOBAL:
            raise CodegenError(
                f"{function.name}: parameter {buffer.name} lies in {buffer.scope.value}, "
                "which callers cannot access"
            )
    _check_size(function, target.register_bits)
    storage = plan_storage(function, target.register_bits)
    with BUILDING:
        return _text(function, target, storage, streamed), storage


def _text(
    function: PrimFunc, target: CpuTarget, storage: StoragePlan, streamed: Collection[str]
) -> str:
    passed = parameters(function)
    module = ir.Module(function.name)
    module.triple = target.triple
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * (len(passed) + 2))
    native = ir.Function(module, kind, entry_name(function.name))
    native.attributes.add("nounwind")
    for argument in native.args[:-1]:
        argument.add_attribute("noalias")
    tags = _tags(module, function, storage)
    frame = open_frame(native, tags, target, [function.name])
    frame.places = {
        buffer.name: BufferLocation(buffer, argument)
        for buffer, argument in zip(passed, native.args, strict=False)
    }
    frame.workspace, frame.launch = native.args[-2:]
    frame.streamed = frozenset(streamed)
    emit(frame, function.body, Tasks(module, storage, target.register_bits))
    close_frame(frame)
    return str(module)


def _check_size(function: PrimFunc, register_bits: int) -> None:
    """Raises `CodegenError` for a program with too many statements after unrolling."""
    count, loops = _written(function.body, register_bits, False)
    if count > MOST_STATEMENTS:
        raise CodegenError(
            f"{function.name}: unrolled and vectorized loops write out {count} statements, more "
            f"than {MOST_STATEMENTS}; most of them inside {', '.join(loops)}"
        )


def _written(stmt: Stmt, register_bits: int, in_lanes: bool) -> tuple[int, tuple[str, ...]]:
    """The number of stores and intrinsics after unrolling, and the loops that make most of them."""
    if isinstance(stmt, Store | Invoke):
        return 1, ()
    copies = 1
    names: tuple[str, ...] = ()
    if isinstance(stmt, For) and stmt.kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
        if stmt.kind is LoopKind.UNROLLED or in_lanes:
            copies = constant_extent(stmt)
        else:
            copies, in_lanes = len(strips_of(stmt, register_bits)), True
        names = (stmt.var.name,)
    found = [_written(each, register_bits, in_lanes) for each in children(stmt)]
    most = max(found, default=(0, ()))
    return copies * sum(count for count, _ in found), (*names, *most[1])


def _tags(module: Any, function: PrimFunc, storage: StoragePlan) -> dict[str, tuple[Any, Any]]:
    """Alias metadata by buffer: buffers do not overlap, except those that share storage."""
    domain = module.add_metadata([function.name])
    names = [each.name for each in buffers_in(function)]
    scopes = {name: module.add_metadata([name, domain]) for name in names}
    tags = {}
    for name in names:
        slot = storage.slots.get(name)
        sharing = {
            other for other, its in storage.slots.items() if slot is not None and slot.overlaps(its)
        }
        others = [scopes[other] for other in names if other != name and other not in sharing]
        own = module.add_metadata([scopes[name]])
        tags[name] = own, module.add_metadata(others) if others else None
    return tags
