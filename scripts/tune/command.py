"""`tandem tune`: finds schedules for the layers of a network."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from enum import Enum
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from tandem.compiler.tune.candidates import BASE, WIDE
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Options, tune
from tandem.compiler.tune.tasks import Task
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.command_line import command_line
from tandem.scripts.completion import complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.model_options import (
    MODEL_FLAGS,
    MODELS,
    DeviceName,
    DeviceOption,
    ModelFlags,
    ThreadsOption,
    on_command_line,
    refuse_accelerator_options,
)
from tandem.scripts.option_groups import with_groups
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    JobsOption,
    JsonOption,
    MemoryOption,
    SchedulerOption,
    SeedOption,
)
from tandem.scripts.outputs import check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.records import warn
from tandem.scripts.tables import plain_console, print_table, whole_number
from tandem.scripts.tune.neighbours import print_neighbours, task_of_layer
from tandem.scripts.tune.rows import decided_text, network_json, table, tasks_json
from tandem.scripts.tune.show import print_recorded
from tandem.scripts.tune.view import show_tuning
from tandem.scripts.tune.whole_network import print_bound
from tandem.scripts.utilization.layer_option import parse_layer_option
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.workbench.devices import GPUS, Accelerator, Cpu, OnGpu, TargetDevice
from tandem.workbench.measurers.sketches_on_cycle import sketch_tasks
from tandem.workbench.models import ModelOptions, model_inputs, prepared_network
from tandem.workbench.neighbours import neighbourhood
from tandem.workbench.network_bound import network_bound as bound_of_network
from tandem.workbench.pages.tuning.of_tuning import TuningRun
from tandem.workbench.pages.write import check_page, write_page
from tandem.workbench.pools.open_pool import open_pool
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.recorded_workloads import RecordedWorkload, recorded_tasks, recorded_workloads
from tandem.workbench.tuning import NetworkTuning, TunedTasks, examples_of, starting_records
from tandem.workbench.utilization.conv_layers import ConvLayer, distinct
from tandem.workbench.utilization.tasks import tasks_of_layers

DEFAULT_TRIALS = 64
_OF_TUNING = {
    name: f"--{name}"
    for name in (
        *("trials", "seconds", "explorer", "space", "merge", "transfer", "jobs", "show"),
        *("scheduler", "report"),
    )
}
"""Options that questions about a model as it is compiled do not take, by parameter."""


class ExplorerName(Enum):
    """The values of `--explorer`."""

    XGBOOST = "xgboost"
    RANDOM = "random"
    GRID = "grid"
    GENETIC = "genetic"
    EXACT = "exact"
    ESTIMATE = "estimate"
    SKETCHES = "sketches"


class SpaceName(Enum):
    """The values of `--space`."""

    BASE = BASE
    WIDE = WIDE


@with_groups
def command(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            autocompletion=complete_model,
            help=f"{MODELS[0].upper()}{MODELS[1:]}.",
        ),
    ] = None,
    layer: Annotated[
        list[ConvLayer] | None,
        typer.Option(
            "--layer",
            metavar="NAME=H,W,IC,OC,K,STRIDE,PAD",
            parser=parse_layer_option,
            help="A convolution instead of a model; may be repeated.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            metavar="N",
            min=1,
            help=f"Trials of each task on average (default: {DEFAULT_TRIALS}; no limit with "
            "--seconds, or with the exact explorer).",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar="N", min=0, help="Time for all tasks."),
    ] = None,
    explorer: Annotated[
        ExplorerName,
        typer.Option(
            "--explorer",
            help="xgboost: led by a learned model; exact: branch and bound until the best is "
            "certified; estimate: in the order of the compiler's own estimate; sketches: "
            "schedules without templates, of what no template takes, too (not on GPUs).",
        ),
    ] = ExplorerName.XGBOOST,
    space: Annotated[
        SpaceName,
        typer.Option(
            "--space",
            help="base: tiles that virtual threads share; wide: another space, of loops in which "
            "operands stay on chip or have several slots there, where a layer's template has it. "
            "Neither contains the other; the compiler's estimate chooses from both, and the exact "
            "explorer certifies the best of one.",
        ),
    ] = SpaceName.BASE,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FILE",
            readable=False,
            help="Keep trials in this file, and start from those that it has.",
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            "--merge",
            metavar="FILE",
            readable=False,
            help="Add the records of another file to --records; may be repeated.",
        ),
    ] = None,
    transfer: Annotated[
        list[Path] | None,
        typer.Option(
            "--transfer",
            metavar="FILE",
            readable=False,
            help="Records of other workloads and machines that xgboost learns from as well; may be "
            "repeated.",
        ),
    ] = None,
    jobs: JobsOption = None,
    show: Annotated[
        bool,
        typer.Option(
            "--show",
            help="Print what --records knows, of all workloads or of a model's, and measure "
            "nothing.",
        ),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="LAYER",
            help="Tune nothing: print what each choice beside that of a layer of MODEL would cost, "
            "in cycles and causes, knob by knob. With --records it is the best recorded one.",
        ),
    ] = None,
    network_bound: Annotated[
        bool,
        typer.Option(
            "--network",
            help="Tune nothing: print the exact cycles of MODEL on the accelerator, and the least "
            "that array, ALU and bus need for the whole network. With --records the schedules are "
            "the best recorded ones.",
        ),
    ] = False,
    scheduler: SchedulerOption = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            readable=False,
            help="Write a page with charts of the trials, those in --records included.",
        ),
    ] = None,
    flags: ModelFlags = MODEL_FLAGS,
    formats: WeightFlags = INT8_FLAGS,
    config: ConfigOption = DEFAULT_CONFIG,
    memory: MemoryOption = DEFAULT_MEMORY,
    device: DeviceOption = DeviceName.ACCELERATOR,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find schedules for the layers of a network, on the accelerator's exact time, or with
    --device cpu, opencl or cuda on the time of this processor or of a GPU.

    Every choice of a layer's space that fits can be proposed; measured ones are kept with
    --records, from which `tandem run` and `tandem compile` take the best. With the same seed and
    number of trials the result is the same, on any number of processes or machines; but not on a
    processor or a GPU, where one choice at a time is run, several times, and the median is taken.
    There the best choices run once more at the end, alternately with the default ones, layer by
    layer and as a network, and are kept where they win by more than the noise.
    """
    with errors_in_one_line(debug), ExitStack() as closing:
        begun = perf_counter()
        if (model is not None and layer) or (model is None and not layer and not show):
            raise typer.BadParameter("a MODEL or --layer: one of them")
        of_model = [name for name, is_set in (flags.given | formats.given).items() if is_set]
        if of_model and model is None:
            raise typer.BadParameter(f"{of_model[0]} is of a MODEL")
        if show and (records is None or merge):
            raise typer.BadParameter("--show prints --records FILE, and changes nothing")
        if explain is not None or network_bound:
            asked = "--network" if network_bound else "--explain"
            if model is None:
                raise typer.BadParameter(f"{asked} is of a MODEL as it is compiled")
            if explain is not None and network_bound:
                raise typer.BadParameter("--explain or --network: one of them")
            if others := on_command_line(context, _OF_TUNING):
                raise typer.BadParameter(f"{others[0]} is of a tuning: {asked} tunes nothing")
        if show and report is not None:
            raise typer.BadParameter("--report is of a run, which --show is not")
        if merge and records is None:
            raise typer.BadParameter("--merge adds to the file of --records")
        if jobs is not None and scheduler is not None:
            raise typer.BadParameter("--jobs or --scheduler: a cluster has its own processes")
        on_cpu = device is DeviceName.CPU
        elsewhere = on_cpu or device.value in GPUS
        if elsewhere:
            given = {
                "--layer": layer,
                "--transfer": transfer,
                "--jobs": jobs is not None,
                "--scheduler": scheduler is not None,
                "--report": report is not None,
                "--explain": explain is not None,
                "--network": network_bound,
                "--space wide": space is SpaceName.WIDE,
            }
            refuse_accelerator_options(
                context, [option for option, is_set in given.items() if is_set], device
            )
        if not on_cpu and threads is not None:
            raise typer.BadParameter("--threads is for --device cpu")
        if device.value in GPUS and explorer is ExplorerName.SKETCHES:
            raise typer.BadParameter("--explorer sketches is for --device cpu and accelerator")
        sketches = explorer is ExplorerName.SKETCHES
        unlimited = explorer is ExplorerName.EXACT or seconds is not None
        most = trials if trials is not None or unlimited else DEFAULT_TRIALS
        if transfer and explorer is not ExplorerName.XGBOOST:
            raise typer.BadParameter("--transfer is for the xgboost explorer")
        sources = chain(model_inputs(model), (config_input(config), flags.calibrate))
        check_outputs({"--records": records, "--report": report}, sources)
        check_outputs({"--report": report}, (*(merge or ()), *(transfer or ())))
        learned = examples_of(starting_records(None, transfer or [], warn))
        options = Options(
            explorer.value, most, seconds, seed, learned, wide=space is SpaceName.WIDE
        )
        target: Accelerator | Cpu | OnGpu = Cpu(threads)
        if device.value in GPUS:
            target = GPUS[device.value]()
        if not elsewhere:
            target = Accelerator(load_config(config), parse_memory(memory))
        layers = distinct(layer or [])
        chosen = flags.options(seed, formats)
        if show and records is not None:
            rows = _shown(
                known_records(records, warn), model, layers, target, chosen, sketches=sketches
            )
            if as_json:
                print_json({"tasks": [row.as_json() for row in rows], "records": str(records)})
            else:
                print_recorded(plain_console(), rows)
            return
        if explain is not None and model is not None and isinstance(target, Accelerator):
            best = target.best_of(known_records(records, warn)) if records else target
            with show_activity("explain", quiet=as_json) as say:
                prepared = prepared_network(model, chosen, best)
                best.build(prepared)
                task = task_of_layer(best.tasks(prepared), explain)
                beside = neighbourhood(best, task, say or (lambda step: None))
            if as_json:
                print_json(beside.as_json())
            else:
                print_neighbours(plain_console(), beside)
            return
        if network_bound and model is not None and isinstance(target, Accelerator):
            best = target.best_of(known_records(records, warn)) if records else target
            with show_activity("network", quiet=as_json):
                function = prepared_network(model, chosen, best).function
                whole = bound_of_network(function, best)
            if as_json:
                print_json(whole.as_json())
            else:
                title = f"{model} on {target.name}, memory {memory}"
                print_bound(plain_console(), title, whole)
            return
        if report is not None:
            check_page(report)
        known = starting_records(records, merge or [], warn)
        before = len(known)
        job = target.measurer()
        pool = closing.enter_context(open_pool(job, 1 if elsewhere else jobs, scheduler))
        network = None
        if model is not None:
            prepared = prepared_network(model, chosen, target)
            network = NetworkTuning.of(prepared, target, sketches=sketches)
            tasks = network.tasks
        else:
            tasks = _tasks_of_layers(layers, target, seed)
            if sketches:
                tasks = sketch_tasks(tasks)
        with show_tuning(options, quiet=as_json) as display:
            searches = target.sketch_search() if sketches else None
            done = tune(tasks, target, options, known, records, display, pool, searches)
        if network is None:
            tuned = TunedTasks.of(done)
        else:
            with show_activity("tune", quiet=as_json or not elsewhere) as activity:
                if activity is not None:
                    activity("comparing the best choices with the default ones, alternately")
                tuned = network.finish(done, known, known[before:], records, seed)
        decided = None if tuned.decisions is None else tuned.decisions.tasks
        seconds_spent = perf_counter() - begun
        result: dict[str, object] = {
            "tasks": tasks_json(done, decided),
            "total": {"default": tuned.default, "best": tuned.best},
            "records": None if records is None else str(records),
            "seconds": seconds_spent,
        }
        if tuned.decisions is not None:
            result["network"] = network_json(tuned.decisions.network)
        if report is not None and isinstance(target, Accelerator):
            title = model or ", ".join(layer.name for layer in layers)
            run = TuningRun(title, memory, tuned, target, options, known, seconds_spent)
            write_page(run.page(command_line()), report)
        if as_json:
            print_json(result)
            return
        console = plain_console()
        print_table(console, table(done, decided))
        console.print(f"{_summary(tuned, target, memory)}, in {seconds_spent:.0f} s")
        if tuned.decisions is not None:
            console.print(decided_text(tuned.decisions))


