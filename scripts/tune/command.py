"""`tandem tune`: finds schedules for the layers of a network."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from compiler.machines.defaults import LEARNED
from compiler.tune.best_known import BestKnown, of_machine
from compiler.tune.candidates import BASE, WIDE
from compiler.tune.records import Record, append_records, merge_records
from compiler.tune.transfer import examples
from compiler.tune.trial import Outcome
from hw.config_files import load_config
from hw.memory_model import parse_memory
from runtime.inputs import PixelNormalisation
from scripts.console import errors_in_one_line, print_json
from scripts.errors import LayerError
from scripts.model_options import (
    MODELS,
    CalibrateOption,
    DeviceName,
    DeviceOption,
    QuantiseOption,
    ThreadsOption,
    refuse_accelerator_options,
)
from scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from scripts.outputs import check_outputs, config_input
from scripts.page.write import check_page
from scripts.progress import show_activity
from scripts.shapes import ShapeOption
from scripts.sources import (
    Accelerator,
    ModelOptions,
    Processor,
    TargetDevice,
    import_model,
    model_inputs,
)
from scripts.tables import plain_console, print_table, whole_number
from scripts.tune.compared_on_cpu import ComparedOnCpu
from scripts.tune.decision import Decisions, decide
from scripts.tune.on_cpu import CpuMeasurer
from scripts.tune.on_cycle import cycles_of
from scripts.tune.open_pool import open_pool
from scripts.tune.pool import Job
from scripts.tune.report import write_report
from scripts.tune.rows import decided_text, network_json, table, tasks_json, weighted
from scripts.tune.session import Options, Totals, identity_on_cpu, tune
from scripts.tune.show import RecordedWorkload, print_recorded, recorded_tasks, recorded_workloads
from scripts.tune.tasks import (
    compile_tuned,
    tasks_of_layers,
    tasks_of_network,
    tasks_of_processor,
)
from scripts.tune.view import show_tuning
from scripts.tuned import known_records, machine_of
from scripts.utilization.conv_layers import Layer, distinct, parse_layer

DEFAULT_TRIALS = 64


class ExplorerName(Enum):
    """The values of `--explorer`."""

    XGBOOST = "xgboost"
    RANDOM = "random"
    GRID = "grid"
    GENETIC = "genetic"
    EXACT = "exact"
    ESTIMATE = "estimate"


class SpaceName(Enum):
    """The values of `--space`."""

    BASE = BASE
    WIDE = WIDE


def _layer(text: str) -> Layer:
    try:
        return parse_layer(text)
    except LayerError as error:
        raise typer.BadParameter(str(error)) from None


def command(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help=f"{MODELS[0].upper()}{MODELS[1:]}."),
    ] = None,
    layer: Annotated[
        list[Layer] | None,
        typer.Option(
            "--layer",
            metavar="NAME=H,W,IC,OC,K,STRIDE,PAD",
            parser=_layer,
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
            "certified; estimate: in the order of the compiler's own estimate.",
        ),
    ] = ExplorerName.XGBOOST,
    space: Annotated[
        SpaceName,
        typer.Option(
            "--space",
            help="base: the space that the compiler chooses from, which the exact explorer "
            "certifies; wide: other loops, and operands that stay on chip or have several slots "
            "there, where a layer's template knows them.",
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
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Processes that measure (default: one a core)."
        ),
    ] = None,
    show: Annotated[
        bool,
        typer.Option(
            "--show",
            help="Print what --records knows, of all workloads or of a model's, and measure "
            "nothing.",
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Measure on the workers of this Dask cluster instead (tcp://HOST:8786); they "
            "have the same version of Tandem.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            readable=False,
            help="Write a page with charts of the trials, those in --records included.",
        ),
    ] = None,
    shape: ShapeOption = None,
    quantize: QuantiseOption = None,
    calibrate: CalibrateOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    memory: MemoryOption = DEFAULT_MEMORY,
    device: DeviceOption = DeviceName.ACCELERATOR,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find schedules for the layers of a network, on the accelerator's exact time, or with
    --device cpu on the time of this processor.

    Every choice of a layer's space that fits can be proposed; measured ones are kept with
    --records, from which `tandem run` and `tandem compile` take the best. With the same seed and
    number of trials the result is the same, on any number of processes or machines; but not on the
    CPU, where one choice at a time is run, several times, and the median is taken. There the best
    choices run once more at the end, alternately with the default ones, layer by layer and as a
    network, and are kept where they win by more than the noise.
    """
    with errors_in_one_line(debug), ExitStack() as closing:
        begun = perf_counter()
        if (model is not None and layer) or (model is None and not layer and not show):
            raise typer.BadParameter("a MODEL or --layer: one of them")
        if shape and model is None:
            raise typer.BadParameter("--shape is of a MODEL's inputs")
        if show and (records is None or merge):
            raise typer.BadParameter("--show prints --records FILE, and changes nothing")
        if show and report is not None:
            raise typer.BadParameter("--report is of a run, which --show is not")
        if merge and records is None:
            raise typer.BadParameter("--merge adds to the file of --records")
        if jobs is not None and scheduler is not None:
            raise typer.BadParameter("--jobs or --scheduler: a cluster has its own processes")
        on_cpu = device is DeviceName.CPU
        if on_cpu:
            given = {
                "--layer": layer,
                "--transfer": transfer,
                "--jobs": jobs is not None,
                "--scheduler": scheduler is not None,
                "--report": report is not None,
                "--space wide": space is SpaceName.WIDE,
            }
            refuse_accelerator_options(
                context, [option for option, is_set in given.items() if is_set]
            )
        elif threads is not None:
            raise typer.BadParameter("--threads is for --device cpu")
        unlimited = explorer is ExplorerName.EXACT or seconds is not None
        most = trials if trials is not None or unlimited else DEFAULT_TRIALS
        if transfer and explorer is not ExplorerName.XGBOOST:
            raise typer.BadParameter("--transfer is for the xgboost explorer")
        sources = chain(model_inputs(model), (config_input(config), calibrate))
        check_outputs({"--records": records, "--report": report}, sources)
        check_outputs({"--report": report}, (*(merge or ()), *(transfer or ())))
        learned = examples(_known(None, transfer or []), LEARNED)
        options = Options(
            explorer.value, most, seconds, seed, learned, wide=space is SpaceName.WIDE
        )
        machine: TargetDevice = Processor(threads)
        if not on_cpu:
            machine = Accelerator(load_config(config), parse_memory(memory), hiding=True)
        layers = distinct(layer or [])
        chosen = ModelOptions(
            quantize, calibrate, PixelNormalisation.IMAGENET, seed, tuple(shape or ())
        )
        if show and records is not None:
            rows = _shown(known_records(records), model, layers, machine, chosen)
            if as_json:
                print_json({"tasks": [row.as_json() for row in rows], "records": str(records)})
            else:
                print_recorded(plain_console(), rows)
            return
        if report is not None:
            check_page(report)
        known = _known(records, merge or [])
        before = len(known)
        job: Job[Outcome] = CpuMeasurer() if on_cpu else cycles_of
        pool = closing.enter_context(open_pool(job, 1 if on_cpu else jobs, scheduler))
        prepared = None if model is None else import_model(model, chosen, None).prepared(None)
        default = None
        match machine:
            case Processor():
                assert prepared is not None, "--layer is refused"
                tasks = tasks_of_processor(prepared, machine)
            case Accelerator() if prepared is not None:
                default = compile_tuned(prepared, machine)
                tasks = default.tasks
            case Accelerator():
                tasks = tasks_of_layers(layers, machine, seed)
        with show_tuning(options, quiet=as_json) as display:
            done = tune(tasks, machine, options, known, records, display, pool)
        decisions: Decisions | None = None
        if isinstance(machine, Processor) and prepared is not None:
            with show_activity("tune", quiet=as_json) as activity:
                if activity is not None:
                    activity("comparing the best choices with the default ones, alternately")
                compared = ComparedOnCpu(prepared, machine, seed)
                of = partial(identity_on_cpu, processor=machine)
                new = known[before:]
                decisions = decide(done, of, known, new, compared.layer, compared.network)
            if records is not None:
                append_records(records, decisions.fresh)
        decided = None if decisions is None else decisions.tasks
        default_total, best_total = weighted(done, decided)
        if prepared is not None and default is not None and isinstance(machine, Accelerator):
            best = compile_tuned(prepared, replace(machine, tuned=_best(known, machine)))
            # As with --records, which does not take what makes a network slower.
            default_total, best_total = default.cycles, min(default.cycles, best.cycles)
        totals = Totals(default_total, best_total, perf_counter() - begun)
        result: dict[str, object] = {
            "tasks": tasks_json(done, decided),
            "total": {"default": totals.default, "best": totals.best},
            "records": None if records is None else str(records),
            "seconds": totals.seconds,
        }
        if decisions is not None:
            result["network"] = network_json(decisions.network)
        if report is not None and isinstance(machine, Accelerator):
            title = model or ", ".join(layer.name for layer in layers)
            write_report(report, title, memory, done, machine, options, known, totals)
        if as_json:
            print_json(result)
            return
        console = plain_console()
        print_table(console, table(done, decided))
        console.print(_summary(totals, machine, memory))
        if decisions is not None:
            console.print(decided_text(decisions))


