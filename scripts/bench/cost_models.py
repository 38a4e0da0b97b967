"""How well the learned cost model ranks schedules of layers that it has not seen:
`python -m tandem.scripts.bench.cost_models --records FILE`.

Each layer is certified first, so that its best cost is known. Then choices are drawn uniformly from
those that can cost at most 1.5 times the best, and measured. The model is tested on one layer after
training on the others', and says which five choices of the whole space it likes best: these are
measured, too. The compiler's own estimate and the lower bound, which the model corrects, are judged
on the same choices. Measurements are kept in the file: a second run measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from tandem.compiler.plan.space import Floats
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.exact import Exact
from tandem.compiler.tune.recorded import Proposer
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.tuner import Measure, Tuning
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.tuning import Measurements
from tandem.scripts.bench.tuning_model import TOP, Accuracy, Ranking, accuracy, sampled, top
from tandem.scripts.options import DEFAULT_MEMORY
from tandem.scripts.records import warn
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool, default_jobs
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

LAYERS = tuple(f"C{number}" for number in range(1, 12))
CHOICES = 150
"""Choices of a layer that are measured, if there are so many."""
MODELS = ("xgboost", "bound", "estimate")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer with measured choices.

    Attributes
    ----------
    best
        The certified cost of the best choice of the space.
    """

    task: Task
    best: float
    ranking: Ranking
    measure: Measure


@dataclass(frozen=True, slots=True)
class Row:
    """The models on a layer.

    Attributes
    ----------
    accuracies
        For each of `MODELS`.
    tops
        The best cost of each model's top choices, as a multiple of the layer's best.
    """

    layer: str
    choices: int
    accuracies: tuple[Accuracy, ...]
    tops: tuple[float, ...]

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        pairs = self.accuracies[0].pairs
        return [
            self.layer,
            f"{self.choices:,}",
            f"{pairs:,}",
            *(f"{one.right:.1%}" for one in self.accuracies),
            *(f"{one - 1:.2%}" for one in self.tops),
        ]


def measured_layer(task: Task, measurements: Measurements, count: int) -> Layer:
    """Certify a layer and measure a sample of its choices."""
    candidates = Candidates.of(task.target, task.template, task.workload)
    search = Tuning(candidates, Exact(candidates, 0))
    by_search = measurements.measure(task, Proposer("exact", 0))
    while search.step(by_search):
        pass
    best = search.certificate().best
    rows = sampled(candidates, best, count, seed=0)
    measure = measurements.measure(task, Proposer("sample", 0))
    costs = _costs(candidates, measure, rows.tolist())
    measured = np.isfinite(costs)
    return Layer(task, best, Ranking(candidates, rows[measured], costs[measured]), measure)


def rows_of(layers: Sequence[Layer]) -> Iterator[Row]:
    """A row for each layer; there are at least two."""
    for layer in layers:
        ranking, candidates = layer.ranking, layer.ranking.candidates
        others = [other.ranking for other in layers if other is not layer]
        scores = ranking.learned(others, seed=0), -candidates.bounds, -candidates.estimates
        yield Row(
            layer.task.name,
            len(ranking.rows),
            tuple(accuracy(one[ranking.rows], ranking.costs, layer.best) for one in scores),
            tuple(
                float(_costs(candidates, layer.measure, top(one).tolist()).min() / layer.best)
                for one in scores
            ),
        )


def _costs(candidates: Candidates, measure: Measure, rows: Sequence[int]) -> Floats:
    outcomes = measure([candidates.choice(row) for row in rows], inf)
    return np.array([outcome.cost for outcome in outcomes])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    asked = _parse(arguments)
    machine = Accelerator(load_config(asked.config), parse_memory(asked.memory), hiding=True)
    tasks = tasks_of_layers([parse_layer(text) for text in asked.layer or LAYERS], machine, 0)
    known = known_records(asked.records, warn) if asked.records and asked.records.exists() else []
    heads = (
        *("choices", "pairs"),
        *(f"in order by\n{name}" for name in MODELS),
        *(f"top {TOP} by\n{name}" for name in MODELS),
    )
    table = plain_table(("layer",), heads)
    with LocalPool(cycles_of, asked.jobs) as pool:
        measurements = Measurements(machine, pool, asked.records, known)
        layers = [measured_layer(task, measurements, asked.choices) for task in tasks]
        for row in rows_of(layers):
            table.add_row(*row.cells)
    print_table(plain_console(), table)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.cost_models")
    parser.add_argument("--layer", action="append", help=f"two or more; default: {LAYERS}")
    parser.add_argument("--config", default="pynq-x")
    parser.add_argument("--memory", default=DEFAULT_MEMORY)
    parser.add_argument("--records", type=Path, metavar="FILE", help="kept measurements")
    parser.add_argument("--choices", type=int, default=CHOICES, help="measured for a layer")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
