"""The accelerator as a device of models, timed by the engine `cycle`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.layer_costs import LayerCosts as EstimatedCosts
from tandem.compiler.machines.accelerator.sketches.search import sketch_search, sketch_target
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.accelerator.timed_streams import WEIGHT
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.tune.best_known import OfFallbacks
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.run import Searches
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
from tandem.workbench.measurers.sketches_on_cycle import LayerTask, sketch_tasks


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
    sketches
        Whether products that no template takes are on the array too, by estimated sketches; else
        those that records have sketches of.
    """

    kind: ClassVar[str] = "accelerator"

    config: HardwareConfig
    memory: MemoryModel
    hiding: bool = True
    host: Cpu = field(default_factory=Cpu)
    small_host: bool | None = None
    sketches: bool = False

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
            sketches=self.sketches,
        )

    def targets(self) -> tuple[Target[Any], ...]:
        return self.target(), self.host.target()

    def layer_costs(self) -> LayerCosts:
        return EstimatedCosts(self.target(), self.host.target())

    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        backend = prepared.backend(self.target())
        assert isinstance(backend, StreamBackend), "the accelerator's"
        return [call.measured for stream in backend.planned.values() for call in stream]

    def tasks(self, prepared: PreparedNetwork) -> tuple[Task, ...]:
        return tuple(
            replace(task, target=sketch_target(task.target))
            if task.template is PRODUCT_SKETCHES
            else task
            for task in TargetDevice.tasks(self, prepared)
        )

    def for_sketches(self) -> Accelerator:
        return replace(self, sketches=True)

    def sketch_tasks(self, prepared: PreparedNetwork) -> tuple[Task, ...]:
        return sketch_tasks(self.tasks(prepared))

    def sketch_search(self) -> Searches:
        return sketch_search

    def layer(self, task: Task) -> MeasuredLayer:
        own = task.own if isinstance(task, LayerTask) else None
        return MeasuredLayer(
            self.config,
            self.memory,
            task.template,
            task.workload,
            dict(task.arguments.immediates),
            {name: value for name, value in task.arguments.tensors.items() if name != WEIGHT},
            None if own is None else (self.layer(own), own.default),
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
        own = self.with_tuned(OfFallbacks(self.tuned))
        tuned, default = (device.cycles(device.build(prepared, report)) for device in (self, own))
        if tuned <= default:
            return self
        warn(
            f"with the recorded schedules {tuned:,} cycles, more than {default:,} by the "
            f"compiler's estimate: they are not taken"
        )
        return own
