"""The LLVM module of a whole function."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from compiler.codegen.cpu_target import CpuTarget
from compiler.codegen.frame import BufferLocation
from compiler.codegen.llvm import POINTER
from compiler.codegen.statements import emit
from compiler.codegen.storage import StoragePlan, plan_storage
from compiler.codegen.tasks import LAUNCHER, Tasks, close_frame, open_frame
from compiler.codegen.vector_strips import constant_extent, cut
from compiler.errors import CodegenError
from compiler.ir.buffer import Scope
from compiler.ir.operands import parameters
from compiler.ir.stmt import For, Function, Invoke, LoopKind, Stmt, Store
from compiler.ir.visit import buffers_in, children

__all__ = ["build_module", "entry_name"]

MOST_STATEMENTS = 20_000
"""Stores and intrinsics, written out: about half a minute of compiling."""


def entry_name(name: str) -> str:
    """The symbol of a function: none that a library has, whatever the function is called."""
    return f"compiled.{name}"


def build_module(function: Function, target: CpuTarget) -> tuple[str, StoragePlan]:
    """LLVM's text of a function of plain loops, and its storage.

    The function takes a pointer for each of its `parameters`, the workspace, and the launcher of
    parallel loops or NULL (`compiler.codegen.tasks`).
    """
    passed = parameters(function)
    for buffer in passed:
        if buffer.scope != Scope.GLOBAL:
            raise CodegenError(
                f"{function.name}: parameter {buffer.name} lies in {buffer.scope.value}, "
                "where no caller reaches it"
            )
    _check_size(function, target.register_bits)
    storage = plan_storage(function, target.register_bits)
    module = ir.Module(function.name)
    module.triple = target.triple
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * (len(passed) + 1) + [LAUNCHER])
    native = ir.Function(module, kind, entry_name(function.name))
    native.attributes.add("nounwind")
    for argument in native.args[:-1]:
        argument.add_attribute("noalias")
    contract = "fma" in target.features or "x86_64" not in target.triple
    tags = _tags(module, function, storage)
    frame = open_frame(native, tags, frozenset(target.features), contract, [function.name])
    frame.places = {
        buffer.name: BufferLocation(buffer, argument)
        for buffer, argument in zip(passed, native.args, strict=False)
    }
    frame.workspace, frame.launch = native.args[-2:]
    emit(frame, function.body, Tasks(module, storage, target.register_bits))
    close_frame(frame)
    return str(module), storage


def _check_size(function: Function, register_bits: int) -> None:
    """Refuse a program that unrolling makes too long to compile; name the loops around most."""
    count, loops = _written(function.body, register_bits, False)
    if count > MOST_STATEMENTS:
        raise CodegenError(
            f"{function.name}: unrolled and vectorized loops write out {count} statements, more "
            f"than {MOST_STATEMENTS}; most of them inside {', '.join(loops)}"
        )


def _written(stmt: Stmt, register_bits: int, in_lanes: bool) -> tuple[int, tuple[str, ...]]:
    """Copies of stores and intrinsics, and the loops that copy most of them."""
    if isinstance(stmt, Store | Invoke):
        return 1, ()
    copies = 1
    names: tuple[str, ...] = ()
    if isinstance(stmt, For) and stmt.kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
        if stmt.kind is LoopKind.UNROLLED or in_lanes:
            copies = constant_extent(stmt)
        else:
            copies, in_lanes = len(cut(stmt, register_bits)), True
        names = (stmt.var.name,)
    found = [_written(each, register_bits, in_lanes) for each in children(stmt)]
    most = max(found, default=(0, ()))
    return copies * sum(count for count, _ in found), (*names, *most[1])


def _tags(module: Any, function: Function, storage: StoragePlan) -> dict[str, tuple[Any, Any]]:
    """Metadata that tells LLVM that buffers do not overlap, except those that share storage."""
    domain = module.add_metadata([function.name])
    buffers = buffers_in(function)
    scopes = {each.name: module.add_metadata([each.name, domain]) for each in buffers}
    tags = {}
    for each in buffers:
        slot = storage.slots.get(each.name)
        others = [
            scopes[other.name]
            for other in buffers
            if other.name != each.name
            and not (
                slot and other.name in storage.slots and slot.overlaps(storage.slots[other.name])
            )
        ]
        own = module.add_metadata([scopes[each.name]])
        tags[each.name] = own, module.add_metadata(others) if others else None
    return tags
