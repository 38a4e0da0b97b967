"""Schedules tuned for the machines of a front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from compiler.driver.compile_onnx import PreparedNetwork
from compiler.tune.best_known import BestKnown, of_machine
from compiler.tune.records import Record
from compiler.tune.trial import Outcome
from hw.config import HardwareConfig
from scripts.search.measure import Network, Task
from scripts.sources import Accelerator, import_model
from scripts.tune.pool import Pool
from scripts.tune.session import Options, tune
from scripts.tune.tasks import compile_tuned
from scripts.tuned import machine_json, memory_text

EXPLORER = "xgboost"


@dataclass(frozen=True, slots=True)
class Tuned:
    """A machine with tuned schedules.

    Attributes
    ----------
    cycles
        Of each network, never more than with the default choices.
    records
        All measurements, as `tandem run --records` takes them.
    """

    cycles: tuple[int, ...]
    records: tuple[Record, ...]


def tune_machine(
    config: HardwareConfig,
    task: Task,
    cycles: Sequence[int],
    trials: int,
    seed: int,
    pool: Pool[Outcome],
    show: Callable[[str], None],
) -> Tuned:
    """Tune all layers of a task's networks for a machine.

    Parameters
    ----------
    cycles
        Of each network with the default choices.
    trials
        For each layer on average.
    pool
        Measures choices by `scripts.tune.on_cycle.cycles_of`.
    """
    accelerator = Accelerator(config, task.memory, hiding=True)
    options = Options(EXPLORER, trials, None, seed)
    known: list[Record] = []
    found = []
    for network, default in zip(task.networks, cycles, strict=True):
        show(f"tuning {network.model}")
        prepared = _prepared(network)
        tasks = compile_tuned(prepared, accelerator).tasks
        tune(tasks, accelerator, options, known, None, lambda done: None, pool)
        best = BestKnown(of_machine(known, machine_json(config), memory_text(task.memory)))
        tuned = compile_tuned(prepared, replace(accelerator, tuned=best)).cycles
        found.append(min(default, tuned))
    return Tuned(tuple(found), tuple(known))


@cache
def _prepared(network: Network) -> PreparedNetwork:
    return import_model(network.model, network.options, None).prepared(None)
