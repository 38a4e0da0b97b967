"""The accelerator as a device of models, timed by the engine `cycle`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.layer_costs import LayerCosts as EstimatedCosts
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.accelerator.timed_streams import WEIGHT
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.tasks import Planned, Task
from tandem.compiler.tune.trial import Outcome
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.runtime.artifact import Artifact, streams_of
from tandem.sim.engines import make_engine
from tandem.workbench.devices.cpu import Cpu
from tandem.workbench.devices.device import Say, TargetDevice
from tandem.workbench.measurers.on_cycle import MeasuredLayer, cycles_of, exact_cycles


@dataclass(frozen=True, slots=True)
class Accelerator(TargetDevice):
    """An accelerator with its memory; what it does not support, a processor does.

    Attributes
    ----------
    hiding
        Whether latency is hidden, with two virtual threads instead of one.
    host
        The processor beside it; by default this one.
    small_host
        Whether streams are made for a processor without vectors, to which the array leaves less
        work; None: whether `host` is one.
    """

    kind: ClassVar[str] = "accelerator"

    config: HardwareConfig
    memory: MemoryModel
    hiding: bool = True
    host: Cpu = field(default_factory=Cpu)
    small_host: bool | None = None

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def timing(self) -> MemoryTiming:
        """The DRAM timing that the compiler assumes."""
        return MemoryTiming(self.memory.latency, self.memory.interval)

    @property
    def machine_record(self) -> Mapping[str, Any]:
        return json.loads(dump_config(self.config))

    @property
    def memory_record(self) -> str:
        """The memory model, as `parse_memory` takes it."""
        return self.memory.text

    def target(self) -> Target[Any]:
        return accelerator(
            self.config,
            self.timing,
            hiding=self.hiding,
            tuned=self.tuned,
            small_host=not self.host.machine.has_vectors
            if self.small_host is None
            else self.small_host,
        )

    def targets(self) -> tuple[Target[Any], ...]:
        return self.target(), self.host.target()

    def layer_costs(self) -> LayerCosts:
        return EstimatedCosts(self.target(), self.host.target())

    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        backend = prepared.backend(self.target())
        assert isinstance(backend, StreamBackend), "the accelerator's"
        return [call for stream in backend.planned.values() for call in stream]

    def layer(self, task: Task) -> MeasuredLayer:
        return MeasuredLayer(
            self.config,
            self.memory,
            task.template,
            task.workload,
            dict(task.arguments.immediates),
            {name: value for name, value in task.arguments.tensors.items() if name != WEIGHT},
        )

    def measurer(self) -> Job[Outcome]:
        return cycles_of

    def cycles(self, artifact: Artifact) -> int:
        """The exact cycles of all instruction streams of an artifact."""
        engine = make_engine("cycle", self.config, self.memory)
        return sum(
            exact_cycles(engine, Program.from_bytes(self.config, code.program), code.image)
            for code in streams_of(artifact).values()
        )

    def not_slower(self, prepared: PreparedNetwork, report: Say | None, warn: Say) -> Accelerator:
        if self.tuned is None:
            return self
        tuned, default = (
            device.cycles(device.build(prepared, report))
            for device in (self, self.with_tuned(None))
        )
        if tuned <= default:
            return self
        warn(
            f"with the recorded schedules {tuned:,} cycles, more than {default:,} by the "
            f"compiler's estimate: they are not taken"
        )
        return self.with_tuned(BestKnown([]))
