"""What to tune: the layers of a model, or convolutions by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.driver.compile_onnx import PreparedNetwork
from compiler.machines.accelerator.backend import StreamBackend
from compiler.machines.accelerator.timed_streams import WEIGHT
from compiler.machines.cpu.backend import KernelBackend
from compiler.plan.schedule_template import Arguments
from compiler.tune.tasks import Task, tasks_of
from runtime.artifact import Artifact
from scripts.sources import Accelerator, Processor, targets
from scripts.tune.on_cycle import Layer
from scripts.tuned import stream_cycles
from scripts.utilization.build import Convolution
from scripts.utilization.case import make_case
from scripts.utilization.conv_layers import Layer as NamedLayer


@dataclass(frozen=True, slots=True)
class Tuned:
    """A network compiled with choices.

    Attributes
    ----------
    tasks
        Its workloads on the accelerator, with the choices that were taken.
    cycles
        The exact cycles of all its instruction streams.
    """

    artifact: Artifact
    tasks: tuple[Task, ...]
    cycles: int


def compile_tuned(prepared: PreparedNetwork, accelerator: Accelerator) -> Tuned:
    """Compile a network, with tuned choices where there are any, and time it."""
    artifact, tasks = _compiled(prepared, accelerator)
    return Tuned(artifact, tasks, stream_cycles(artifact, accelerator))


def tasks_of_network(prepared: PreparedNetwork, accelerator: Accelerator) -> tuple[Task, ...]:
    """The workloads of a network on the accelerator."""
    return _compiled(prepared, accelerator)[1]


def _compiled(
    prepared: PreparedNetwork, accelerator: Accelerator
) -> tuple[Artifact, tuple[Task, ...]]:
    machine, host = targets(accelerator)
    artifact = prepared.build((machine, host))
    backend = prepared.backend(machine)
    assert isinstance(backend, StreamBackend), "the accelerator's"
    calls = [call for stream in artifact.streams for call in backend.planned[stream]]
    return artifact, tasks_of(machine, calls)


def tasks_of_layers(
    layers: Sequence[NamedLayer], accelerator: Accelerator, seed: int
) -> tuple[Task, ...]:
    """The tasks of convolutions, each with one epilogue, as `tandem utilization` measures them."""
    found = []
    for layer in layers:
        case = make_case(layer, seed)
        convolution = Convolution.of(case, accelerator.config, accelerator.timing)
        found.append(
            Task(
                layers=(layer.name,) * layer.count,
                target=convolution.target,
                template=convolution.template,
                workload=convolution.workload,
                arguments=Arguments(convolution.channels, convolution.immediates),
                default=convolution.choice,
            )
        )
    return tuple(found)


def tasks_of_processor(prepared: PreparedNetwork, processor: Processor) -> tuple[Task, ...]:
    """The workloads of a network on a processor that templates compile."""
    target = processor.target()
    prepared.build((target,))
    backend = prepared.backend(target)
    assert isinstance(backend, KernelBackend), "a processor's"
    return tasks_of(target, backend.planned.values())


def measured_layer(task: Task, accelerator: Accelerator) -> Layer:
    """The layer that measurers compile for a task."""
    return Layer(
        accelerator.config,
        accelerator.memory,
        task.template,
        task.workload,
        dict(task.arguments.immediates),
        {name: value for name, value in task.arguments.tensors.items() if name != WEIGHT},
    )
