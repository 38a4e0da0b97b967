"""A device of OpenCL as a device of models: a GPU, or a processor by an implementation of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.cpu.layer_costs import weight_bytes
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.tasks import Planned, Task
from tandem.compiler.tune.trial import Outcome
from tandem.workbench.devices.device import TargetDevice
from tandem.workbench.errors import ArgumentValueError


@dataclass(frozen=True, slots=True)
class OpenCl(TargetDevice):
    """A device of OpenCL, which computes whole networks.

    Attributes
    ----------
    machine
        The limits that kernels keep to. They are those of most devices, so that an artifact runs on
        another than this one, too.
    """

    kind: ClassVar[str] = "opencl"

    machine: GpuMachine = field(default_factory=GpuMachine)

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def machine_record(self) -> Mapping[str, Any]:
        """Its limits."""
        machine = self.machine
        return {
            "name": machine.name,
            "threads": machine.threads,
            "shared_bytes": machine.shared_bytes,
        }

    @property
    def memory_record(self) -> str:
        return ""

    def target(self) -> Target[Any]:
        return gpu(self.machine)

    def layer_costs(self) -> LayerCosts:
        return partial(weight_bytes, target=self.target())

    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        return ()

    def layer(self, task: Task) -> Any:
        raise ArgumentValueError(f"schedules of the device {self.name} are not measured")

    def measurer(self) -> Job[Outcome]:
        raise ArgumentValueError(f"schedules of the device {self.name} are not measured")
