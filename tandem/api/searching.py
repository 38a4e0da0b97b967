"""`tandem.search`: machines for networks, found by measuring."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from warnings import catch_warnings

from tandem.api.accelerator import Accelerator
from tandem.api.compiling import mode_of
from tandem.api.loading import Loadable, model_of
from tandem.api.machines import Machine, Memory, NamedMemory, accelerator_of
from tandem.api.model import Model
from tandem.api.points_table import points_table
from tandem.api.progress import Progress, steps_of
from tandem.api.search_result import Search
from tandem.compiler.errors import SpaceError
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.operations_axis import Offered, with_operations
from tandem.compiler.search.space import Space, load_space
from tandem.workbench.arguments import at_least, choice, expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError, MissingPackageError
from tandem.workbench.search.explanation_table import explanation_table
from tandem.workbench.search.measure import Network
from tandem.workbench.search.options import Budget, Options

DEFAULT_SECONDS = 600.0
"""How long a search goes on unless the caller says otherwise."""


def search(
    models: Sequence[Model | Loadable],
    space: str | os.PathLike[str] | Space = "small",
    *,
    operations: Sequence[Machine] = (),
    budget: int | None = None,
    seconds: float | None = None,
    objectives: Iterable[str] = ("cycles", "area"),
    weights: Sequence[float] | None = None,
    explorer: str = "nsga2",
    mhz: float | None = None,
    tune: int = 0,
    synthesise: int = 0,
    baseline: Machine = "pynq",
    beside: Sequence[Machine] = (),
    explain: bool = False,
    around: Machine | None = None,
    memory: Memory = "fast",
    quantize: str | None = "multiplier",
    export: str | os.PathLike[str] | None = None,
    storage: str | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Search:
    """Find machines for networks: the fewest cycles for the least area, or other objectives.

    Cycles are exact. With the same seed and number of machines the result is the same, on any
    number of processes. The same search goes on where it was interrupted.

    Parameters
    ----------
    models
        Built-in names, paths, or models that were loaded from such.
    space
        The machines to choose from: `small`, `fpga`, ..., a JSON file, or a `Space`.
    operations
        Machines whose own operations of the ALU those of the space may have, such as the file that
        `tandem discover` writes: each has none, or those of one of these.
    budget, seconds
        The number of machines, or a time after which no further batch begins (10 minutes by
        default): one of the two.
    objectives
        What is to be small, one or more of `cycles`, `milliseconds`, `area` (NAND2 equivalents),
        `dram_bytes`, `energy` (uJ).
    weights
        How often each model runs, for sums over models; None for once.
    explorer
        `nsga2`, `tpe` or `random`.
    mhz
        The clock of all machines; None for that of a model, where there is one, else 100.
    tune
        Trials of each layer for machines of the front; 0 for none.
    synthesise
        Machines of the front that are synthesised: minutes each.
    baseline
        The machine that the others are compared with.
    beside
        Machines that are measured, too, and marked by `plot` and `report`.
    explain
        Whether the machines around one are measured: what each field costs and brings, one step
        up and one down.
    around
        That machine, of the space; by default the front's with the least product of objectives.
    export
        The folder that the front's machines are written to: configuration, Verilog, figures.
    storage
        The database of finished machines, as SQLAlchemy has it; None for the user's cache.
    memory, quantize, jobs, scheduler, seed, progress
        As of `tandem.tune`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    MissingPackageError
        Optuna is not installed (the extra `search`).
    CompilerError
        A network cannot be compiled; the storage cannot be used.
    """
    if isinstance(models, str | os.PathLike | Model) or not isinstance(models, Sequence):
        expect("models", models, "a list of models")
    networks = tuple(_network(model, quantize) for model in models)
    names = [network.model for network in networks]
    if not names or len(set(names)) < len(names):
        raise ArgumentValueError("models: there must be one or more, each once, with a weight")
    wanted = tuple(objectives)
    known = [objective.value for objective in Objective]
    chosen = tuple(Objective(choice("objective", name, known)) for name in wanted)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ArgumentValueError(f"objectives are {wanted}: there must be one or more, each once")
    if scheduler is not None and jobs > 1:
        raise ArgumentValueError("jobs or scheduler: a cluster has its own processes")
    if not find_spec("optuna"):
        raise MissingPackageError("search", "Optuna", "tandem-workbench[search]")
    # Imported here, because Optuna is large and optional. What it imports warns in notebooks that
    # have no widgets, which no bar of ours needs.
    with catch_warnings(action="ignore"):
        from tandem.workbench.pages.search.of_search import search_page
        from tandem.workbench.search.run import run

    machines = _with_operations(_space(space), operations)
    center = None if around is None else accelerator_of(around, "search").config
    if center is not None and machines.indices(center) is None:
        raise ArgumentValueError(
            f"around: {center.name} is no machine of the space {machines.name}"
        )
    options = Options(
        networks=networks,
        weights=_weights(weights, len(networks)),
        space=machines,
        objectives=chosen,
        budget=_budget(budget, seconds),
        explorer=Explorer(choice("explorer", explorer, [each.value for each in Explorer])),
        seed=at_least("seed", seed, 0),
        baseline=accelerator_of(baseline, "search").config,
        memory=NamedMemory.of(memory).model,
        mhz=None if mhz is None else _positive("mhz", mhz),
        storage=storage,
        jobs=at_least("jobs", jobs, 1),
        scheduler=scheduler,
        tune=at_least("tune", tune, 0),
        synthesise=at_least("synthesise", synthesise, 0),
        export=None if export is None else file_path("export", export),
        explain=explain or center is not None,
        around=center,
        beside=tuple(accelerator_of(machine, "search").config for machine in beside),
    )
    with steps_of("search", progress) as steps:
        done = run(options, steps.say)
    explained = done.explanation
    fields = [field for dimension in options.space.dimensions for field in dimension.fields]
    return Search(
        points_table(done.points, fields),
        tuple(Accelerator(point.config) for point in done.points),
        points_table([done.baseline], fields),
        wanted,
        done.seconds,
        done.exported,
        points_table(done.beside, fields),
        None if explained is None else explanation_table(explained, chosen),
        None if explained is None else Accelerator(explained.center.config),
        search_page(options, done, NamedMemory.of(memory).name, "tandem.search"),
    )


def _network(model: Model | Loadable, quantize: str | None) -> Network:
    loaded = model_of(model)
    if loaded.named is None:
        raise ArgumentValueError(
            f"{loaded.name} is in no file: the processes of a search read models by their names or "
            "paths; onnx.save writes one"
        )
    mode = mode_of(quantize, None)
    return Network(loaded.named, replace(loaded.options, quantise=mode))


def _space(space: object) -> Space:
    if isinstance(space, Space):
        return space
    name = space if isinstance(space, str) else str(file_path("space", space))
    with value_errors(SpaceError):
        return load_space(name)


def _with_operations(space: Space, machines: Sequence[Machine]) -> Space:
    if isinstance(machines, str | os.PathLike) or not isinstance(machines, Sequence):
        expect("operations", machines, "a list of machines")
    configs = [accelerator_of(machine, "search").config for machine in machines]
    with value_errors(SpaceError):
        return with_operations(space, [Offered(config.name, config) for config in configs])


def _budget(machines: int | None, seconds: float | None) -> Budget:
    if machines is not None and seconds is not None:
        raise ArgumentValueError("budget (machines) or seconds: one of them")
    if machines is not None:
        return Budget(at_least("budget", machines, 1), None)
    return Budget(None, DEFAULT_SECONDS if seconds is None else _positive("seconds", seconds))


def _weights(weights: Sequence[float] | None, count: int) -> tuple[float, ...]:
    found = (1.0,) * count if weights is None else tuple(_positive("a weight", w) for w in weights)
    if len(found) != count:
        raise ArgumentValueError(f"{len(found)} weights for {count} models")
    return found


def _positive(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        expect(what, value, "a number above 0")
    if not 0 < value < float("inf"):
        raise ArgumentValueError(f"{what} is {value}: it must be a number above 0")
    return float(value)
