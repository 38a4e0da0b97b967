"""What a part of the code generator emits for a processor: its instructions, and what they compute
on this one, as most of LLVM's language belongs to none."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numpy.typing import NDArray

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame
from tandem.compiler.machines.cpu.codegen.llvm import I64, MASK, POINTER, constant
from tandem.compiler.machines.cpu.codegen.machine_code import machine_of, optimise
from tandem.compiler.machines.cpu.codegen.tasks import close_frame, open_frame

_X86 = "x86_64-unknown-linux-gnu"
SSE = CpuTarget(_X86, "x86-64", ("sse2",))
AVX2 = CpuTarget(_X86, "znver3", ("avx", "avx2", "fma"))
AVX512 = CpuTarget(_X86, "znver4", (*AVX2.features, "avx512bw", "avx512f", "avx512vl"))
_NAME = "emitted"


def frame_of(target: CpuTarget, *buffers: Buffer, numbers: Sequence[str] = ()) -> Frame:
    """A frame at the beginning of a function that takes pointers to buffers, and then numbers that
    are bound to these names."""
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(buffers) + [I64] * len(numbers))
    function = ir.Function(ir.Module(_NAME), kind, _NAME)
    module = function.module
    domain = module.add_metadata(["buffers"])
    scopes = {each.name: module.add_metadata([each.name, domain]) for each in buffers}
    tags = {name: (module.add_metadata([scope]), None) for name, scope in scopes.items()}
    frame = open_frame(function, tags, target, ["f"])
    pointers, passed = function.args[: len(buffers)], function.args[len(buffers) :]
    for buffer, pointer in zip(buffers, pointers, strict=True):
        frame.places[buffer.name] = BufferLocation(buffer, pointer)
    frame.bindings |= dict(zip(numbers, passed, strict=True))
    return frame


def instructions(frame: Frame) -> list[Any]:
    """All instructions so far, those of the entry first."""
    return [each for block in frame.builder.function.blocks for each in block.instructions]


def opcodes(frame: Frame) -> list[str]:
    """The names of all instructions so far; of calls, those of the functions."""
    return [
        made.callee.name if isinstance(made, ir.CallInstr) else made.opname
        for made in instructions(frame)
    ]


def mask_of(truths: Sequence[bool]) -> Any:
    """A constant mask."""
    return constant(ir.VectorType(MASK, len(truths)), truths)


def accesses(frame: Frame) -> list[str]:
    """Instructions that touch memory, without the suffix of pointers."""
    words = [word.removesuffix(".p0") for word in opcodes(frame)]
    return [word for word in words if word in ("load", "store") or word.startswith("llvm.masked")]


def fixed_masks(frame: Frame) -> list[list[int]]:
    """The constant masks of masked accesses, in their order."""
    calls = [each for each in instructions(frame) if isinstance(each, ir.CallInstr)]
    masks = [part for each in calls for part in each.operands if part.type == _mask_kind(part)]
    return [[int(bit.constant) for bit in mask.constant] for mask in masks]


def _mask_kind(value: Any) -> Any:
    """The type of a constant mask of the value's lanes; None of anything else."""
    if isinstance(value, ir.Constant) and isinstance(value.type, ir.VectorType):
        return ir.VectorType(MASK, value.type.count)
    return None


def run_emitted(frame: Frame, *passed: NDArray[Any] | int) -> None:
    """Complete the frame's function, and run it here on arrays, whose memory it changes, and
    numbers."""
    close_frame(frame)
    machine = machine_of(CpuTarget.host(threads=1))
    values = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in passed]
    kinds = [ctypes.c_void_p if isinstance(each, np.ndarray) else ctypes.c_int64 for each in passed]
    module = optimise(str(frame.builder.module), machine)
    with binding.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(_NAME))(*values)
