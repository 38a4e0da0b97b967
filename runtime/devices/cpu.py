"""The CPU as a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from runtime.artifact import Artifact, KernelCall, Step
from runtime.devices.device import Ready
from runtime.native import NativeFunction, ThreadPool, load
from runtime.native.host import available_threads

__all__ = ["CpuDevice"]


class CpuDevice:
    """Runs native code.

    Parameters
    ----------
    threads
        For parallel loops; all cores unless it says otherwise.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.name = "cpu"
        self._pool = ThreadPool(available_threads() if threads is None else threads)

    def accepts(self, step: Step) -> bool:
        """Native code."""
        return isinstance(step, KernelCall)

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[Ready]:
        """As `Device.prepare`.

        Raises
        ------
        NativeCodeError
            If code was made for another processor.
        """
        functions = [each.function for each in steps if isinstance(each, KernelCall)]
        names = dict.fromkeys(functions)
        loaded = {name: load(artifact.kernels[name], pool=self._pool) for name in names}
        return [_ready(loaded[each]) for each in functions]


def _ready(function: NativeFunction) -> Ready:
    def run(inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> None:
        function.run_unchecked(inputs, outputs)

    return run
