"""The interface of devices that models are compiled for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any, ClassVar, Self

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.plan.target import Target
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.tune.best_known import BestKnown, of_machine
from tandem.compiler.tune.decision import Decisions
from tandem.compiler.tune.plain import to_plain
from tandem.compiler.tune.pool import Job
from tandem.compiler.tune.recorded import Identity
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Searches
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Planned, Task, tasks_of
from tandem.compiler.tune.trial import Outcome
from tandem.runtime.artifact import Artifact
from tandem.workbench.errors import ArgumentValueError

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TargetDevice(ABC):
    """A device that models are compiled for, tuned for and measured on.

    Attributes
    ----------
    kind
        The name that records have for devices of this kind.
    tuned
        Schedules to prefer over the estimated best.
    """

    kind: ClassVar[str]

    tuned: TunedChoices | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def name(self) -> str:
        """The device's name."""

    @property
    @abstractmethod
    def machine_record(self) -> Mapping[str, Any]:
        """The device as records have it."""

    @property
    @abstractmethod
    def memory_record(self) -> str:
        """The device's memory as records have it."""

    def with_tuned(self, tuned: TunedChoices | None) -> Self:
        """The device with other tuned schedules, or without."""
        return replace(self, tuned=tuned)

    @abstractmethod
    def target(self) -> Target[Any]:
        """The compiler's target for this device."""

    def targets(self) -> tuple[Target[Any], ...]:
        """The compiler's targets: the device, and behind it what computes the rest."""
        return (self.target(),)

    @abstractmethod
    def layer_costs(self) -> LayerCosts:
        """A function that tells what the layers of quantised networks cost here, by their names: by
        it layers choose the formats of their weights."""

    def build(self, prepared: PreparedNetwork, report: Say | None = None) -> Artifact:
        """The artifact of a network for this device."""
        return prepared.build(self.targets(), report)

    def code_of(self, artifact: Artifact) -> Artifact:
        """What of an artifact is for this device."""
        return artifact

    @abstractmethod
    def planned(self, prepared: PreparedNetwork) -> Sequence[Planned]:
        """The layers of a network that was built for this device, as they were planned."""

    def tasks(self, prepared: PreparedNetwork) -> tuple[Task, ...]:
        """The workloads of a network that was built for this device, with the choices taken."""
        return tasks_of(self.target(), self.planned(prepared))

    def for_sketches(self) -> Self:
        """The device with all that sketches may schedule on it: a network that is built for it has
        all `sketch_tasks`."""
        return self

    def sketch_tasks(self, prepared: PreparedNetwork) -> tuple[Task, ...]:
        """The computations of a network that was built for this device, for sketches.

        Raises
        ------
        ArgumentValueError
            There are no sketches for the device.
        """
        raise ArgumentValueError(f"sketches are for a processor or an accelerator, not {self.name}")

    def sketch_search(self) -> Searches:
        """What proposes sketches of `sketch_tasks`. Raises likewise."""
        raise ArgumentValueError(f"sketches are for a processor or an accelerator, not {self.name}")

    @abstractmethod
    def layer(self, task: Task) -> Any:
        """The layer of a task that `measurer` measures."""

    @abstractmethod
    def measurer(self) -> Job[Outcome]:
        """What measures the choices of this device's layers."""

    def identity(self, task: Task) -> Identity:
        """What the measurements of a task depend on."""
        return Identity(
            tandem=version("tandem-workbench"),
            target=self.kind,
            machine=self.machine_record,
            memory=self.memory_record,
            template=task.template.name,
            workload=to_plain(task.workload),
        )

    def own_records(self, records: Iterable[Record]) -> tuple[Record, ...]:
        """Those of some records that are of this device and its memory."""
        return of_machine(records, self.machine_record, self.memory_record)

    def best_of(self, records: Iterable[Record]) -> Self:
        """The device with the best choices of those records that are of it."""
        return self.with_tuned(BestKnown(self.own_records(records)))

    def cycles(self, artifact: Artifact) -> int | None:
        """The exact cycles of an artifact; None on a device on which only comparisons tell."""
        return None

    def decide(
        self,
        prepared: PreparedNetwork,
        done: Sequence[TaskTuning],
        known: Sequence[Record],
        new: Sequence[Record],
        seed: int,
    ) -> Decisions | None:
        """Which choices win once more at the end of tuning; None where measurements are exact.

        Parameters
        ----------
        known, new
            All records, and those of them that this tuning made.
        seed
            Of the network's inputs.
        """
        return None

    def not_slower(self, prepared: PreparedNetwork, report: Say | None, warn: Say) -> Self:
        """The device with its tuned schedules, or without if a network takes more cycles with them.

        Choices are the best of each layer alone; between layers little may be lost.

        Parameters
        ----------
        warn
            Called if they are not taken.
        """
        return self
