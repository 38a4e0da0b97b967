"""Programs for a GPU as code of artifacts."""

from __future__ import annotations

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import parameters
from tandem.compiler.machines.gpu.codegen.opencl import OPTIONS, kernel_name, opencl_text
from tandem.compiler.machines.gpu.launch import GpuProgram, grid_of
from tandem.runtime.artifact.opencl import GpuArray, GpuLaunch, OpenClCode


def opencl_code(program: GpuProgram) -> OpenClCode:
    """The program in OpenCL C, with its launches. Raises `CodegenError` as `opencl_text`."""
    launches = []
    for launch in program.launches:
        grid = grid_of(launch)
        arguments = tuple(each.name for each in parameters(launch))
        launches.append(GpuLaunch(kernel_name(launch), grid.blocks, grid.threads, arguments))
    return OpenClCode(
        program.name,
        opencl_text(program),
        OPTIONS,
        tuple(map(_array, program.inputs)),
        tuple(map(_array, program.outputs)),
        tuple(map(_array, program.scratch)),
        tuple(launches),
    )


def _array(buffer: Buffer) -> GpuArray:
    return GpuArray(buffer.name, buffer.shape, buffer.dtype.numpy.name)