def _tasks_of_layers(
    layers: Sequence[ConvLayer], device: TargetDevice, seed: int
) -> tuple[Task, ...]:
    assert isinstance(device, Accelerator), "--layer is refused"
    return tasks_of_layers(layers, device, seed)


def _summary(tuned: TunedTasks, device: Accelerator | Cpu | OnGpu, memory: str) -> str:
    """The line below the table, without the time."""
    match device:
        case Accelerator():
            default, best = (
                whole_number(None if cost is None else int(cost), "-")
                for cost in (tuned.default, tuned.best)
            )
            where = f"cycles on {device.name}, memory {memory}"
        case Cpu() | OnGpu():
            default, best = (
                "-" if cost is None else f"{cost * 1e3:.2f}" for cost in (tuned.default, tuned.best)
            )
            where = f"ms on {device.name}, threads {device.machine.threads}"
            if isinstance(device, OnGpu):
                where = f"ms on {device.model}"
    return f"total {default} -> {best} {where}"


def _shown(
    known: list[Record],
    model: str | None,
    layers: tuple[ConvLayer, ...],
    device: TargetDevice,
    options: ModelOptions,
    *,
    sketches: bool,
) -> list[RecordedWorkload]:
    """What records know of a model's tasks, or of layers', or of their sketches; without either, of
    all workloads."""
    if model is not None:
        device = device.for_sketches() if sketches else device
        prepared = prepared_network(model, options, device)
        device.build(prepared)
        tasks = device.sketch_tasks(prepared) if sketches else device.tasks(prepared)
        return recorded_tasks(tasks, device, known)
    if layers:
        tasks = _tasks_of_layers(layers, device, options.seed)
        return recorded_tasks(sketch_tasks(tasks) if sketches else tasks, device, known)
    return recorded_workloads(known)
