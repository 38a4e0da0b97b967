"""What devices with kernels as text have in common: they keep tensors in memory of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_empty
from tandem.runtime.artifact import Artifact, Step, Tensor
from tandem.runtime.artifact.gpu_code import GpuArray, GpuCode
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.element_types import dtype_of
from tandem.runtime.errors import RunError


class GpuDevice(Device):
    """A device that builds kernels from text, and does what it is asked in order: copies to its
    memory, launches, copies back.

    Attributes
    ----------
    code_kind
        The kind of code that it runs.
    """

    code_kind: ClassVar[type[GpuCode]]

    @property
    @abstractmethod
    def model(self) -> str:
        """What the device is called by its driver."""

    @property
    @abstractmethod
    def most_threads(self) -> int:
        """The most threads of a block."""

    @abstractmethod
    def memory(self, size: int) -> Any:
        """Memory of so many bytes, until nothing refers to it; raises `RunError` if there is none
        left."""

    @abstractmethod
    def upload(self, memory: Any, array: NDArray[Any]) -> None:
        """Copy a dense array to memory."""

    @abstractmethod
    def download(self, memory: Any, array: NDArray[Any]) -> None:
        """Copy memory to a dense array, when what writes it is done."""

    @abstractmethod
    def compiled(self, code: GpuCode) -> Callable[[str], Any]:
        """A function from the name of a kernel to a new one; raises `RunError` if the driver
        refuses the text."""

    @abstractmethod
    def launch(self, kernel: Any, memories: Sequence[Any], blocks: int, threads: int) -> None:
        """Launch a kernel after all earlier launches."""

    @abstractmethod
    def finish(self) -> None:
        """Wait for all launches."""

    @abstractmethod
    def seconds_of(self, run: Callable[[], object]) -> float:
        """The time that the launches of a call take, by the device's own clock."""

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Build the kernels of the steps, and copy their constants to the device; see
        `Device.prepare`.

        Raises
        ------
        RunError
            If the driver refuses a kernel, or the device has too few threads.
        """
        codes = {step.code: self.code_of(artifact, step, self.code_kind) for step in steps}
        loaded = {name: self._build(code) for name, code in codes.items()}
        constants: dict[str, Any] = {}
        for step in steps:
            for name in step.inputs:
                if name in artifact.constants and name not in constants:
                    array = artifact.constants[name]
                    constants[name] = self.memory(array.nbytes)
                    self.upload(constants[name], array)
        return [loaded[step.code].on(step.inputs, constants) for step in steps]

    def load(self, code: GpuCode) -> StepFunction:
        """A function that runs kernels alone; errors as of `prepare`."""
        return self._build(code).on((), {})

    def allocate(self, tensor: Tensor) -> Any:
        return self.memory(tensor.bytes)

    def read(self, tensor: Tensor, memory: Any) -> NDArray[Any]:
        array = aligned_empty(tensor.shape, tensor.dtype)
        self.download(memory, array)
        return array

    def _build(self, code: GpuCode) -> _Loaded:
        for launch in code.launches:
            if launch.threads > self.most_threads:
                raise RunError(
                    f"{launch.kernel} has blocks of {launch.threads} threads, and {self.model} has "
                    f"{self.most_threads}"
                )
        return _Loaded(self, code, self.compiled(code) if code.launches else _no_kernel)


def _no_kernel(name: str) -> Any:
    raise AssertionError(f"{name} of code without launches")


class _Loaded:
    """Kernels on a device, with memory for operands that are arrays of the host."""

    def __init__(self, device: GpuDevice, code: GpuCode, kernel: Callable[[str], Any]) -> None:
        self._device = device
        self._code = code
        self._kernel = kernel
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
        # A kernel can hold its arguments, so that each step has kernels of its own.
        kernels = [self._kernel(launch.kernel) for launch in code.launches]
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
                arguments = [memories[name] for name in launch.arguments]
                device.launch(kernel, arguments, launch.blocks, launch.threads)
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


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a dense array, whatever its type."""
    return array.reshape(-1).view(np.uint8)
