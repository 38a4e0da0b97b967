"""Programs for a GPU as code of artifacts."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import parameters
from tandem.compiler.machines.gpu.codegen.opencl import OPTIONS, kernel_name, opencl_text
from tandem.compiler.machines.gpu.codegen.ptx import capability_of, ptx_text
from tandem.compiler.machines.gpu.launch import GpuProgram, grid_of
from tandem.compiler.machines.gpu.machine import GpuMachine, KernelLanguage
from tandem.runtime.artifact.gpu_code import GpuArray, GpuCode, GpuLaunch
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.artifact.ptx import PtxCode


def gpu_code(program: GpuProgram, machine: GpuMachine) -> GpuCode:
    """The program in the language of a machine, with its launches. Raises `CodegenError` as
    `opencl_text` or `ptx_text`."""
    match machine.language:
        case KernelLanguage.OPENCL_C:
            return opencl_code(program)
        case KernelLanguage.PTX:
            return ptx_code(program, machine.processor)
        case _:
            assert_never(machine.language)


def opencl_code(program: GpuProgram) -> OpenClCode:
    """The program in OpenCL C, with its launches. Raises `CodegenError` as `opencl_text`."""
    return OpenClCode(program.name, opencl_text(program), *_form(program), OPTIONS)


def ptx_code(program: GpuProgram, processor: str) -> PtxCode:
    """The program in PTX, with its launches. Raises `CodegenError` as `ptx_text`."""
    text = ptx_text(program, processor)
    return PtxCode(program.name, text, *_form(program), capability_of(processor))


_Arrays: TypeAlias = tuple[GpuArray, ...]


def _form(program: GpuProgram) -> tuple[_Arrays, _Arrays, _Arrays, tuple[GpuLaunch, ...]]:
    """Inputs, outputs, scratch and launches."""
    launches = []
    for launch in program.launches:
        grid = grid_of(launch)
        arguments = tuple(each.name for each in parameters(launch))
        launches.append(GpuLaunch(kernel_name(launch), grid.blocks, grid.threads, arguments))
    buffers = (program.inputs, program.outputs, program.scratch)
    inputs, outputs, scratch = (tuple(map(_array, each)) for each in buffers)
    return inputs, outputs, scratch, tuple(launches)


def _array(buffer: Buffer) -> GpuArray:
    return GpuArray(buffer.name, buffer.shape, buffer.dtype.numpy.name)
