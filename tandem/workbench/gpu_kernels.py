"""A network's kernels in PTX, and what they need of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tandem.compiler.machines.gpu.backend import gpu_kernel_program
from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS, ptx_text
from tandem.compiler.machines.gpu.machine import nvidia_gpu
from tandem.compiler.machines.gpu.network_programs import network_kernels
from tandem.compiler.machines.gpu.ptxas import KernelResources, assembled, ptxas_path
from tandem.compiler.machines.gpu.schedules.tile_template import multiplications
from tandem.workbench.models import ModelOptions, import_model

__all__ = ["PROCESSORS", "KernelText", "gpu_kernels"]


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel in PTX.

    Attributes
    ----------
    name
        Of the kernel in the network.
    text
        PTX, with an entry for each launch.
    launches
        Their number.
    products
        How it multiplies matrices: by warps, or by threads and why.
    needs
        What `ptxas` says of each entry; None where there is no `ptxas`.
    """

    name: str
    text: str
    launches: int
    products: tuple[str, ...]
    needs: tuple[KernelResources, ...] | None


def gpu_kernels(model: str, options: ModelOptions, processor: str) -> Iterator[KernelText]:
    """The kernels of a model for a GPU, one of `PROCESSORS`.

    Raises
    ------
    CompilerError
        As `import_model`, and if a kernel has no PTX or `ptxas` refuses it.
    """
    function = import_model(model, options, None).prepared(None).function
    assembler = ptxas_path()
    machine = nvidia_gpu(processor)
    for name, kernel in network_kernels(function, machine).items():
        program = gpu_kernel_program(kernel, machine)
        products = tuple(map(str, multiplications(kernel, machine)))
        text = ptx_text(program, processor)
        needs = None if assembler is None else assembled(text, processor, assembler)
        yield KernelText(name, text, len(program.launches), products, needs)
