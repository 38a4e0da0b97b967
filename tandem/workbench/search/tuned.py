"""Schedules tuned for the machines of a front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.tune.pool import Pool
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Options, tune
from tandem.compiler.tune.trial import Outcome
from tandem.hw.config import HardwareConfig
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import asking, prepared_network
from tandem.workbench.search.measure import Network, Task

EXPLORER = "xgboost"
_plain = cache(prepared_network)


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
        Measures choices by `tandem.workbench.measurers.on_cycle.cycles_of`.
    """
    accelerator = Accelerator(config, task.memory)
    options = Options(EXPLORER, trials, None, seed)
    known: list[Record] = []
    found = []
    for network, default in zip(task.networks, cycles, strict=True):
        show(f"tuning {network.model}")
        own = _prepared(network, accelerator)
        accelerator.build(own)
        tune(accelerator.tasks(own), accelerator, options, known, None, lambda done: None, pool)
        tuned = accelerator.best_of(known)
        found.append(min(default, tuned.cycles(tuned.build(own))))
    return Tuned(tuple(found), tuple(known))


def _prepared(network: Network, accelerator: Accelerator) -> PreparedNetwork:
    """A network with the integers that a machine asks for: the same for all that ask for none."""
    if asking(accelerator):
        return prepared_network(network.model, network.options, accelerator)
    return _plain(network.model, network.options)
