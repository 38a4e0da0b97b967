"""`tandem.tune`: schedules of layers, found by measuring."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from tandem.api.compiling import mode_of, source_of
from tandem.api.layers import Layers, layers_of
from tandem.api.loading import Loadable, model_of
from tandem.api.machines import Machine, Memory, NamedMemory, device_of, warn
from tandem.api.model import Model
from tandem.api.progress import Progress, Steps, steps_of
from tandem.api.samples import Samples
from tandem.api.tensor_tuning import decided_alone, schedule_of, tensor_task
from tandem.api.tuning_table import task_table
from tandem.api.weights import weight_options
from tandem.compiler.errors import RecordError
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS
from tandem.compiler.te import Schedule, Tensor
from tandem.compiler.tune.candidates import BASE, WIDE
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.run import Options, Report
from tandem.compiler.tune.run import tune as run_tuner
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.runtime.inputs import PixelNormalisation
from tandem.workbench import devices
from tandem.workbench.arguments import at_least, choice, expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.measurers.sketches_on_cycle import sketch_tasks
from tandem.workbench.pages.tuning.of_tuning import TuningRun
from tandem.workbench.pages.write import check_page, write_page
from tandem.workbench.pools.open_pool import open_pool
from tandem.workbench.table import Table
from tandem.workbench.table_text import html_text
from tandem.workbench.tuning import NetworkTuning, TunedTasks, examples_of, starting_records
from tandem.workbench.utilization.tasks import tasks_of_layers

SKETCHES: Final = "sketches"
"""The explorer of schedules without templates."""
DEFAULT_TRIALS: Final = 64
"""Trials of each task on average, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True, repr=False)
class Tuning:
    """What tuning came to.

    Attributes
    ----------
    tasks
        A row for each workload: its costs, and what is known of its space.
    default, best
        Of the network, or of all layers, with the compiler's own choices and with the best: clock
        cycles on an accelerator, s on a processor; None if something could not be measured.
    certified
        Whether no choice of any task's space is better: of the explorer `exact`, mostly.
    records
        The file with all measurements, for `records=` of `tandem.compile`; None without one.
    details
        What the page of `report` shows; None of a processor.
    schedule
        The best schedule of one's own tensor expressions, or the compiler's own where none is
        faster; None of models and layers. The program's inputs are called `a0`, `a1` and so on, its
        stages `s0`, `s1`; an accelerator's is of tensors in blocks.
    """

    tasks: Table
    default: float | None
    best: float | None
    certified: bool
    records: Path | None
    details: TuningRun | None
    schedule: Schedule | None = None

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html) with charts of the trials, which opens offline.

        The trials of the file of records are shown, too.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            The path has another suffix, or cannot be written; schedules of a processor have no
            page.
        MissingPackageError
            A library that draws is not installed (the extra `report`).
        """
        file = file_path("path", path)
        check_page(file)
        if self.details is None:
            raise ArgumentValueError("report shows the tuning of an accelerator, not that of a Cpu")
        write_page(self.details.page(f"tuning.report({str(file)!r})"), file)

    def __repr__(self) -> str:
        in_cycles = self.tasks.select("best").columns[0].kind is int
        costs = " -> ".join(_shown(cost, in_cycles) for cost in (self.default, self.best))
        shown = self.tasks.select("name", "count", "trials", "default", "best", "certified")
        return f"{shown}\ntotal {costs}"

    def _repr_html_(self) -> str:
        """The tasks in a notebook, and the total below."""
        return self.tasks._repr_html_() + html_text(repr(self).splitlines()[-1])


def tune(
    model: Model | Loadable | Tensor | None = None,
    machine: Machine = "pynq",
    *,
    layers: Layers = None,
    trials: int | None = None,
    seconds: float | None = None,
    explorer: str = "xgboost",
    space: str = BASE,
    records: str | os.PathLike[str] | None = None,
    transfer: Iterable[str | os.PathLike[str]] = (),
    jobs: int = 1,
    scheduler: str | None = None,
    memory: Memory = "fast",
    quantize: str | None = "multiplier",
    calibrate: Samples | None = None,
    weights: str = "int8",
    weights_of: Mapping[str, str] | None = None,
    weight_group: int | None = None,
    max_loss: float | None = None,
    smooth: bool = False,
    constants: Iterable[Tensor] = (),
    reassociate: bool = False,
    seed: int = 0,
    progress: Progress = None,
) -> Tuning:
    """Find schedules for the layers of a model, for convolutions, or for one's own operator.

    On an accelerator costs are exact clock cycles, and the same seed and number of trials give the
    same result; on a processor they are times, and a choice is kept if it wins once more, by more
    than the noise. With `records` nothing that was measured is lost, whatever stops the call.

    Parameters
    ----------
    model, machine, memory, quantize, calibrate, weights, weights_of, weight_group, max_loss, smooth
        As of `tandem.compile`. With the explorer `sketches` the model may be a tensor of
        `tandem.te`, which says how it is computed.
    layers
        Convolutions instead of a model, as of `tandem.utilization`.
    trials
        Trials of each task on average: 64 by default; no limit with `seconds`, or with `exact`.
    seconds
        Time for all tasks.
    explorer
        `xgboost`: led by a learned model; `exact`: branch and bound until the best is certified;
        `random`, `grid`, `genetic`; `estimate`: in the order of the compiler's own estimate;
        `sketches`: schedules without templates, also of what no template takes.
    space
        `base`: the compiler's own space; `wide`: one of other loops, which does not contain it.
    records
        The file that trials are kept in, and that tuning starts from.
    transfer
        Files of records of other workloads and machines that `xgboost` learns from as well.
    jobs
        Processes that measure. With more than one, the caller's script needs the guard
        `if __name__ == "__main__":`, as for all of `multiprocessing`.
    scheduler
        The address of a Dask cluster, whose workers measure.
    constants
        Placeholders of a tensor whose values are known when it is compiled, as weights are: copies
        of them in another order cost nothing.
    reassociate
        Whether floats of a tensor may be added in another order than its expressions define.
    seed
        Of the search.
    progress
        None, True for a bar, or a callback of (done, total, text): trials.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    CompilerError
        Something in the model cannot be compiled, or not be measured.
    SchedulerError
        The cluster cannot be used.
    """
    if (model is None) == (layers is None):
        raise ArgumentValueError("a model or layers: one of them is tuned")
    sketches = choice("explorer", explorer, (*EXPLORERS, SKETCHES)) == SKETCHES
    if isinstance(model, Tensor) and not sketches:
        raise ArgumentValueError(f"a tensor is tuned with explorer={SKETCHES!r}, not {explorer!r}")
    known_inputs = tuple(constants)
    if not isinstance(model, Tensor) and (known_inputs or reassociate):
        raise ArgumentValueError("constants and reassociate are of a tensor")
    mode = mode_of(quantize, calibrate)
    formats = weight_options(
        *(weights, weights_of, weight_group, max_loss),
        smooth=smooth,
        calibrated=calibrate is not None,
        quantised=mode is not None,
    )
    if model is None and formats != INT8_WEIGHTS:
        raise ArgumentValueError("weights and smooth are for a model, not for layers")
    begun = perf_counter()
    file = None if records is None else file_path("records", records)
    device = device_of(machine, memory, hiding=True, records=None)
    seed = at_least("seed", seed, 0)
    with value_errors(RecordError):
        learned = starting_records(None, [file_path("transfer", path) for path in transfer], warn)
        known = starting_records(file, [], warn)
    options = Options(
        explorer,
        _trials(trials, seconds, explorer),
        _seconds(seconds),
        seed,
        examples_of(learned),
        wide=choice("space", space, (BASE, WIDE)) == WIDE,
    )
    before = len(known)
    pool = open_pool(device.measurer(), _jobs(device, jobs, scheduler, layers), scheduler)
    with steps_of("tune", progress) as steps, pool as measuring:
        network = None
        tasks: tuple[Task, ...]
        if isinstance(model, Tensor):
            title = model.name
            tasks = (tensor_task(device, model, known_inputs, reassociate),)
        elif model is not None:
            loaded = model_of(model)
            title = loaded.name
            steps.say("compiling")
            pixels = PixelNormalisation.IMAGENET
            source = source_of(loaded, mode, calibrate, pixels, weights=formats)
            prepared = source.prepared(steps.say, device)
            network = NetworkTuning.of(prepared, device, sketches=sketches)
            tasks = network.tasks
        else:
            assert isinstance(device, devices.Accelerator), "checked with the jobs"
            wanted = layers_of(layers)
            title = ", ".join(layer.name for layer in wanted)
            tasks = tasks_of_layers(wanted, device, seed)
            if sketches:
                tasks = sketch_tasks(tasks)
        report = _report(steps, options.trials, len(tasks))
        searches = device.sketch_search() if sketches else None
        done = run_tuner(tasks, device, options, known, file, report, measuring, searches)
        if isinstance(model, Tensor) and isinstance(device, devices.Cpu):
            steps.say("comparing with the default schedule")
            tuned = decided_alone(device, done, known, known[before:], file)
        elif network is None:
            tuned = TunedTasks.of(done)
        else:
            steps.say("comparing with the default choices")
            tuned = network.finish(done, known, known[before:], file, seed)
    decisions = None if tuned.decisions is None else tuned.decisions.tasks
    in_cycles = isinstance(device, devices.Accelerator)
    details = None
    if isinstance(device, devices.Accelerator):
        name = NamedMemory.of(memory).name
        seconds_spent = perf_counter() - begun
        details = TuningRun(title, name, tuned, device, options, tuple(known), seconds_spent)
    table = task_table(tuned.tasks, decisions, in_cycles=in_cycles)
    certified = all(row["certified"] is True for row in table)
    schedule = schedule_of(tuned) if isinstance(model, Tensor) else None
    return Tuning(table, tuned.default, tuned.best, certified, file, details, schedule)


def _report(steps: Steps, trials: int | None, tasks: int) -> Report:
    def report(running: Sequence[TaskTuning]) -> None:
        done = sum(len(task.tuning.trials) for task in running)
        # Default choices count, too, so that there may be more than were asked for.
        total = 0 if trials is None else max(done, trials * tasks)
        steps.at(done, total, f"{len(running)} of {tasks} workloads")

    return report


def _trials(trials: int | None, seconds: float | None, explorer: str) -> int | None:
    if trials is not None:
        return at_least("trials", trials, 1)
    return None if seconds is not None or explorer == "exact" else DEFAULT_TRIALS


def _seconds(seconds: object) -> float | None:
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        expect("seconds", seconds, "a number, 0 or more")
    if seconds is not None and not seconds >= 0:
        raise ArgumentValueError(f"seconds is {seconds}: it must be 0 or more")
    return seconds


def _jobs(device: devices.TargetDevice, jobs: int, scheduler: str | None, layers: Layers) -> int:
    """The number of processes; a processor measures in this one, and no convolutions alone."""
    jobs = at_least("jobs", jobs, 1)
    if isinstance(device, devices.Cpu) and (jobs > 1 or scheduler or layers is not None):
        raise ArgumentValueError("jobs, scheduler and layers are for an accelerator, not for a Cpu")
    if jobs > 1 and scheduler is not None:
        raise ArgumentValueError("jobs or scheduler: a cluster has its own processes")
    return jobs


def _shown(cost: float | None, in_cycles: bool) -> str:
    if cost is None:
        return "unknown"
    return f"{cost:,.0f} cycles" if in_cycles else f"{cost * 1e3:,.3f} ms"
