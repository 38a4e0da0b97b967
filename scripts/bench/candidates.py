"""How many schedules are measured a second: `python -m tandem.scripts.bench.candidates`.

Choices of each layer are drawn uniformly from those that are estimated within 1.5 times the best,
then compiled and measured by as many processes as there are cores, as the tuner does it. The time
is from the first choice to the last outcome; processes have measured one choice before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np

from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import BATCH
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.tuning_model import CLOSE
from tandem.scripts.options import DEFAULT_MEMORY
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool, default_jobs
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

LAYERS = tuple(f"C{number}" for number in range(2, 12))
CHOICES = 64
TARGET = 25.0
"""Choices a second on two cores."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The time that choices took; `failed` of them were not measured."""

    choices: int
    failed: int
    seconds: float

    @property
    def rate(self) -> float:
        """Choices a second."""
        return self.choices / self.seconds


def speed_of(
    task: Task, accelerator: Accelerator, pool: LocalPool[Outcome], count: int, jobs: int
) -> Speed:
    """Measure `count` choices of a task, in batches as the tuner has them."""
    candidates = Candidates.of(task.target, task.template, task.workload)
    close = np.flatnonzero(candidates.estimates <= CLOSE * candidates.estimates.min())
    rows = np.random.default_rng(0).permutation(close)[:count].tolist()
    choices = [candidates.choice(row) for row in rows]
    layer = accelerator.layer(task)
    for _ in pool.measure(layer, [task.default] * jobs, inf):
        pass
    begun, failed = perf_counter(), 0
    for at in range(0, len(choices), BATCH):
        for _, outcome in pool.measure(layer, choices[at : at + BATCH], inf):
            failed += outcome.cost == inf
    return Speed(len(choices), failed, perf_counter() - begun)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.candidates")
    parser.add_argument("--layer", action="append", help=f"default: {', '.join(LAYERS)}")
    parser.add_argument("--config", default="pynq-x")
    parser.add_argument("--memory", default=DEFAULT_MEMORY)
    parser.add_argument("--choices", type=int, default=CHOICES, help="for each layer")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    asked = parser.parse_args(arguments)
    accelerator = Accelerator(load_config(asked.config), parse_memory(asked.memory), hiding=True)
    tasks = tasks_of_layers([parse_layer(text) for text in asked.layer or LAYERS], accelerator, 0)
    table, found = plain_table(("layer",), ("choices", "failed", "seconds", "a second")), []
    with LocalPool(cycles_of, asked.jobs) as pool:
        for task in tasks:
            found.append((task.name, speed_of(task, accelerator, pool, asked.choices, asked.jobs)))
    total = Speed(
        sum(speed.choices for _, speed in found),
        sum(speed.failed for _, speed in found),
        sum(speed.seconds for _, speed in found),
    )
    for name, speed in (*found, (f"all, target {TARGET:g}", total)):
        cells = (
            f"{speed.choices:,}",
            f"{speed.failed:,}",
            f"{speed.seconds:.1f}",
            f"{speed.rate:.1f}",
        )
        table.add_row(name, *cells)
    print_table(plain_console(), table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
