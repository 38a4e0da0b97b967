"""NVIDIA's driver on this processor, for tests without a GPU: the functions of
`cuda.bindings.driver` that the device `cuda` calls.

Memory is the host's. A module is PTX that was made of a known program; its kernels run as
`kernels_on_host` runs them, on the addresses that the launch's array of arguments leads to. What a
driver would refuse is refused: unknown kernels, grids of another size than the kernel's, addresses
that are not allocated, calls outside of the context.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from tandem.compiler.ir.stmt import parameters
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name
from tandem.compiler.machines.gpu.codegen.ptx import ptx_text
from tandem.compiler.machines.gpu.launch import GpuProgram, grid_of
from tests.support.compiler.machines.gpu.kernels_on_host import host_kernels

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT = 0, 1, 2, 201
INVALID_PTX, NOT_FOUND, ILLEGAL_ADDRESS = 218, 500, 700
_NAMES = {
    INVALID_VALUE: b"CUDA_ERROR_INVALID_VALUE",
    OUT_OF_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY",
    INVALID_CONTEXT: b"CUDA_ERROR_INVALID_CONTEXT",
    INVALID_PTX: b"CUDA_ERROR_INVALID_PTX",
    NOT_FOUND: b"CUDA_ERROR_NOT_FOUND",
    ILLEGAL_ADDRESS: b"CUDA_ERROR_ILLEGAL_ADDRESS",
}
_CONTEXT, _STREAM = 11, 12
_ATTRIBUTES = ("MAX_THREADS_PER_BLOCK", "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")


class CudaOnHost:
    """The driver, with one GPU.

    Parameters
    ----------
    programs
        What PTX that is loaded can have been made of, for `sm_80`.
    capability
        The GPU's.
    memory
        Its bytes.

    Attributes
    ----------
    live
        Memory that was allocated and not given back, by address.
    launched
        The number of launches.
    calls
        The names of all calls but those that make the context current, in order.
    """

    def __init__(
        self,
        programs: Sequence[GpuProgram] = (),
        capability: tuple[int, int] = (8, 0),
        memory: int = 1 << 30,
        gpus: int = 1,
    ) -> None:
        self.live: dict[int, Any] = {}
        self.calls: list[str] = []
        self.launched = 0
        self._programs = {ptx_text(each, "sm_80"): each for each in programs}
        self._values = (1024, *capability)
        self._memory = memory
        self._gpus = gpus
        self._current = 0
        names = [f"CU_DEVICE_ATTRIBUTE_{each}" for each in _ATTRIBUTES]
        self.CUdevice_attribute = SimpleNamespace(**{each: each for each in names})
        self._attributes: Mapping[str, int] = dict(zip(names, self._values, strict=True))
        self._modules: list[GpuProgram] = []
        self._recorded: dict[int, float] = {}

    def cuInit(self, flags: int) -> tuple[int]:
        return (SUCCESS if flags == 0 else INVALID_VALUE,)

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return SUCCESS, self._gpus

    def cuDeviceGet(self, number: int) -> tuple[int, int]:
        return SUCCESS, 100 + number

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return SUCCESS, b"Host GPU".ljust(length, b"\0")

    def cuDeviceTotalMem(self, device: int) -> tuple[int, int]:
        return SUCCESS, self._memory

    def cuDeviceGetAttribute(self, key: str, device: int) -> tuple[int, int]:
        return SUCCESS, self._attributes[key]

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return SUCCESS, _CONTEXT

    def cuCtxSetCurrent(self, context: int) -> tuple[int]:
        self._current = context
        return (SUCCESS,)

    def cuGetErrorName(self, status: int) -> tuple[int, bytes]:
        return SUCCESS, _NAMES[status]

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:
        return SUCCESS, b"in words"

    def cuStreamCreate(self, flags: int) -> tuple[int, int]:
        return self._in_context("cuStreamCreate", flags == 0), _STREAM

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        return (self._in_context("cuStreamSynchronize", stream == _STREAM),)

    def cuEventCreate(self, flags: int) -> tuple[int, int]:
        event = 1000 + len(self.calls)
        self._recorded[event] = -1.0
        return self._in_context("cuEventCreate", flags == 0), event

    def cuEventRecord(self, event: int, stream: int) -> tuple[int]:
        right = event in self._recorded and stream == _STREAM
        self._recorded[event] = float(self.launched)
        return (self._in_context("cuEventRecord", right),)

    def cuEventElapsedTime(self, begin: int, end: int) -> tuple[int, float]:
        """A millisecond for each launch between."""
        begun, ended = self._recorded[begin], self._recorded[end]
        status = self._in_context("cuEventElapsedTime", 0 <= begun <= ended)
        return status, ended - begun

    def cuEventDestroy(self, event: int) -> tuple[int]:
        known = self._recorded.pop(event, None) is not None
        return (self._in_context("cuEventDestroy", known),)

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        status = self._in_context("cuMemAlloc", size > 0)
        if status or size + sum(map(len, self.live.values())) > self._memory:
            return status or OUT_OF_MEMORY, 0
        memory = ctypes.create_string_buffer(size)
        address = ctypes.addressof(memory)
        self.live[address] = memory
        return SUCCESS, address

    def cuMemFree(self, address: int) -> tuple[int]:
        return (self._in_context("cuMemFree", self.live.pop(address, None) is not None),)

    def cuMemcpyHtoDAsync(self, to: int, start: int, size: int, stream: int) -> tuple[int]:
        return (self._copied("cuMemcpyHtoDAsync", to, start, to, size, stream),)

    def cuMemcpyDtoHAsync(self, to: int, start: int, size: int, stream: int) -> tuple[int]:
        return (self._copied("cuMemcpyDtoHAsync", to, start, start, size, stream),)

    def cuModuleLoadData(self, image: bytes) -> tuple[int, int]:
        status = self._in_context("cuModuleLoadData", image.endswith(b"\0"))
        program = self._programs.get(image[:-1].decode())
        if status or program is None:
            return status or INVALID_PTX, 0
        self._modules.append(program)
        return SUCCESS, len(self._modules)

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int, Any]:
        program = self._modules[module - 1]
        known = {kernel_name(each).encode() for each in program.launches}
        status = self._in_context("cuModuleGetFunction", True)
        return (status or NOT_FOUND * (name not in known)), (program, name.decode())

    def cuLaunchKernel(self, kernel: Any, *given: int) -> tuple[int]:
        *grid, shared_bytes, stream, arguments, extra = given
        program, name = kernel
        (launch,) = (each for each in program.launches if kernel_name(each) == name)
        wanted = grid_of(launch)
        right = grid == [wanted.blocks, 1, 1, wanted.threads, 1, 1]
        right = right and (shared_bytes, stream, extra) == (0, _STREAM, 0)
        if status := self._in_context("cuLaunchKernel", right):
            return (status,)
        places = (ctypes.c_uint64 * len(parameters(launch))).from_address(arguments)
        addresses = [ctypes.c_uint64.from_address(place).value for place in places]
        if not {*addresses} <= self.live.keys():
            return (ILLEGAL_ADDRESS,)
        with host_kernels(program) as run:
            run(name, addresses)
        self.launched += 1
        return (SUCCESS,)

    def _in_context(self, name: str, right: bool) -> int:
        self.calls.append(name)
        if self._current != _CONTEXT:
            return INVALID_CONTEXT
        return SUCCESS if right else INVALID_VALUE

    def _copied(self, name: str, to: int, start: int, own: int, size: int, stream: int) -> int:
        held = len(self.live.get(own, b""))
        if status := self._in_context(name, stream == _STREAM and size <= held):
            return status
        ctypes.memmove(to, start, size)
        return SUCCESS
