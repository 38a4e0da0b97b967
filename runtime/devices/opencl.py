"""A device of OpenCL: a GPU, or a processor with an implementation of it such as pocl."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_empty
from tandem.runtime.artifact import Artifact, Step, Tensor
from tandem.runtime.artifact.opencl import GpuArray, OpenClCode
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.element_types import dtype_of
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


class OpenClDevice(Device):
    """A device of OpenCL: builds kernels, and keeps tensors in its own memory.

    Parameters
    ----------
    device
        One of `opencl_devices`; None for the first.

    Raises
    ------
    RunError
        If pyopencl is not installed, or there is no device.
    """

    def __init__(self, device: Any = None) -> None:
        self.name = OPENCL
        self._cl = _pyopencl()
        if device is None:
            found = opencl_devices()
            if not found:
                raise RunError(
                    "there is no device of OpenCL: install a driver, or the package "
                    "pocl-binary-distribution, which is one for processors"
                )
            device = found[0]
        self._device = device
        self._context = self._cl.Context([device])
        self._queue = self._cl.CommandQueue(self._context)

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Build the kernels of the steps, and copy their constants to the device; see
        `Device.prepare`.

        Raises
        ------
        RunError
            If the device's compiler refuses a kernel, or the device has too few threads.
        """
        codes = {step.code: self.code_of(artifact, step, OpenClCode) for step in steps}
        loaded = {name: self._build(code) for name, code in codes.items()}
        constants: dict[str, Any] = {}
        for step in steps:
            for name in step.inputs:
                if name in artifact.constants and name not in constants:
                    constants[name] = self._upload(artifact.constants[name])
        return [loaded[step.code].on(step.inputs, constants) for step in steps]

    def load(self, code: OpenClCode) -> StepFunction:
        """A function that runs kernels alone; errors as of `prepare`."""
        return self._build(code).on((), {})

    def allocate(self, tensor: Tensor) -> Any:
        return self.memory(tensor.bytes)

    def read(self, tensor: Tensor, memory: Any) -> NDArray[Any]:
        array = aligned_empty(tensor.shape, tensor.dtype)
        self.download(memory, array)
        return array

    def memory(self, size: int) -> Any:
        """Memory of so many bytes."""
        flags = self._cl.mem_flags.READ_WRITE
        try:
            return self._cl.Buffer(self._context, flags, max(size, 1))
        except self._cl.Error as error:
            raise RunError(f"{size} bytes on {self._device.name}: {error}") from None

    def upload(self, memory: Any, array: NDArray[Any]) -> None:
        """Copy an array to memory."""
        if array.size:
            self._cl.enqueue_copy(self._queue, memory, _bytes_of(array))

    def download(self, memory: Any, array: NDArray[Any]) -> None:
        """Copy memory to an array, when what writes it is done."""
        if array.size:
            self._cl.enqueue_copy(self._queue, _bytes_of(array), memory)

    def kernel(self, program: Any, name: str) -> Any:
        """A kernel of a program, with arguments of its own."""
        return self._cl.Kernel(program, name)

    def finish(self) -> None:
        """Wait for all launches."""
        self._queue.finish()

    def launch(self, kernel: Any, blocks: int, threads: int) -> None:
        """Launch a kernel whose arguments are set, after all earlier ones."""
        self._cl.enqueue_nd_range_kernel(self._queue, kernel, (blocks * threads,), (threads,))

    def _upload(self, array: NDArray[Any]) -> Any:
        memory = self.memory(array.nbytes)
        self.upload(memory, array)
        return memory

    def _build(self, code: OpenClCode) -> _Loaded:
        most = self._device.max_work_group_size
        for launch in code.launches:
            if launch.threads > most:
                raise RunError(
                    f"{launch.kernel} has blocks of {launch.threads} threads, and "
                    f"{self._device.name} has {most}"
                )
        if not code.launches:
            return _Loaded(self, code, None)
        try:
            with warnings.catch_warnings():
                # The compiler's remarks.
                warnings.simplefilter("ignore", self._cl.CompilerWarning)
                program = self._cl.Program(self._context, code.source).build([*code.options])
        except self._cl.Error as error:
            raise RunError(f"{code.name} on {self._device.name}: {error}") from None
        return _Loaded(self, code, program)


class _Loaded:
    """Kernels on a device, with memory for operands that are arrays of the host."""

    def __init__(self, device: OpenClDevice, code: OpenClCode, program: Any) -> None:
        self._device = device
        self._code = code
        self._program = program
        self._scratch = {each.name: device.memory(_size(each)) for each in code.scratch}
        self._staged: dict[str, Any] = {}

    def on(self, operands: Sequence[str], constants: Mapping[str, Any]) -> StepFunction:
        """The function of a step that runs the kernels.

        Parameters
        ----------
        operands
            The names of its inputs, of which those among the constants are on the device already.
        """
        device, code = self._device, self._code
        # A kernel holds its arguments, so that each step has kernels of its own.
        kernels = [device.kernel(self._program, launch.kernel) for launch in code.launches]
        known = {
            array.name: constants[name]
            for array, name in zip(code.inputs, operands, strict=False)
            if name in constants
        }

        def run(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
            memories = {**self._scratch, **known}
            for array, given in zip(code.inputs, inputs, strict=True):
                if array.name in known:
                    continue
                if isinstance(given, np.ndarray):
                    memories[array.name] = self._stage(array)
                    device.upload(memories[array.name], given)
                else:
                    memories[array.name] = given
            for array, wanted in zip(code.outputs, outputs, strict=True):
                on_host = isinstance(wanted, np.ndarray)
                memories[array.name] = self._stage(array) if on_host else wanted
            for kernel, launch in zip(kernels, code.launches, strict=True):
                kernel.set_args(*(memories[name] for name in launch.arguments))
                device.launch(kernel, launch.blocks, launch.threads)
            for array, wanted in zip(code.outputs, outputs, strict=True):
                if isinstance(wanted, np.ndarray):
                    device.download(memories[array.name], wanted)
            device.finish()  # so that the time of a step is its own

        return run

    def _stage(self, array: GpuArray) -> Any:
        """Memory for an array of the host, which lasts."""
        if array.name not in self._staged:
            self._staged[array.name] = self._device.memory(_size(array))
        return self._staged[array.name]


def _size(array: GpuArray) -> int:
    return prod(array.shape) * dtype_of(array.dtype).itemsize


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a dense array, whatever its type."""
    return array.reshape(-1).view(np.uint8)


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError:
        raise RunError(
            "OpenCL needs pyopencl: install the extra, tandem-workbench[opencl]"
        ) from None
    return pyopencl
