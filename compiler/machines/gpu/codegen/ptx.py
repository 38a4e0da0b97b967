"""Launches as PTX: LLVM's code for NVIDIA's GPUs, a kernel for each launch.

Loops are unrolled where the schedule says so, and nowhere else, so that the text has a barrier for
each of the launch. Products and sums round twice, as in OpenCL C: LLVM writes `mul.rn` and
`add.rn`, which `ptxas` does not contract.
"""

from __future__ import annotations

from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.machine_code import machine_of, optimise
from tandem.compiler.machines.gpu.codegen.ptx_module import llvm_text
from tandem.compiler.machines.gpu.launch import GpuProgram

TRIPLE = "nvptx64-nvidia-cuda"
"""LLVM's name of the target."""
PROCESSORS = ("sm_80", "sm_90")
"""GPUs that there is code for, by LLVM's and `ptxas`'s names: A100 and H100."""


def ptx_text(program: GpuProgram, processor: str = PROCESSORS[0]) -> str:
    """The PTX of a program: an entry `opencl.kernel_name(launch)` for each launch, whose parameters
    are the addresses of the launch's buffers (`ir.stmt.parameters`); to be launched with its grid's
    blocks, of its grid's threads.

    Raises
    ------
    CodegenError
        For a processor that is not among `PROCESSORS`; if a launch calls a function that has no
        formula here, or has memory of another scope than a GPU's; if LLVM has no code for NVIDIA's
        GPUs.
    """
    _check(processor)
    target = CpuTarget(TRIPLE, processor, ())
    machine = machine_of(target)
    return str(machine.emit_assembly(optimise(llvm_text(program, target), machine)))


def capability_of(processor: str) -> tuple[int, int]:
    """The compute capability that NVIDIA's drivers give for a processor. Raises `CodegenError` as
    `ptx_text` for one that is not among `PROCESSORS`."""
    _check(processor)
    number = int(processor.removeprefix("sm_"))
    return number // 10, number % 10


def _check(processor: str) -> None:
    if processor not in PROCESSORS:
        raise CodegenError(f"no PTX for {processor}: there is for {', '.join(PROCESSORS)}")
