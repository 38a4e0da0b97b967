"""Measures tiles on a GPU: a kernel alone, on arrays of noise in the device's memory, by the
device's own clock.

One choice is measured at a time. Its result is compared with that of this processor first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import numpy as np

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.errors import CompilerError
from tandem.compiler.graph.nodes import Function
from tandem.compiler.machines.gpu.backend import GpuKernel, gpu_kernel
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.runtime.devices import CpuDevice
from tandem.runtime.devices.gpu import GpuDevice
from tandem.runtime.errors import RunError
from tandem.runtime.executor import Executor
from tandem.runtime.inputs import random_inputs
from tandem.runtime.inputs.network import inputs_of
from tandem.workbench.measurers.on_cpu import Array, close, noise_of, reference_of

WARM_UP, LEAST_RUNS, MOST_RUNS = 1, 3, 50
LEAST_SECONDS = 0.03
"""Runs are repeated for so long, by the device's clock, within the limits."""
ROUNDS = 15
"""Of a comparison with the default, as on a processor."""


@dataclass(frozen=True, slots=True)
class GpuLayer:
    """A kernel to compile and measure alone."""

    machine: GpuMachine
    kernel: Function

    @staticmethod
    def of(machine: GpuMachine, task: Task) -> GpuLayer:
        """The kernel of a task on a GPU."""
        assert isinstance(task.workload, Function), "the workloads of tiles are kernels"
        return GpuLayer(machine, task.workload)

    def made(self, choice: Choice) -> GpuKernel:
        """The kernel with a choice. Raises an error of the compiler for one that has none."""
        return gpu_kernel(self.kernel, self.machine, choice)


@dataclass
class GpuMeasurer:
    """Measures choices in this process; it keeps the arrays of the last kernel.

    Attributes
    ----------
    open_device
        Opens the device, at the first measurement.
    """

    open_device: Callable[[], GpuDevice]
    _device: GpuDevice | None = None
    _layer: GpuLayer | None = None
    _arrays: list[Array] = field(default_factory=list)
    _reference: Array | None = None

    def __call__(self, layer: GpuLayer, choice: Choice, limit: float) -> Outcome:
        """The median seconds of a kernel with a choice; no measurement is abandoned."""
        self._device = self._device or self.open_device()
        if self._layer != layer:
            self._layer, self._arrays = layer, noise_of(layer.kernel)
            self._reference = reference_of(layer.kernel, self._arrays)
        assert self._reference is not None, "made"
        try:
            loaded = LoadedKernel.of(layer.made(choice), self._arrays, self._device)
            loaded.run()
            if not close(loaded.result(), self._reference):
                return Outcome.failed("its result differs from the reference")
            return Outcome.measured(median_seconds(self._device, loaded.run))
        except (CompilerError, RunError) as error:
            return Outcome.failed(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel on a device, with its arrays in the device's memory."""

    run: Callable[[], object]
    result: Callable[[], Array]

    @staticmethod
    def of(made: GpuKernel, arrays: Sequence[Array], device: GpuDevice) -> LoadedKernel:
        """Load a kernel. Raises `RunError` as `GpuDevice.load`."""
        call = device.load(made.code)
        inputs = []
        for number in made.operands:
            inputs.append(device.memory(arrays[number].nbytes))
            device.upload(inputs[-1], arrays[number])
        (output,) = made.code.outputs
        found = np.empty(output.shape, output.dtype)
        memory = device.memory(found.nbytes)

        def result() -> Array:
            device.download(memory, found)
            return found

        return LoadedKernel(lambda: call(inputs, [memory]), result)


def median_seconds(device: GpuDevice, run: Callable[[], object]) -> float:
    """The median time of a call's launches, by the device's clock."""
    for _ in range(WARM_UP):
        run()
    taken: list[float] = []
    while len(taken) < LEAST_RUNS or (sum(taken) < LEAST_SECONDS and len(taken) < MOST_RUNS):
        taken.append(device.seconds_of(run))
    return median(taken)


@dataclass(frozen=True, slots=True)
class ComparedOnGpu:
    """Times of default and tuned tiles of a network on a GPU, by the device's clock.

    Attributes
    ----------
    seed
        Of the noise that the network runs on.
    """

    prepared: PreparedNetwork
    machine: GpuMachine
    device: GpuDevice
    seed: int

    def layer(self, task: Task, choice: Choice) -> tuple[Sequence[float], Sequence[float]]:
        """Seconds of a kernel with the default choice and with another one, round by round."""
        layer = GpuLayer.of(self.machine, task)
        arrays = noise_of(layer.kernel)
        loaded = [
            LoadedKernel.of(layer.made(one), arrays, self.device) for one in (task.default, choice)
        ]
        return self._alternated([each.run for each in loaded])

    def network(self, records: Sequence[Record]) -> tuple[Sequence[float], Sequence[float]]:
        """Seconds of the network with defaults and with the choices of records, round by round."""
        calls: list[Callable[[], object]] = []
        for choices in ((), records):
            artifact = self.prepared.build((gpu(self.machine, BestKnown(choices)),))
            executor = Executor(artifact, [self.device, CpuDevice(1)])
            inputs = random_inputs(inputs_of(artifact), self.seed)
            calls.append(partial(executor.run, inputs))
        return self._alternated(calls)

    def _alternated(
        self, calls: Sequence[Callable[[], object]]
    ) -> tuple[Sequence[float], Sequence[float]]:
        """The seconds of two calls, one after the other; every other time in the opposite order."""
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(ROUNDS):
            for at in (0, 1) if number % 2 == 0 else (1, 0):
                taken[at].append(median_seconds(self.device, calls[at]))
        return taken
