"""Networks and layers tuned for a device: their tasks, and what tuning came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.defaults import LEARNED
from tandem.compiler.tune.decision import Decisions, costs_of
from tandem.compiler.tune.records import Record, append_records, merge_records
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.transfer import Example, examples
from tandem.workbench.devices import TargetDevice
from tandem.workbench.recorded_choices import Warn, known_records


@dataclass(frozen=True, slots=True)
class TunedTasks:
    """What tuning came to.

    Attributes
    ----------
    decisions
        Which choices are kept; None if the best are.
    default, best
        Cycles of the network, or of all layers, or their seconds on a processor; None if a layer
        was never measured.
    """

    tasks: Sequence[TaskTuning]
    decisions: Decisions | None
    default: float | None
    best: float | None

    @staticmethod
    def of(tasks: Sequence[TaskTuning], decisions: Decisions | None = None) -> TunedTasks:
        """Tasks whose costs are summed, each as often as its layer occurs."""
        kept = [None] * len(tasks) if decisions is None else decisions.tasks
        default = best = 0.0
        for done, decision in zip(tasks, kept, strict=True):
            of_default, of_best = costs_of(done, decision)
            default += done.task.count * of_default
            best += done.task.count * of_best
        return TunedTasks(tasks, decisions, plain_cost(default), plain_cost(best))


@dataclass(frozen=True, slots=True)
class NetworkTuning:
    """A network to tune for a device.

    Attributes
    ----------
    default
        The cycles of the network with the compiler's own choices; None if only a comparison tells.
    """

    prepared: PreparedNetwork
    device: TargetDevice
    tasks: tuple[Task, ...]
    default: int | None

    @staticmethod
    def of(
        prepared: PreparedNetwork, device: TargetDevice, *, sketches: bool = False
    ) -> NetworkTuning:
        """The tasks of a network, which is compiled with the compiler's own choices: its layers'
        workloads, or for sketches the computations of all kernels that reduce, those that only
        sketches schedule included."""
        device = device.for_sketches() if sketches else device
        artifact = device.build(prepared)
        tasks = device.sketch_tasks(prepared) if sketches else device.tasks(prepared)
        return NetworkTuning(prepared, device, tasks, device.cycles(artifact))

    def finish(
        self,
        done: Sequence[TaskTuning],
        known: Sequence[Record],
        new: Sequence[Record],
        file: Path | None,
        seed: int,
    ) -> TunedTasks:
        """What the tuned tasks bring the network: decided by comparisons, or by its exact cycles.

        Parameters
        ----------
        known, new
            All records, and those of them that this tuning made.
        file
            New records of decisions are appended to it; None for no file.
        seed
            Of the inputs of comparisons.
        """
        decisions = self.device.decide(self.prepared, done, known, new, seed)
        if decisions is not None and file is not None:
            append_records(file, decisions.fresh)
        tuned = self.device.best_of(known)
        if self.default is None or (best := tuned.cycles(tuned.build(self.prepared))) is None:
            return TunedTasks.of(done, decisions)
        # Choices that make a network slower are not taken when it is compiled.
        return TunedTasks(done, decisions, self.default, min(self.default, best))


def examples_of(records: Iterable[Record]) -> list[Example]:
    """Measurements of any device of ours that learned models start from. Raises as `examples`."""
    return examples(records, LEARNED)


def starting_records(file: Path | None, others: Sequence[Path], warn: Warn) -> list[Record]:
    """The records of a file that may be missing, and of others, which are added to it.

    Raises
    ------
    RecordError
        A file cannot be read, or `file` not be written.
    """
    own = known_records(file, warn) if file is not None and file.exists() else []
    merged = merge_records(own, *(known_records(path, warn) for path in others))
    if file is not None:
        # Also tries whether the file can be written, before long work.
        append_records(file, merged[len(merge_records(own)) :])
    return merged if others else own


def is_bounded(done: TaskTuning) -> bool:
    """Whether anything is known to bound a task's costs: on a processor nothing is."""
    return bool(done.tuning.candidates.bounds.any())


def plain_cost(cost: float) -> float | None:
    """Cycles as a whole number, seconds as they are; None for what was not measured."""
    if not isfinite(cost):
        return None
    return int(cost) if float(cost).is_integer() else float(cost)
