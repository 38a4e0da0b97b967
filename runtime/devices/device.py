"""The interface between the executor and the devices that execute steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from runtime.artifact import Artifact, Step
from runtime.layer_profiles import StreamRun

_Arrays: TypeAlias = Sequence[NDArray[Any]]
StepFunction: TypeAlias = Callable[[_Arrays, _Arrays], StreamRun | None]
"""A step, loaded on its device: takes (inputs, outputs), writes the outputs, and returns the
accelerator's measurements, or None on a device that has none.

Arrays are dense, row-major, aligned and of their tensors' shapes and types, and outputs overlap no
other array. A device with memory of its own copies them there and back.
"""


class Device(Protocol):
    """A device that executes steps of an artifact."""

    @property
    def name(self) -> str:
        """The device's name on the command line."""

    def accepts(self, step: Step) -> bool:
        """Whether the device executes steps of this kind."""

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the steps, once, before the first run; returns a function for each.

        Raises
        ------
        RunError
            If the artifact was made for another machine.
        """
