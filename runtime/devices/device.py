"""The interface between the executor and the devices that execute steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_empty
from tandem.runtime.artifact import Artifact, Step, Tensor
from tandem.runtime.errors import RunError
from tandem.runtime.measurement import Measurement
from tandem.runtime.native_network import NativeNetwork

StepFunction: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Measurement | None]
"""A step, loaded on its device: takes (inputs, outputs), writes the outputs, and returns the
device's measurement, or None on a device that measures nothing.

An operand that is `Kept` on the device is what `Device.allocate` returned. All others are arrays:
dense, row-major, aligned, of their tensors' shapes and types. Outputs overlap no other array, but
for rows that are written in place (`RowsCode`). A device with memory of its own copies arrays there
and back, but for what lies there (`Device.memory_of`).
"""

C = TypeVar("C")


class Device(ABC):
    """A device that executes the steps of an artifact that name it.

    A device with memory of its own also has `allocate` and `read`; by default it is the host's.

    Attributes
    ----------
    name
        The name that steps have for the device.
    """

    name: str

    @abstractmethod
    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the steps, once, before the first run; returns a function for each.

        Raises
        ------
        RunError
            If the artifact was made for another machine.
        """

    def network(self, artifact: Artifact) -> NativeNetwork | None:
        """All steps of an artifact as one function, if it has code for that and each step is this
        device's; called after `prepare` of all steps. None by default."""
        return None

    def allocate(self, tensor: Tensor) -> Any:
        """Memory of the device for a tensor that is `Kept` on it."""
        return aligned_empty(tensor.shape, tensor.dtype)

    def memory_of(self, function: StepFunction, at: int) -> NDArray[Any] | None:
        """The device's memory in which a step's function reads its input number `at`: with that as
        the input nothing is copied. None by default, and where a run changes this memory."""
        return None

    def read(self, tensor: Tensor, memory: Any) -> NDArray[Any]:
        """A copy, in an array, of a tensor in memory that `allocate` returned."""
        return np.array(memory)

    def code_of(self, artifact: Artifact, step: Step, kind: type[C]) -> C:
        """The code of a step; raises `RunError` unless it is of a kind that the device executes."""
        code = artifact.code[step.code]
        if not isinstance(code, kind):
            raise RunError(
                f"{step.name} is for the device {self.name}, which does not run code of the kind "
                f"{code.kind}"
            )
        return code
