"""The devices that networks can run on here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.runtime.devices.cuda import CUDA, cuda_gpus
from tandem.runtime.devices.opencl import OPENCL, opencl_devices
from tandem.runtime.errors import RunError


@dataclass(frozen=True, slots=True)
class ListedDevice:
    """A device that `--device` names.

    Attributes
    ----------
    option
        The value of `--device`.
    name
        What it is called; empty if it is not there.
    detail
        What is known of it, or why it is not there.
    """

    option: str
    name: str
    detail: str


def listed_devices() -> Iterator[ListedDevice]:
    """The accelerator, this processor, the devices of OpenCL and NVIDIA's GPUs; of several devices
    of an option the first is taken."""
    yield ListedDevice("accelerator", "simulated", "of any configuration: --config, --engine")
    host = CpuTarget.host()
    yield ListedDevice("cpu", host.cpu, f"threads: {host.threads}")
    yield from _of_opencl()
    yield from _of_cuda()


def _of_opencl() -> Iterator[ListedDevice]:
    try:
        found = opencl_devices()
    except RunError as error:
        yield ListedDevice(OPENCL, "", str(error))
        return
    if not found:
        yield ListedDevice(OPENCL, "", "there is no driver: pocl-binary-distribution is one")
    for device in found:
        memory = device.global_mem_size >> 20
        shared = device.local_mem_size >> 10
        detail = f"{device.platform.name}; {memory:,} MiB, {shared:,} KiB shared by a block"
        yield ListedDevice(OPENCL, device.name, detail)


def _of_cuda() -> Iterator[ListedDevice]:
    try:
        found = cuda_gpus()
    except RunError as error:
        yield ListedDevice(CUDA, "", str(error))
        return
    if not found:
        yield ListedDevice(CUDA, "", "the driver has no GPU")
    for gpu in found:
        major, minor = gpu.capability
        detail = f"{gpu.memory >> 20:,} MiB, compute capability {major}.{minor}"
        yield ListedDevice(CUDA, gpu.name, detail)
