"""A device of OpenCL: a GPU, or a processor with an implementation of it such as pocl."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from numpy.typing import NDArray

from tandem.runtime.artifact.gpu_code import GpuCode
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.devices.gpu import GpuDevice, bytes_of
from tandem.runtime.errors import RunError

OPENCL = "opencl"
"""The name that steps have for the device."""


def opencl_devices() -> list[Any]:
    """The devices that there are, GPUs first.

    Raises
    ------
    RunError
        If pyopencl is not installed.
    """
    cl = _pyopencl()
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return []  # no implementation is installed
    found = [device for platform in platforms for device in platform.get_devices()]
    return sorted(found, key=lambda device: not device.type & cl.device_type.GPU)


def first_opencl_device() -> Any:
    """The first of `opencl_devices`; raises `RunError` as it does, and if there is none."""
    found = opencl_devices()
    if not found:
        raise RunError(
            "there is no device of OpenCL: install a driver, or the package "
            "pocl-binary-distribution, which is one for processors"
        )
    return found[0]


class OpenClDevice(GpuDevice):
    """A device of OpenCL, with one queue, which keeps the order.

    Parameters
    ----------
    device
        One of `opencl_devices`; None for the first.

    Raises
    ------
    RunError
        If pyopencl is not installed, or there is no device.
    """

    code_kind: ClassVar[type[GpuCode]] = OpenClCode

    def __init__(self, device: Any = None) -> None:
        self.name = OPENCL
        self._cl = _pyopencl()
        self._device = device or first_opencl_device()
        self._context = self._cl.Context([self._device])
        profiled = self._cl.command_queue_properties.PROFILING_ENABLE
        self._queue = self._cl.CommandQueue(self._context, properties=profiled)
        self._events: list[Any] | None = None

    @property
    def model(self) -> str:
        return str(self._device.name)

    @property
    def most_threads(self) -> int:
        return int(self._device.max_work_group_size)

    def memory(self, size: int) -> Any:
        flags = self._cl.mem_flags.READ_WRITE
        try:
            return self._cl.Buffer(self._context, flags, max(size, 1))
        except self._cl.Error as error:
            raise RunError(f"{size} bytes on {self.model}: {error}") from None

    def upload(self, memory: Any, array: NDArray[Any]) -> None:
        if array.size:
            self._cl.enqueue_copy(self._queue, memory, bytes_of(array))

    def download(self, memory: Any, array: NDArray[Any]) -> None:
        if array.size:
            self._cl.enqueue_copy(self._queue, bytes_of(array), memory)

    def compiled(self, code: GpuCode) -> Callable[[str], Any]:
        assert isinstance(code, OpenClCode), "`code_kind`"
        try:
            with warnings.catch_warnings():
                # The compiler's remarks.
                warnings.simplefilter("ignore", self._cl.CompilerWarning)
                program = self._cl.Program(self._context, code.source).build([*code.options])
        except self._cl.Error as error:
            raise RunError(f"{code.name} on {self.model}: {error}") from None
        return partial(self._cl.Kernel, program)

    def launch(self, kernel: Any, memories: Sequence[Any], blocks: int, threads: int) -> None:
        kernel.set_args(*memories)
        size = (blocks * threads,), (threads,)
        event = self._cl.enqueue_nd_range_kernel(self._queue, kernel, *size)
        if self._events is not None:
            self._events.append(event)

    def finish(self) -> None:
        self._queue.finish()

    def seconds_of(self, run: Callable[[], object]) -> float:
        self._events = []
        try:
            run()
            self.finish()
            nanoseconds = sum(each.profile.end - each.profile.start for each in self._events)
        finally:
            self._events = None
        return float(nanoseconds) * 1e-9


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError:
        raise RunError(
            "OpenCL needs pyopencl: install the extra, tandem-workbench[opencl]"
        ) from None
    return pyopencl
