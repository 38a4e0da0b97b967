"""The one seam between the executor and whatever computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from runtime.artifact import Artifact, Step
from runtime.layers import StreamRun

__all__ = ["Device", "Ready"]

Ready: TypeAlias = Callable[[Sequence[NDArray[Any]], Sequence[NDArray[Any]]], StreamRun | None]
"""A step that only lacks its arrays: (inputs, outputs) -> what the accelerator tells of the run, or
None of a device that tells nothing.

Arrays are dense, row-major, aligned and of their tensors' shapes and types, and outputs overlap
nothing. A device with memory of its own copies them there and back.
"""


class Device(Protocol):
    """Something that runs steps."""

    @property
    def name(self) -> str:
        """As the command line calls it."""

    def accepts(self, step: Step) -> bool:
        """Whether it runs steps of that kind."""

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[Ready]:
        """Load what the steps need, once, before the first run.

        Raises
        ------
        RunError
            If the artifact was made for another machine.
        """
