"""Measures choices on this processor: a layer alone, run several times on arrays of noise.

One choice is measured at a time, in this process; with one thread it stays on one core, and its
time is CPU time, which excludes waiting for other programs. Its result is compared with that of the
generic schedule first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, thread_time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import CompilerError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.kernels import CpuKernel, scheduled_kernel
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu, LayerWorkload
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.runtime.native import ThreadPool

WARM_UP, LEAST_RUNS, MOST_RUNS = 2, 5, 50
LEAST_SECONDS = 0.03
"""Runs are repeated for so long, within the limits."""
TOLERANCE = 1e-4
"""The greatest difference of floats from the reference, relative to the largest element."""
_NOISE = 4
"""Integers are drawn from -4 to 4: sums stay small, and differ if an element is misplaced."""

Array = NDArray[Any]
Seconds = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CpuLayer:
    """A layer to compile and measure alone.

    Attributes
    ----------
    template
        The schedule template, ours or another.
    """

    machine: CpuTarget
    template: LayerOnCpu
    workload: LayerWorkload

    @staticmethod
    def of(machine: CpuTarget, task: Task) -> CpuLayer:
        """The layer of a task on a processor."""
        assert isinstance(task.template, LayerOnCpu), "all templates of a CPU are layers"
        return CpuLayer(machine, task.template, task.workload)

    def kernel(self, choice: Choice) -> CpuKernel:
        """The kernel with a choice."""
        return scheduled_kernel(self.template, self.workload, choice, cpu(self.machine))

    def noise(self) -> list[Array]:
        """An array for each parameter."""
        return noise_of(self.workload.kernel)

    def reference(self, arrays: list[Array]) -> list[Array]:
        """The results that all choices have to give."""
        return [reference_of(self.workload.kernel, arrays)]


class MeasuredLayer(Protocol):
    """What is compiled and measured alone, with one choice or another."""

    @property
    def machine(self) -> CpuTarget:
        """The processor."""

    def kernel(self, choice: Choice) -> CpuKernel:
        """The kernel with a choice. Raises an error of the compiler for one that has none."""

    def noise(self) -> list[Array]:
        """An array for each parameter."""

    def reference(self, arrays: list[Array]) -> list[Array]:
        """The results that all choices have to give."""


@dataclass
class CpuMeasurer:
    """Measures choices of layers in this process; it keeps the arrays of the last layer."""

    _layer: MeasuredLayer | None = None
    _arrays: list[Array] = field(default_factory=list)
    _reference: list[Array] = field(default_factory=list)

    def __call__(self, layer: MeasuredLayer, choice: Choice, limit: float) -> Outcome:
        """The median seconds of `layer` with a choice; no measurement is abandoned."""
        if self._layer != layer:
            self._layer, self._arrays = layer, layer.noise()
            self._reference = layer.reference(self._arrays)
        try:
            call, results = _loaded(layer.kernel(choice), layer.machine, self._arrays)
            with _on_one_core(layer.machine.threads == 1):
                call()
                if not all(map(close, results, self._reference)):
                    return Outcome.failed("its result differs from the reference")
                return Outcome.measured(_median_seconds(call, layer.machine.threads))
        except CompilerError as error:
            return Outcome.failed(f"{type(error).__name__}: {error}")


def alternate(layer: MeasuredLayer, choices: Sequence[Choice], rounds: int) -> Seconds:
    """The seconds of a layer with each of several choices, run alternately: [rounds, choices].

    Raises
    ------
    CompilerError
        A choice cannot be compiled.
    """
    arrays = layer.noise()
    loaded = [_loaded(layer.kernel(choice), layer.machine, arrays) for choice in choices]
    return alternated([call for call, _ in loaded], layer.machine.threads, rounds)


def alternated(calls: Sequence[Callable[[], object]], threads: int, rounds: int) -> Seconds:
    """The median seconds of each of several calls in each round: [rounds, calls].

    One runs after the other, so that another program's load meets all alike; in every other round
    in the opposite order, so that none always runs behind the same one.
    """
    seconds = np.empty((rounds, len(calls)))
    with _on_one_core(threads == 1):
        for number in range(rounds):
            order = range(len(calls)) if number % 2 == 0 else reversed(range(len(calls)))
            for at in order:
                seconds[number, at] = _median_seconds(calls[at], threads)
    return seconds


def noise_of(kernel: Function) -> list[Array]:
    """An array for each parameter."""
    wanted = []
    for param in kernel.params:
        assert isinstance(param.type, TensorType), "kernels take tensors"
        stored = param.type.stored
        wanted.append((stored.static_shape(param.name), stored.dtype.numpy))
    return noise(wanted)


def noise(wanted: Iterable[tuple[tuple[int, ...], np.dtype[Any]]]) -> list[Array]:
    """Arrays of these shapes and types, the same each time."""
    generator = np.random.default_rng(0)
    arrays: list[Array] = []
    for shape, dtype in wanted:
        if dtype.kind == "f":
            arrays.append(generator.standard_normal(shape).astype(dtype))
        else:
            least = 0 if dtype.kind in "ub" else -_NOISE
            arrays.append(generator.integers(least, _NOISE + 1, shape).astype(dtype))
    return arrays


def reference_of(kernel: Function, arrays: list[Array]) -> Array:
    """The kernel's result by the generic schedule, which packs nothing."""
    found = evaluate(kernel, arrays, NativeRunner(threads=1))
    assert isinstance(found, np.ndarray), "a layer's kernel has one result"
    return found


def _loaded(
    made: CpuKernel, machine: CpuTarget, arrays: list[Array]
) -> tuple[Callable[[], None], list[Array]]:
    """A call of the compiled kernel on its arrays, and the arrays of its results."""
    results: list[Array] = [
        np.empty(output.shape, output.dtype.numpy) for output in made.program.outputs
    ]
    inputs = []
    for at, number in enumerate(made.operands):
        array = arrays[number]
        if at in made.packing:
            read = (arrays[source] for source in made.sources[at])
            (array,) = compile_function(made.packing[at], CpuTarget.host(1))(*read)
        inputs.append(array)
    pool = ThreadPool(machine.threads)
    function = compile_function(made.program, machine, pool, made.streamed)
    run = function.unchecked()
    return lambda: run(inputs, results), results


def close(found: Array, wanted: Array) -> bool:
    if found.dtype.kind != "f":
        return bool((found == wanted).all())
    most = TOLERANCE * float(np.abs(wanted).max(initial=0))
    return bool((np.abs(found - wanted) <= most).all())


def _median_seconds(call: Callable[[], object], threads: int) -> float:
    clock = thread_time if threads == 1 else perf_counter
    for _ in range(WARM_UP):
        call()
    taken: list[float] = []
    while len(taken) < LEAST_RUNS or (sum(taken) < LEAST_SECONDS and len(taken) < MOST_RUNS):
        begun = clock()
        call()
        taken.append(clock() - begun)
    return median(taken)


@contextmanager
def _on_one_core(wanted: bool) -> Iterator[None]:
    """A context in which this thread stays on the core that it may use first, if that is wanted
    and the system can do so."""
    if not wanted or not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
