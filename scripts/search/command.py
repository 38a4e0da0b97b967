"""`tandem search`: finds machines for networks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from tandem.compiler.search.estimates import ASSUMED_MHZ
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.operations_axis import Offered, with_operations
from tandem.compiler.search.space import load_space, space_names
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import CalibrateOption, ModelFlags, QuantiseOption
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
from tandem.scripts.search.budget import parse_budget
from tandem.scripts.search.export import check_export
from tandem.scripts.search.table import print_explanation, print_front
from tandem.scripts.several_models import ModelsArgument, check_models
from tandem.scripts.shapes import ShapeOption
from tandem.scripts.tables import plain_console
from tandem.scripts.utilization.plot import Plot
from tandem.workbench.models import model_inputs
from tandem.workbench.pages.write import check_page
from tandem.workbench.search.measure import Network
from tandem.workbench.search.options import Options

DEFAULT_BUDGET = "10m"
DEFAULT_OBJECTIVES = "cycles,area"


def _objectives(text: str) -> tuple[Objective, ...]:
    names = [name.strip() for name in text.split(",")]
    known = [objective.value for objective in Objective]
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"{name!r} is no objective: {', '.join(known)}")
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"{text!r} has an objective twice")
    return tuple(map(Objective, names))


def _weights(text: str) -> tuple[float, ...]:
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        raise typer.BadParameter(f"{text!r}: numbers, with commas between them") from None
    if not all(0 < weight < float("inf") for weight in found):
        raise typer.BadParameter(f"{text!r}: weights are above 0")
    return found


def command(
    models: ModelsArgument,
    space: Annotated[
        str,
        typer.Option(
            "--space",
            metavar="PRESET|FILE",
            help=f"The machines to choose from: {', '.join(space_names())}, or a JSON file.",
        ),
    ] = "small",
    operations: Annotated[
        list[str] | None,
        typer.Option(
            "--operations",
            metavar="FILE",
            help="A machine with operations of its own, as `tandem discover -o` writes it: each "
            "machine of the space has none, or those of one such file. May be given more than "
            "once.",
        ),
    ] = None,
    objectives: Annotated[
        Any,  # tuple[Objective, ...], which Typer takes for an option with several values
        typer.Option(
            "--objectives",
            metavar="NAME,...",
            parser=_objectives,
            help="What is to be small: cycles, milliseconds, area, dram_bytes, energy.",
        ),
    ] = DEFAULT_OBJECTIVES,
    weights: Annotated[
        Any,  # tuple[float, ...] | None
        typer.Option(
            "--weights",
            metavar="N,...",
            parser=_weights,
            help="How often each model runs, for sums over models (default: once).",
        ),
    ] = None,
    budget: Annotated[
        Any,  # Budget
        typer.Option(
            "--budget",
            metavar="30m|N",
            parser=parse_budget,
            help="A time, after which no further batch of machines begins, or a number of "
            "machines.",
        ),
    ] = DEFAULT_BUDGET,
    explorer: Annotated[
        Explorer,
        typer.Option("--explorer", help="Which of Optuna's samplers proposes machines."),
    ] = Explorer.NSGA2,
    mhz: Annotated[
        float | None,
        typer.Option(
            "--mhz",
            metavar="N",
            min=1e-3,
            help="The clock of all machines (default: by a model if the space's device is an "
            f"ECP5, else {ASSUMED_MHZ:g}, which is assumed).",
        ),
    ] = None,
    tune: Annotated[
        int,
        typer.Option(
            "--tune",
            metavar="N",
            min=0,
            help="Tune the schedules of the front's machines, with N trials for each layer.",
        ),
    ] = 0,
    synthesise: Annotated[
        int,
        typer.Option(
            "--synthesise",
            metavar="N",
            min=0,
            help="Synthesise N machines of the front, spread over it: area, and resources and "
            "clock if the space names a device. Takes minutes for each.",
        ),
    ] = 0,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="DIR",
            readable=False,
            help="Write the front's machines: configuration, Verilog, figures, tuned records.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            readable=False,
            help="Write a page with charts of the machines.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            readable=False,
            help="Draw the front by the first two objectives, as .svg or .png.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Print what each field costs and brings, one step up and one down, around the "
            "front's machine with the least product of objectives.",
        ),
    ] = False,
    around: Annotated[
        str | None,
        typer.Option(
            "--around", metavar="NAME|FILE", help="Explain around this machine of the space."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            metavar="URL",
            help="The database of finished machines, as SQLAlchemy has it (default: SQLite in the "
            "cache). The same search goes on where it was interrupted.",
        ),
    ] = None,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
    shape: ShapeOption = None,
    quantize: QuantiseOption = None,
    calibrate: CalibrateOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    memory: MemoryOption = DEFAULT_MEMORY,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find machines for networks: the fewest cycles for the least area.

    Every machine of the space that can be built can be proposed; its cycles are exact. With the
    same seed and number of machines the result is the same, on any number of processes or
    computers. --config is the machine that the others are compared with.
    """
    with errors_in_one_line(debug):
        _check_arguments(models, weights, jobs, scheduler)
        if report is not None:
            check_page(report)
        if plot is not None and len(objectives) < 2:
            raise typer.BadParameter("--plot shows two objectives")
        picture = None if plot is None else Plot(plot)
        if picture is not None:
            picture.check()
        drawn = report is not None or picture is not None
        offered = operations or []
        machines = [config_input(name) for name in (config, around, *offered)]
        read = [*machines, None if space in space_names() else Path(space), calibrate]
        sources = [path for model in models for path in model_inputs(model)]
        check_outputs({"--report": report, "--plot": plot}, [*sources, *read])
        if export is not None:
            check_export(export, [path for path in (*sources, *read) if path is not None])
        # No file of a calibration is part of a worker's task, so the seed is the same for all.
        chosen = ModelFlags(shape, quantize, calibrate).options(0)
        # Optuna is large and optional.
        from tandem.scripts.search.report import marked_presets, write_search
        from tandem.workbench.search.run import run

        baseline = load_config(config)
        options = Options(
            networks=tuple(Network(model, chosen) for model in models),
            weights=weights or (1.0,) * len(models),
            space=with_operations(
                load_space(space), [Offered(name, load_config(name)) for name in offered]
            ),
            objectives=objectives,
            budget=budget,
            explorer=explorer,
            seed=seed,
            baseline=baseline,
            memory=parse_memory(memory),
            mhz=mhz,
            storage=storage,
            jobs=jobs,
            scheduler=scheduler,
            tune=tune,
            synthesise=synthesise,
            export=export,
            explain=explain or around is not None,
            around=None if around is None else load_config(around),
            beside=marked_presets(baseline) if drawn else (),
        )
        with show_activity("search", quiet=as_json) as show:
            say = show or (lambda step: None)
            done = run(options, say)
            if drawn:
                say("drawing")
                write_search(options, done, memory, report, picture)
        if as_json:
            print_json(done.as_json())
            return
        console = plain_console()
        print_front(console, done.points, done.baseline, objectives, done.streams, done.seconds)
        if done.learned.count:
            console.print(
                f"models learned from {done.learned.count} samples of this computer, too",
                soft_wrap=True,
            )
        if done.explanation is not None:
            print_explanation(console, done.explanation, objectives)
        for folder in done.exported:
            console.print(str(folder), soft_wrap=True)


def _check_arguments(
    models: list[str], weights: tuple[float, ...] | None, jobs: int | None, scheduler: str | None
) -> None:
    check_models(models, ": give it a weight instead")
    if weights is not None and len(weights) != len(models):
        raise typer.BadParameter(f"{len(weights)} weights for {len(models)} models")
    if jobs is not None and scheduler is not None:
        raise typer.BadParameter("--jobs or --scheduler: a cluster has its own processes")
    if not find_spec("optuna"):
        raise CommandError(
            "search needs Optuna, which is not installed: pip install 'tandem-workbench[search]'"
        )
