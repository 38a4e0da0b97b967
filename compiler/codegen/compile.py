"""From a program to native code, in one step."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.module import build_module, entry_name
from compiler.codegen.optimise import machine_code
from compiler.codegen.target import CpuTarget
from compiler.ir.operands import parameters
from compiler.ir.stmt import Function, LoopKind
from compiler.ir.visit import loops
from compiler.lower.pipeline import CPU_PASSES, Pass, lower
from runtime.native import NativeFunction, ObjectCode, Parameter, ThreadPool, load

__all__ = ["compile_function", "emit_object"]


def emit_object(
    function: Function, target: CpuTarget, passes: Sequence[Pass] = CPU_PASSES
) -> ObjectCode:
    """Object code of a program, with or without blocks, after these passes.

    Raises
    ------
    CodegenError
        If the program holds what a CPU cannot do, or `target` cannot.
    """
    plain = lower(function, passes)
    text, storage = build_module(plain, target)
    return ObjectCode(
        name=function.name,
        symbol=entry_name(function.name),
        triple=target.triple,
        features=target.features,
        parameters=tuple(
            Parameter(each.name, each.shape, each.dtype.numpy.name) for each in parameters(plain)
        ),
        inputs=tuple(each.name for each in plain.inputs),
        outputs=tuple(each.name for each in plain.outputs),
        shared_bytes=storage.shared_bytes,
        worker_bytes=storage.worker_bytes,
        parallel=any(each.kind is LoopKind.PARALLEL for each in loops(plain.body)),
        code=machine_code(text, target),
    )


def compile_function(
    function: Function, target: CpuTarget, pool: ThreadPool | None = None
) -> NativeFunction:
    """A program as a function of arrays, on this machine.

    Parallel loops run on `pool`, or on a new one of `target.threads` threads.
    """
    return load(emit_object(function, target), threads=target.threads, pool=pool)
