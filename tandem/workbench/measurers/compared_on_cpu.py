"""Default and tuned choices on this processor, compared: of a layer, and of a whole network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.decision import LayerTimes
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.tasks import Task
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.inputs import random_inputs
from tandem.runtime.inputs.network import inputs_of
from tandem.workbench.measurers.on_cpu import Seconds, alternate, alternated
from tandem.workbench.measurers.sketches_on_cpu import layer_of

ROUNDS = 15
"""Rounds of an alternating comparison: enough for a bound that two of fifteen may miss."""


@dataclass(frozen=True, slots=True)
class ComparedOnCpu:
    """Times of default and tuned choices of a network on a processor.

    Attributes
    ----------
    seed
        Of the noise that the network runs on.
    """

    prepared: PreparedNetwork
    machine: CpuTarget
    seed: int

    def layer(self, task: Task, choice: Choice) -> tuple[Sequence[float], Sequence[float]]:
        """Seconds of a layer with the default choice and with another one, round by round."""
        return compared_alone(self.machine)(task, choice)

    def network(self, records: Sequence[Record]) -> tuple[Sequence[float], Sequence[float]]:
        """Seconds of the network with defaults and with the choices of records, round by round."""
        threads = self.machine.threads
        calls = []
        for choices in ((), records):
            artifact = self.prepared.build((cpu(self.machine, BestKnown(choices)),))
            executor = Executor(artifact, [CpuDevice(threads)])
            inputs = random_inputs(inputs_of(artifact), self.seed)
            calls.append(lambda executor=executor, inputs=inputs: executor.run(inputs))
        return _columns(alternated(calls, threads, ROUNDS))


def compared_alone(machine: CpuTarget) -> LayerTimes:
    """Seconds of a layer with the default choice and with another one, round by round."""
    return lambda task, choice: _columns(
        alternate(layer_of(machine, task), [task.default, choice], ROUNDS)
    )


def _columns(seconds: Seconds) -> tuple[Sequence[float], Sequence[float]]:
    default, tuned = seconds.T.tolist()
    return default, tuned
