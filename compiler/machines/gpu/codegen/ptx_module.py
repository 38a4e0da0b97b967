"""The LLVM module of a GPU's program: kernels, their grids, and memory by its address space."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Binary, Unary
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import PrimFunc, parameters
from tandem.compiler.ir.visit import buffers_in, expressions, statements, subexpressions
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation
from tandem.compiler.machines.cpu.codegen.llvm import (
    I32,
    I64,
    call_intrinsic,
    memory_type,
)
from tandem.compiler.machines.cpu.codegen.math_functions import is_of_library
from tandem.compiler.machines.cpu.codegen.module import BUILDING
from tandem.compiler.machines.cpu.codegen.tasks import close_frame, open_frame
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name
from tandem.compiler.machines.gpu.codegen.ptx_statements import emit
from tandem.compiler.machines.gpu.launch import BLOCK, THREAD, GpuProgram, grid_of

GLOBAL_SPACE, SHARED_SPACE = 1, 3
"""LLVM's numbers of a GPU's memories; that of one thread is LLVM's stack."""
_NUMBERS = {
    BLOCK: "llvm.nvvm.read.ptx.sreg.ctaid.x",
    THREAD: "llvm.nvvm.read.ptx.sreg.tid.x",
}
"""What reads the registers of a thread's numbers."""


def llvm_text(program: GpuProgram, target: CpuTarget) -> str:
    """The LLVM module of a program's launches. Raises `CodegenError` as `ptx.ptx_text`."""
    for launch in program.launches:
        _check_functions(launch)
    with BUILDING:
        module = ir.Module(program.name)
        module.triple = target.triple
        for launch in program.launches:
            _kernel(module, launch, target)
        return str(module)


def _check_functions(launch: PrimFunc) -> None:
    """Raises `CodegenError` for a function of the C library, which a GPU does not have."""
    for stmt in statements(launch.body):
        for expr in expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, Unary | Binary) and is_of_library(part.op):
                    raise CodegenError(
                        f"{launch.name}: {part.op.value} of {part.dtype} has no formula in PTX"
                    )


def _kernel(module: Any, launch: PrimFunc, target: CpuTarget) -> None:
    grid, passed = grid_of(launch), parameters(launch)
    kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(addrspace=GLOBAL_SPACE)] * len(passed))
    kernel = ir.Function(module, kind, kernel_name(launch))
    kernel.calling_convention = "ptx_kernel"
    kernel.attributes.add("nounwind")
    # The number of a block's threads: registers are shared out among so many.
    module.add_named_metadata("nvvm.annotations", [kernel, "reqntidx", I32(grid.threads)])
    for argument in kernel.args:
        argument.add_attribute("noalias")
        argument.attributes.align = _ALIGNMENT
    frame = open_frame(kernel, _tags(module, launch), target, [launch.name])
    frame.converts_halves = True
    frame.places = {
        buffer.name: BufferLocation(buffer, pointer)
        for buffer, pointer in zip(passed, kernel.args, strict=True)
    }
    for buffer in grid.shared:
        frame.places[buffer.name] = BufferLocation(buffer, _shared(module, kernel.name, buffer))
    with (
        frame.bound(BLOCK.name, _number(frame.builder, BLOCK), Interval(0, grid.blocks - 1)),
        frame.bound(THREAD.name, _number(frame.builder, THREAD), Interval(0, grid.threads - 1)),
    ):
        emit(frame, grid.body)
    close_frame(frame)


def _number(builder: Any, variable: Any) -> Any:
    """The number of this block, or of this thread."""
    return builder.zext(call_intrinsic(builder, _NUMBERS[variable], I32, []), I64)


def _shared(module: Any, kernel: str, buffer: Buffer) -> Any:
    """The memory of a buffer that a block's threads share."""
    kind = ir.ArrayType(memory_type(buffer.dtype), max(buffer.size, 1))
    memory = ir.GlobalVariable(module, kind, f"{kernel}.{buffer.name}", SHARED_SPACE)
    memory.linkage = "internal"
    memory.align = _ALIGNMENT
    memory.initializer = ir.Constant(kind, ir.Undefined)
    memory.type = ir.PointerType(addrspace=SHARED_SPACE)  # llvmlite's has a typed pointer
    return memory


_ALIGNMENT = 16
"""Bytes that a thread loads at once at most. Memory that a driver allocates is aligned to 256."""


def _tags(module: Any, launch: PrimFunc) -> dict[str, tuple[Any, Any]]:
    """Alias metadata by buffer: no two of them overlap."""
    domain = module.add_metadata([kernel_name(launch)])
    names = [each.name for each in buffers_in(launch)]
    scopes = {name: module.add_metadata([name, domain]) for name in names}
    tags = {}
    for name in names:
        others = [scopes[other] for other in names if other != name]
        own = module.add_metadata([scopes[name]])
        tags[name] = own, module.add_metadata(others) if others else None
    return tags
