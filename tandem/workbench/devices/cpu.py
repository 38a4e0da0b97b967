"""This processor as a device of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.layer_costs import weight_bytes
from tandem.compiler.machines.cpu.processors import PROCESSORS, named_processor
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.tune.decision import Decisions, decide
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Searches
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Planned, Task
from tandem.compiler.tune.trial import Outcome
from tandem.runtime.artifact import Artifact
from tandem.workbench.devices.device import TargetDevice
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.measurers.compared_on_cpu import ComparedOnCpu
from tandem.workbench.measurers.on_cpu import CpuMeasurer, MeasuredLayer
from tandem.workbench.measurers.sketches_on_cpu import layer_of, sketch_search, sketch_tasks

PROCESSOR_NAMES: Final = tuple(PROCESSORS)
"""The processors that have names."""


@dataclass(frozen=True, slots=True)
class Cpu(TargetDevice):
    """A processor, as the only device that a model is compiled for.

    Attributes
    ----------
    threads
        The threads of parallel loops; None for all cores of this processor, and one of another.
    other
        Another processor than this one; None for this.
    """

    kind: ClassVar[str] = "cpu"

    threads: int | None = None
    other: CpuTarget | None = None

    @classmethod
    def named(cls, name: str | None, threads: int | None = None, *, fpu: bool = True) -> Cpu:
        """The processor of a name, with instructions for floats or without; this one for None.
        Raises `CodegenError` as `named_processor`."""
        if name is None and not fpu:
            raise ArgumentValueError("a processor without an FPU is another than this: name it")
        return cls(threads, None if name is None else named_processor(name, fpu=fpu))

    @property
    def machine(self) -> CpuTarget:
        """The processor."""
        if self.other is None:
            return CpuTarget.host(self.threads)
        return replace(self.other, threads=self.threads or 1)

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

    def layer_costs(self) -> LayerCosts:
        return partial(weight_bytes, target=self.target())

    def code_of(self, artifact: Artifact) -> Artifact:
        return artifact.fallback or artifact

    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        backend = prepared.backend(self.target())
        assert isinstance(backend, KernelBackend), "a processor's"
        return [*backend.planned.values()]

    def sketch_tasks(self, prepared: PreparedNetwork) -> tuple[Task, ...]:
        backend = prepared.backend(self.target())
        assert isinstance(backend, KernelBackend), "a processor's"
        return sketch_tasks(self.machine, backend.calls)

    def sketch_search(self) -> Searches:
        return sketch_search

    def layer(self, task: Task) -> MeasuredLayer:
        self._check_here()
        return layer_of(self.machine, task)

    def measurer(self) -> Job[Outcome]:
        return CpuMeasurer()

    def _check_here(self) -> None:
        """Raise `ArgumentValueError` unless it is this processor."""
        if self.other is not None:
            raise ArgumentValueError(
                f"schedules are measured on this processor, and {self.name} is another"
            )

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
