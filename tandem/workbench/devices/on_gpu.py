"""GPUs as devices of models."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Final

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.cpu.layer_costs import weight_bytes
from tandem.compiler.machines.gpu.backend import GpuBackend
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.target import gpu
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.tune.decision import Decisions, decide
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Planned, Task
from tandem.compiler.tune.trial import Outcome
from tandem.runtime.devices.cuda import CUDA, CudaDevice, cuda_gpus, gpu_of_number
from tandem.runtime.devices.gpu import GpuDevice
from tandem.runtime.devices.opencl import OPENCL, OpenClDevice, first_opencl_device
from tandem.workbench.devices.device import TargetDevice
from tandem.workbench.measurers.on_gpu import ComparedOnGpu, GpuLayer, GpuMeasurer


@dataclass(frozen=True, slots=True)
class OnGpu(TargetDevice):
    """A GPU, which computes whole networks.

    Attributes
    ----------
    machine
        The limits that kernels keep to. They are those of most devices, so that an artifact runs on
        another than this one, too.
    """

    machine: GpuMachine = field(default_factory=GpuMachine)

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    @abstractmethod
    def model(self) -> str:
        """What the first device is called by its driver; raises `RunError` if there is none."""

    @abstractmethod
    def opened(self) -> GpuDevice:
        """The first device; raises `RunError` if there is none."""

    @property
    def machine_record(self) -> Mapping[str, Any]:
        """The device by its driver's name, and the limits."""
        machine = self.machine
        return {
            "name": self.model,
            "threads": machine.threads,
            "shared_bytes": machine.shared_bytes,
        }

    @property
    def memory_record(self) -> str:
        return ""

    def target(self) -> Target[Any]:
        return gpu(self.machine, self.tuned)

    def layer_costs(self) -> LayerCosts:
        return partial(weight_bytes, target=self.target())

    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        backend = prepared.backend(self.target())
        assert isinstance(backend, GpuBackend), "a GPU's"
        return [*backend.planned.values()]

    def layer(self, task: Task) -> GpuLayer:
        return GpuLayer.of(self.machine, task)

    def measurer(self) -> Job[Outcome]:
        return GpuMeasurer(self.opened)

    def decide(
        self,
        prepared: PreparedNetwork,
        done: Sequence[TaskTuning],
        known: Sequence[Record],
        new: Sequence[Record],
        seed: int,
    ) -> Decisions:
        compared = ComparedOnGpu(prepared, self.machine, self.opened(), seed)
        return decide(done, self.identity, known, new, compared.layer, compared.network)


@dataclass(frozen=True, slots=True)
class OpenCl(OnGpu):
    """A device of OpenCL."""

    kind: ClassVar[str] = OPENCL

    @property
    def model(self) -> str:
        return str(first_opencl_device().name)

    def opened(self) -> GpuDevice:
        return OpenClDevice()


@dataclass(frozen=True, slots=True)
class Cuda(OnGpu):
    """A GPU of NVIDIA's, by its driver."""

    kind: ClassVar[str] = CUDA

    machine: GpuMachine = field(default_factory=nvidia_gpu)

    @property
    def model(self) -> str:
        return gpu_of_number(0, cuda_gpus()).name

    def opened(self) -> GpuDevice:
        return CudaDevice()


GPUS: Final[Mapping[str, type[OnGpu]]] = MappingProxyType(
    {each.kind: each for each in (OpenCl, Cuda)}
)
"""The kinds of GPUs by their names, which are values of `--device`."""
