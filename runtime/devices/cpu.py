"""The CPU as a device."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.artifact import Artifact, KernelCall, Step
from runtime.devices.device import StepFunction
from runtime.native import ThreadPool, load
from runtime.native.host import available_threads


class CpuDevice:
    """The CPU: executes native code.

    Parameters
    ----------
    threads
        Threads for parallel loops; None for all cores.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.name = "cpu"
        self._pool = ThreadPool(available_threads() if threads is None else threads)

    def accepts(self, step: Step) -> bool:
        """Whether the step is a call of native code."""
        return isinstance(step, KernelCall)

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the native code of the steps, and start the threads; see `Device.prepare`.

        Raises
        ------
        NativeCodeError
            If code was compiled for another processor.
        """
        names = [step.function for step in steps if isinstance(step, KernelCall)]
        loaded = {name: load(artifact.kernels[name], pool=self._pool) for name in {*names}}
        for function in loaded.values():
            function.prepare()
        return [loaded[name].unchecked() for name in names]
