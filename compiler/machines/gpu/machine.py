"""What the compiler knows of a GPU, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class KernelLanguage(Enum):
    """The language in which kernels are given to the device's driver."""

    OPENCL_C = "OpenCL C"
    PTX = "PTX"


@dataclass(frozen=True, slots=True)
class GpuMachine:
    """The limits of a GPU.

    Attributes
    ----------
    name
        Of the interface: the name that steps have for the device.
    threads
        The most threads of a block.
    shared_bytes
        The most bytes of a block's shared memory.
    language
        Of its kernels.
    warp_products
        Whether it has instructions by which the threads of a warp multiply matrices.
    processor
        The least GPU that PTX is for, by LLVM's name; empty for OpenCL C.
    """

    name: str = "opencl"
    threads: int = 256
    shared_bytes: int = 32 * 1024
    language: KernelLanguage = KernelLanguage.OPENCL_C
    processor: str = ""
    warp_products: bool = False


def nvidia_gpu(processor: str = "sm_80") -> GpuMachine:
    """NVIDIA's GPUs by their driver, from a processor on."""
    return GpuMachine("cuda", language=KernelLanguage.PTX, processor=processor, warp_products=True)
