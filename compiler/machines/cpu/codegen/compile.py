"""Compilation of a program to native code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

from tandem.base.object_cache import ObjectCache
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Stmt, parameters
from tandem.compiler.ir.visit import loops, rewrite
from tandem.compiler.lower.lowering import LOOP_PASSES, LoopPass, lower
from tandem.compiler.machines.cpu.codegen.apart import made_apart
from tandem.compiler.machines.cpu.codegen.constant_scalars import inline_constants
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.machine_code import (
    SETTINGS,
    code_of,
    machine_of,
    optimise,
)
from tandem.compiler.machines.cpu.codegen.module import build_module, entry_name
from tandem.runtime.native import NativeFunction, ObjectCode, Parameter, ThreadPool, load


def emit_object(
    function: PrimFunc,
    target: CpuTarget,
    passes: Sequence[LoopPass] = LOOP_PASSES,
    streamed: Collection[str] = (),
) -> ObjectCode:
    """The object code of a program, which may have blocks, lowered by `passes`: made now, or before
    of an equal program.

    Parameters
    ----------
    streamed
        Names of inputs that are read in the order of their memory, as packed weights are: where
        vectors of them are read, later cache lines are prefetched.

    Raises
    ------
    CodegenError
        If no CPU can run the program, or `target` cannot.
    """
    return _emitted(function, target, tuple(passes), frozenset(streamed))


# A network that is compiled again has the same kernels, and other networks some of them.
@lru_cache(maxsize=1024)
def _emitted(
    function: PrimFunc,
    target: CpuTarget,
    passes: tuple[LoopPass, ...],
    streamed: frozenset[str],
) -> ObjectCode:
    plain = _plain(function, target, passes)
    text, storage = build_module(plain, target, streamed)
    return ObjectCode(
        name=function.name,
        symbol=entry_name(function.name),
        triple=target.triple,
        features=target.features,
        parameters=tuple(Parameter(p.name, p.shape, p.dtype.numpy.name) for p in parameters(plain)),
        inputs=tuple(each.name for each in plain.inputs),
        outputs=tuple(each.name for each in plain.outputs),
        shared_bytes=storage.shared_bytes,
        worker_bytes=storage.worker_bytes,
        parallel=any(each.kind is LoopKind.PARALLEL for each in loops(plain.body)),
        code=_machine_code(text, target),
    )


def emit_assembly(
    function: PrimFunc,
    target: CpuTarget,
    passes: Sequence[LoopPass] = LOOP_PASSES,
    streamed: Collection[str] = (),
) -> str:
    """The assembly of a program: the parameters and errors of `emit_object`."""
    text, _ = build_module(_plain(function, target, passes), target, streamed)
    machine = machine_of(target)
    return str(machine.emit_assembly(optimise(text, machine)))


def _plain(function: PrimFunc, target: CpuTarget, passes: Sequence[LoopPass]) -> PrimFunc:
    """A program of loops that the processor has threads for; where it computes floats by integers,
    with constants in place."""
    plain = lower(function, passes)
    if not target.has_fpu:
        plain = inline_constants(plain)
    if target.threaded:
        return plain
    return replace(plain, body=rewrite(plain.body, _in_order))


def _in_order(stmt: Stmt) -> Stmt:
    """A parallel loop as one whose iterations run one after the other."""
    if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
        return replace(stmt, kind=LoopKind.SERIAL)
    return stmt


def compile_function(
    function: PrimFunc,
    target: CpuTarget,
    pool: ThreadPool | None = None,
    streamed: Collection[str] = (),
) -> NativeFunction:
    """A program compiled and loaded as a function of arrays, on this machine.

    Parallel loops run on `pool`, or on a new one of `target.threads` threads; `streamed` as in
    `emit_object`.
    """
    code = emit_object(function, target, streamed=streamed)
    return load(code, threads=target.threads, pool=pool)


def _machine_code(text: str, target: CpuTarget) -> bytes:
    """The object file of an LLVM module's text, made now or before."""
    settings = (target.triple, target.cpu, target.feature_string, target.abi, target.relocation)

    def made() -> bytes:
        return code_of(text, *settings) if target.proven else made_apart(text, settings)

    return ObjectCache.default().object_of((*SETTINGS, *settings, text), made)
