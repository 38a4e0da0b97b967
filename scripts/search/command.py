"""`tandem search`: finds machines for networks."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import find_spec
from time import monotonic
from typing import Annotated, Any

import typer

from hw.cache import default_cache
from hw.config_files import load_config
from hw.memory_model import parse_memory
from runtime.inputs import PixelNormalisation
from scripts.console import errors_in_one_line, print_json
from scripts.errors import CommandError
from scripts.model_options import CalibrateOption, QuantiseOption
from scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from scripts.progress import show_activity
from scripts.search.budget import Budget
from scripts.search.estimates import DEFAULT_MHZ, Estimator
from scripts.search.explorer_names import Explorer
from scripts.search.measure import Network, Task, Times, reference, times_of
from scripts.search.objectives import Objective
from scripts.search.points import Point, with_front
from scripts.search.results import open_results
from scripts.search.space import load_space, space_names
from scripts.search.table import print_front
from scripts.sources import ModelOptions, model_file
from scripts.tables import plain_console
from scripts.tune.open_pool import open_pool

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
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="ONNX files, or resnet18, resnet34, resnet50, digits."
        ),
    ],
    space: Annotated[
        str,
        typer.Option(
            "--space",
            metavar="PRESET|FILE",
            help=f"The machines to choose from: {', '.join(space_names())}, or a JSON file.",
        ),
    ] = "small",
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
            parser=Budget.parse,
            help="A time, after which no further batch of machines begins, or a number of "
            "machines.",
        ),
    ] = DEFAULT_BUDGET,
    explorer: Annotated[
        Explorer,
        typer.Option("--explorer", help="Which of Optuna's samplers proposes machines."),
    ] = Explorer.NSGA2,
    mhz: Annotated[
        float,
        typer.Option("--mhz", metavar="N", min=1e-3, help="The clock of all machines."),
    ] = DEFAULT_MHZ,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            metavar="URL",
            help="The database of finished machines, as SQLAlchemy has it (default: SQLite in the "
            "cache). The same search goes on where it was interrupted.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Processes that measure (default: one a core)."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Measure on the workers of this Dask cluster instead (tcp://HOST:8786); they "
            "have the same version of Tandem.",
        ),
    ] = None,
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
    with errors_in_one_line(debug), ExitStack() as closing:
        begun = monotonic()
        _check_arguments(models, weights, jobs, scheduler)
        chosen = ModelOptions(quantize, calibrate, PixelNormalisation.IMAGENET, seed=0)
        networks = tuple(Network(model, chosen) for model in models)
        machines, baseline = load_space(space), load_config(config)
        show = closing.enter_context(show_activity("search", quiet=as_json))
        if show is not None:
            show("preparing the networks")
        found = [reference(network, parse_memory(memory)) for network in networks]
        task = Task(
            networks,
            parse_memory(memory),
            tuple(layers for layers, _ in found),
            tuple(streams for _, streams in found),
        )
        # Optuna is large and optional.
        from scripts.search.proposals import Proposer
        from scripts.search.session import Search
        from scripts.search.storage import Storage, default_url
        from scripts.search.study_name import study_name

        folder = default_cache() / "search"
        estimator = Estimator(machines.limits, mhz)
        search = Search(
            task,
            objectives,
            weights or (1.0,) * len(networks),
            Proposer(machines, explorer, seed, len(objectives), estimator.allowed),
            estimator,
            closing.enter_context(open_pool(times_of, jobs, scheduler, Times.refused)),
            closing.enter_context(open_results(folder, task)),
        )
        url = default_url(folder) if storage is None else storage
        kept = Storage.open(url, study_name(search), machines, objectives)
        ((_, measured),) = search.measure([baseline])
        compared = search.point(baseline, measured)

        def expired() -> bool:
            return budget.seconds is not None and monotonic() - begun >= budget.seconds

        def progress(points: int, streams: int) -> None:
            if show is not None:
                show(f"{points:,} machines, {streams:,} programs")

        points = with_front(search.run(kept, budget.points, expired, progress), objectives)
        result = _as_json(points, compared, monotonic() - begun)
        if as_json:
            print_json(result)
            return
        print_front(plain_console(), points, compared, objectives, result)


def _check_arguments(
    models: list[str], weights: tuple[float, ...] | None, jobs: int | None, scheduler: str | None
) -> None:
    for model in models:
        if model.endswith(".onnx"):
            model_file(model)
    if len(set(models)) < len(models):
        raise typer.BadParameter("a model is there twice: give it a weight instead")
    if weights is not None and len(weights) != len(models):
        raise typer.BadParameter(f"{len(weights)} weights for {len(models)} models")
    if jobs is not None and scheduler is not None:
        raise typer.BadParameter("--jobs or --scheduler: a cluster has its own processes")
    if not find_spec("optuna"):
        raise CommandError(
            "search needs Optuna, which is not installed: pip install 'tandem-workbench[search]'"
        )


def _as_json(points: tuple[Point, ...], baseline: Point, seconds: float) -> dict[str, Any]:
    return {
        "points": [point.as_json() for point in points],
        "baseline": baseline.as_json(),
        "evaluated": len(points),
        "streams": len({point.streams for point in points if point.streams}),
        "seconds": seconds,
    }
