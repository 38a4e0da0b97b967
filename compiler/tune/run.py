"""A run of the tuner: tasks, their searches and their measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeAlias

from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.explorer import ChoiceTable, Search
from tandem.compiler.tune.explorers.table import make_explorer
from tandem.compiler.tune.plain import canonical
from tandem.compiler.tune.pool import Pool
from tandem.compiler.tune.recorded import Identity, Proposer, RecordedMeasure, RecordedOutcomes
from tandem.compiler.tune.records import Record, append_records
from tandem.compiler.tune.session import Budget, TaskTuning, tune_tasks
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.transfer import Example
from tandem.compiler.tune.trial import Outcome, Trial
from tandem.compiler.tune.tuner import Tuning

DEFAULT = "default"
"""The explorer of records of the compiler's own choices."""
Report = Callable[[Sequence[TaskTuning]], None]


class MeasuredDevice(Protocol):
    """A device that tasks are measured on."""

    def layer(self, task: Task) -> Any:
        """What the pool measures for a task."""

    def identity(self, task: Task) -> Identity:
        """What the measurements of a task depend on."""


@dataclass(frozen=True, slots=True)
class Options:
    """How tasks are tuned.

    Attributes
    ----------
    trials
        For each task on average; None without a limit.
    seconds
        For all tasks; None without a limit.
    examples
        Measurements of other workloads and machines, to learn from.
    wide
        Whether wide spaces are searched, where templates have them.
    """

    explorer: str
    trials: int | None
    seconds: float | None
    seed: int
    examples: Sequence[Example] = ()
    wide: bool = False


Searches: TypeAlias = Callable[[Task, int], tuple[ChoiceTable, Search]]
"""The table of a task's choices and what proposes them, from a seed."""


def tune(
    tasks: Sequence[Task],
    device: MeasuredDevice,
    options: Options,
    known: list[Record],
    file: Path | None,
    report: Report,
    pool: Pool[Outcome],
    searches: Searches | None = None,
) -> list[TaskTuning]:
    """Tune tasks, from what is known; new records are added to `known` and to the file.

    Parameters
    ----------
    pool
        Measures choices of the device's layers.
    searches
        Other tables than the listed choices of tasks' spaces, and what proposes their rows; by
        default the explorer that the options name.

    Raises
    ------
    RecordError
        The file cannot be written; what was finished before is in it.
    CompilerError
        A default choice cannot be compiled.
    """
    started = monotonic()
    outcomes = RecordedOutcomes()
    outcomes.add(known)

    def save(record: Record) -> None:
        known.append(record)
        if file is not None:
            append_records(file, [record])

    def expired() -> bool:
        return options.seconds is not None and monotonic() - started >= options.seconds

    running: list[TaskTuning] = []
    for task in tasks:
        table, search = searches(task, options.seed) if searches else _listed(task, options)
        running.append(_begin(task, device, options, (table, search), outcomes, pool, save))
        report(running)
    tune_tasks(running, Budget(options.trials, expired), lambda task: report(running))
    return running


def _listed(task: Task, options: Options) -> tuple[ChoiceTable, Search]:
    """The choices of a task's space that fit, and the explorer that options name."""
    candidates = Candidates.of(task.target, task.template, task.workload, wide=options.wide)
    # Only other workloads': what is known of this one is replayed in the order of proposals.
    others = [one.measured for one in options.examples if one.workload != canonical(task.workload)]
    return candidates, make_explorer(options.explorer, candidates, options.seed, others)


def _begin(
    task: Task,
    device: MeasuredDevice,
    options: Options,
    searched: tuple[ChoiceTable, Search],
    outcomes: RecordedOutcomes,
    pool: Pool[Outcome],
    save: Callable[[Record], None],
) -> TaskTuning:
    layer, of = device.layer(task), device.identity(task)
    candidates, explorer = searched

    def measure_by(explorer: str) -> RecordedMeasure:
        return RecordedMeasure(
            of,
            Proposer(explorer, options.seed),
            outcomes,
            lambda choices, limit: pool.measure(layer, choices, limit),
            save,
        )

    (default,) = measure_by(DEFAULT)([task.default], float("inf"))
    row = candidates.row(task.default)
    outside = (task.default, default.cost) if row is None else None
    tuning = Tuning(candidates, explorer, incumbent=outside)
    if row is not None:
        tuning.learn([Trial(row, default)])
    return TaskTuning(task, tuning, measure_by(options.explorer), default)