def _best(known: list[Record], machine: TargetDevice) -> BestKnown:
    return BestKnown(of_machine(known, *machine_of(machine)))


def _summary(totals: Totals, machine: TargetDevice, memory: str) -> str:
    """The line below the table."""
    match machine:
        case Accelerator():
            default, best = (
                whole_number(None if cost is None else int(cost), "-")
                for cost in (totals.default, totals.best)
            )
            where = f"cycles on {machine.config.name}, memory {memory}"
        case Processor():
            default, best = (
                "-" if cost is None else f"{cost * 1e3:.2f}"
                for cost in (totals.default, totals.best)
            )
            where = f"ms on {machine.machine.cpu}, threads {machine.machine.threads}"
    return f"total {default} -> {best} {where}, in {totals.seconds:.0f} s"


def _shown(
    known: list[Record],
    model: str | None,
    layers: tuple[Layer, ...],
    machine: TargetDevice,
    options: ModelOptions,
) -> list[RecordedWorkload]:
    """What records know of a model's tasks, or of layers'; without either, of all workloads."""
    if model is not None:
        prepared = import_model(model, options, None).prepared(None)
        if isinstance(machine, Processor):
            return recorded_tasks(tasks_of_processor(prepared, machine), machine, known)
        return recorded_tasks(tasks_of_network(prepared, machine), machine, known)
    if layers and isinstance(machine, Accelerator):
        return recorded_tasks(tasks_of_layers(layers, machine, options.seed), machine, known)
    return recorded_workloads(known)


def _known(file: Path | None, others: list[Path]) -> list[Record]:
    """The records of a file that may be missing, and of others, which are added to it."""
    own = known_records(file) if file is not None and file.exists() else []
    merged = merge_records(own, *map(known_records, others)) if others else own
    if file is not None:
        # Also tries whether the file can be written, before long work.
        append_records(file, merged[len(merge_records(own)) :])
    return merged
