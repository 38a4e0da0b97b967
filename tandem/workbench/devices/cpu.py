"""This processor as a device of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.target import Target
from tandem.compiler.tune.decision import Decisions, decide
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Planned, Task
from tandem.compiler.tune.trial import Outcome
from tandem.runtime.artifact import Artifact
from tandem.workbench.devices.device import TargetDevice
from tandem.workbench.measurers.compared_on_cpu import ComparedOnCpu
from tandem.workbench.measurers.on_cpu import CpuLayer, CpuMeasurer


@dataclass(frozen=True, slots=True)
class Cpu(TargetDevice):
    """This processor, as the only device that a model is compiled for.

    Attributes
    ----------
    threads
        The threads of parallel loops; None for all cores.
    """

    kind: ClassVar[str] = "cpu"

    threads: int | None = None

    @property
    def machine(self) -> CpuTarget:
        """The processor."""
        return CpuTarget.host(self.threads)

    @property
    def name(self) -> str:
        return self.machine.cpu

    @property
    def machine_record(self) -> Mapping[str, Any]:
        """Its name, its instruction sets, and the threads."""
        machine = self.machine
        return {
            "name": machine.cpu,
            "features": [*machine.features],
            "threads": machine.threads,
        }

    @property
    def memory_record(self) -> str:
        return ""

    def target(self) -> Target[Any]:
        return cpu(self.machine, self.tuned)

    def code_of(self, artifact: Artifact) -> Artifact:
        return artifact.fallback or artifact

    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        backend = prepared.backend(self.target())
        assert isinstance(backend, KernelBackend), "a processor's"
        return [*backend.planned.values()]

    def layer(self, task: Task) -> CpuLayer:
        return CpuLayer.of(self.machine, task)

    def measurer(self) -> Job[Outcome]:
        return CpuMeasurer()

    def decide(
        self,
        prepared: PreparedNetwork,
        done: Sequence[TaskTuning],
        known: Sequence[Record],
        new: Sequence[Record],
        seed: int,
    ) -> Decisions:
        compared = ComparedOnCpu(prepared, self.machine, seed)
        return decide(done, self.identity, known, new, compared.layer, compared.network)
