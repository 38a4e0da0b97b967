"""A run of `tandem tune`: tasks, their searches and their measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic

from compiler.machines.cpu.templates.layer import LayerOnCpu
from compiler.tune.candidates import Candidates
from compiler.tune.explorers.table import make_explorer
from compiler.tune.plain import canonical, to_plain
from compiler.tune.recorded import Identity, Proposer, RecordedMeasure, RecordedOutcomes
from compiler.tune.records import Record, append_records
from compiler.tune.session import Budget, TaskTuning, tune_tasks
from compiler.tune.tasks import Task
from compiler.tune.transfer import Example
from compiler.tune.trial import Outcome, Trial
from compiler.tune.tuner import Tuning
from hw.config import HardwareConfig
from hw.memory_model import MemoryModel
from scripts.sources import Accelerator, Processor, TargetDevice
from scripts.tune.on_cpu import CpuLayer
from scripts.tune.on_cycle import Layer
from scripts.tune.pool import Pool
from scripts.tune.tasks import measured_layer
from scripts.tuned import NO_MEMORY, machine_json, memory_text, processor_json

DEFAULT = "default"
"""The explorer of records of the compiler's own choices."""
Report = Callable[[Sequence[TaskTuning]], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What `tandem tune` was asked for.

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


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run came to.

    Attributes
    ----------
    default, best
        Cycles of the network, or of all layers, or their seconds on a processor; None if a layer
        was never measured.
    seconds
        Wall-clock time.
    """

    default: float | None
    best: float | None
    seconds: float


def tune(
    tasks: Sequence[Task],
    machine: TargetDevice,
    options: Options,
    known: list[Record],
    file: Path | None,
    report: Report,
    pool: Pool[Outcome],
) -> list[TaskTuning]:
    """Tune tasks, from what is known; new records are added to `known` and to the file.

    Parameters
    ----------
    pool
        Measures choices by `cycles_of`, or on a processor by a `CpuMeasurer`.

    Raises
    ------
    RecordError
        The file cannot be written; what was finished before is in it.
    SchedulerError
        The pool is a cluster that cannot measure; what was finished before is in the file.
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
        running.append(_begin(task, machine, options, outcomes, pool, save))
        report(running)
    tune_tasks(running, Budget(options.trials, expired), lambda task: report(running))
    return running


def identity(task: Task, config: HardwareConfig, memory: MemoryModel) -> Identity:
    """What a task's measurements on a machine depend on."""
    return Identity(
        tandem=version("tandem-workbench"),
        target="accelerator",
        machine=machine_json(config),
        memory=memory_text(memory),
        template=task.template.name,
        workload=to_plain(task.workload),
    )


def identity_on_cpu(task: Task, processor: Processor) -> Identity:
    """What a task's measurements on a processor depend on."""
    return Identity(
        tandem=version("tandem-workbench"),
        target="cpu",
        machine=processor_json(processor.machine),
        memory=NO_MEMORY,
        template=task.template.name,
        workload=to_plain(task.workload),
    )


def _measurement(task: Task, machine: TargetDevice) -> tuple[Layer | CpuLayer, Identity]:
    """What measurers compile for a task, and what its measurements depend on."""
    match machine:
        case Accelerator():
            layer = measured_layer(task, machine)
            return layer, identity(task, machine.config, machine.memory)
        case Processor():
            assert isinstance(task.template, LayerOnCpu), "all templates of a CPU are layers"
            on_cpu = CpuLayer(machine.machine, task.template, task.workload)
            return on_cpu, identity_on_cpu(task, machine)


def _begin(
    task: Task,
    machine: TargetDevice,
    options: Options,
    outcomes: RecordedOutcomes,
    pool: Pool[Outcome],
    save: Callable[[Record], None],
) -> TaskTuning:
    layer, of = _measurement(task, machine)
    candidates = Candidates.of(task.target, task.template, task.workload, wide=options.wide)
    # Only other workloads': what is known of this one is replayed in the order of proposals.
    others = [one.measured for one in options.examples if one.workload != canonical(task.workload)]
    explorer = make_explorer(options.explorer, candidates, options.seed, others)

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
