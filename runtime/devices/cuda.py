"""A GPU of NVIDIA's, by its driver: runs kernels in PTX.

The driver translates PTX for the GPU that it has. Copies and launches are in one stream, in order;
memory belongs to the device's primary context, which is made current in each call, as executors may
run in other threads than the one that made them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact.gpu_code import GpuCode
from tandem.runtime.artifact.ptx import PtxCode
from tandem.runtime.devices.cuda_driver import CudaDriver, CudaError, cuda_driver
from tandem.runtime.devices.gpu import GpuDevice, bytes_of
from tandem.runtime.errors import RunError

CUDA = "cuda"
"""The name that steps have for the device."""
_MAX_THREADS, _MAJOR, _MINOR = (
    "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
)
_NAME_BYTES = 256


@dataclass(frozen=True, slots=True)
class CudaGpu:
    """A GPU that the driver has.

    Attributes
    ----------
    handle
        The driver's.
    memory
        In bytes.
    capability
        Its compute capability: (8, 0) runs code for `sm_80`.
    threads
        The most of a block.
    """

    handle: Any
    name: str
    memory: int
    capability: tuple[int, int]
    threads: int


def cuda_gpus(driver: CudaDriver | None = None) -> list[CudaGpu]:
    """The GPUs that there are, in the driver's order.

    Parameters
    ----------
    driver
        By default `cuda_driver`.

    Raises
    ------
    RunError
        If cuda-bindings is not installed, or there is no driver.
    """
    driver = driver or cuda_driver()
    driver.call("cuInit", 0)
    return [_gpu(driver, number) for number in range(driver.call("cuDeviceGetCount"))]


def gpu_of_number(number: int, found: Sequence[CudaGpu]) -> CudaGpu:
    """A GPU of those that there are; raises `RunError` if there is none of this number."""
    if not 0 <= number < len(found):
        raise RunError(f"there is no GPU {number} of NVIDIA's: there are {len(found)}")
    return found[number]


def _gpu(driver: CudaDriver, number: int) -> CudaGpu:
    handle = driver.call("cuDeviceGet", number)

    def attribute(name: str) -> int:
        key = getattr(driver.library.CUdevice_attribute, name)
        return int(driver.call("cuDeviceGetAttribute", key, handle))

    name = driver.call("cuDeviceGetName", _NAME_BYTES, handle)
    return CudaGpu(
        handle,
        name.split(b"\0")[0].decode(),
        int(driver.call("cuDeviceTotalMem", handle)),
        (attribute(_MAJOR), attribute(_MINOR)),
        attribute(_MAX_THREADS),
    )


class _Memory:
    """Memory of the device, given back when nothing refers to it."""

    def __init__(self, address: int, free: Callable[[int], None]) -> None:
        self.address = address
        # At the end of the process the driver gives back everything by itself.
        weakref.finalize(self, free, address).atexit = False


class CudaDevice(GpuDevice):
    """A GPU of NVIDIA's.

    Parameters
    ----------
    number
        The GPU's, in the driver's order.
    driver
        By default `cuda_driver`.

    Raises
    ------
    RunError
        If cuda-bindings is not installed, there is no driver, or no such GPU.
    """

    code_kind: ClassVar[type[GpuCode]] = PtxCode

    def __init__(self, number: int = 0, driver: CudaDriver | None = None) -> None:
        self.name = CUDA
        self._driver = driver or cuda_driver()
        self._gpu = gpu_of_number(number, cuda_gpus(self._driver))
        self._context = self._driver.call("cuDevicePrimaryCtxRetain", self._gpu.handle)
        self._stream = self._call("cuStreamCreate", 0)
        self._events: list[tuple[Any, Any]] | None = None

    @property
    def model(self) -> str:
        return self._gpu.name

    @property
    def most_threads(self) -> int:
        return self._gpu.threads

    def memory(self, size: int) -> Any:
        try:
            address = int(self._call("cuMemAlloc", max(size, 1)))
        except CudaError as error:
            raise RunError(f"{size} bytes on {self.model}: {error}") from None
        return _Memory(address, partial(self._call, "cuMemFree"))

    def upload(self, memory: Any, array: NDArray[Any]) -> None:
        if array.size:
            given = bytes_of(array)
            start = given.ctypes.data
            self._call("cuMemcpyHtoDAsync", memory.address, start, given.nbytes, self._stream)
            self.finish()  # the array may change when this returns

    def download(self, memory: Any, array: NDArray[Any]) -> None:
        if array.size:
            wanted = bytes_of(array)
            start = wanted.ctypes.data
            self._call("cuMemcpyDtoHAsync", start, memory.address, wanted.nbytes, self._stream)
            self.finish()

    def compiled(self, code: GpuCode) -> Callable[[str], Any]:
        assert isinstance(code, PtxCode), "`code_kind`"
        if code.capability > self._gpu.capability:
            needed, there = (
                ".".join(map(str, it)) for it in (code.capability, self._gpu.capability)
            )
            raise RunError(
                f"{code.name} is for compute capability {needed} or more, and {self.model} has "
                f"{there}"
            )
        try:
            module = self._call("cuModuleLoadData", code.source.encode() + b"\0")
        except CudaError as error:
            raise RunError(f"{code.name} on {self.model}: {error}") from None
        return lambda name: self._call("cuModuleGetFunction", module, name.encode())

    def launch(self, kernel: Any, memories: Sequence[Any], blocks: int, threads: int) -> None:
        # The driver takes the address of an array of addresses, of which each is an argument's.
        values = np.array([each.address for each in memories], np.uint64)
        steps = range(0, values.nbytes, values.itemsize)
        places = np.array([values.ctypes.data + step for step in steps], np.uint64)
        grid = (blocks, 1, 1, threads, 1, 1)
        shared_bytes, extra = 0, 0
        parameters = places.ctypes.data
        begun = self._event()
        self._call("cuLaunchKernel", kernel, *grid, shared_bytes, self._stream, parameters, extra)
        if self._events is not None:
            self._events.append((begun, self._event()))

    def finish(self) -> None:
        self._call("cuStreamSynchronize", self._stream)

    def seconds_of(self, run: Callable[[], object]) -> float:
        self._events = []
        try:
            run()
            self.finish()
            milliseconds = sum(self._call("cuEventElapsedTime", *each) for each in self._events)
            for event in (event for pair in self._events for event in pair):
                self._call("cuEventDestroy", event)
        finally:
            self._events = None
        return float(milliseconds) * 1e-3

    def _event(self) -> Any:
        """An event that is now in the stream; None where no time is asked for."""
        if self._events is None:
            return None
        event = self._call("cuEventCreate", 0)
        self._call("cuEventRecord", event, self._stream)
        return event

    def _call(self, name: str, *arguments: Any) -> Any:
        self._driver.call("cuCtxSetCurrent", self._context)
        return self._driver.call(name, *arguments)
