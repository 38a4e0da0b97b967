"""How fast explorers find good schedules, and how well models rank them:
`python -m scripts.bench.tuning --records FILE`.

Explorers search the space of each layer over many seeds, from nothing: neither the default choice
nor the estimate's is measured first. Measurements are shared through records, so that a second run
on the same file measures nothing. Models are tested on each layer after training on the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from compiler.tune.candidates import Candidates
from compiler.tune.recorded import Identity, Proposer, RecordedMeasure, RecordedOutcomes
from compiler.tune.records import Record, append_records
from compiler.tune.tasks import Task
from compiler.tune.trial import Outcome
from compiler.tune.tuner import Measure
from hw.config_files import load_config
from hw.memory_model import parse_memory
from scripts.bench.tuning_model import DIFFERENT, TOP, Quality, Ranking, quality
from scripts.bench.tuning_searches import Needed, searches_of
from scripts.options import DEFAULT_MEMORY
from scripts.sources import Accelerator
from scripts.tables import plain_console, plain_table, print_table
from scripts.tune.local_pool import LocalPool, default_jobs
from scripts.tune.on_cycle import cycles_of
from scripts.tune.session import identity
from scripts.tune.tasks import measured_layer, tasks_of_layers
from scripts.tuned import known_records
from scripts.utilization.conv_layers import parse_layer

LAYERS = ("C7", "C10")
COMPARED = ("xgboost", "random", "genetic", "estimate")
GOALS = (0.05, 0.01)
"""Costs beyond the best known, as parts of it."""
WITHIN = (32, 128)
"""Numbers of trials within which seeds are counted."""
SEEDS = 20


@dataclass(frozen=True, slots=True)
class SearchRow:
    """An explorer on a layer.

    Attributes
    ----------
    best
        The best known cost.
    needed
        For each of `GOALS`.
    """

    layer: str
    explorer: str
    best: float
    needed: tuple[Needed, ...]

    def __str__(self) -> str:
        return " ".join(self.cells)

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        found = [self.layer, self.explorer, f"{self.best:,.0f}"]
        for needed in self.needed:
            middle = f"{needed.median:g}" if isfinite(needed.median) else "-"
            found += [middle, *(f"{needed.within(most)}/{len(needed.trials)}" for most in WITHIN)]
        return found


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The models on a layer whose measurements they were not trained on."""

    layer: str
    choices: int
    learned: Quality
    estimated: Quality

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        both = (self.learned, self.estimated)
        accuracies = [f"{one.accuracy:.1%}" for one in both]
        tops = [f"{one.top - 1:.2%}" for one in both]
        counts = [f"{self.choices:,}", f"{self.learned.pairs:,}"]
        return [self.layer, *counts, *accuracies, *tops]


@dataclass
class Measurements:
    """Measurements of layers on an accelerator, kept in a file if there is one."""

    accelerator: Accelerator
    pool: LocalPool[Outcome]
    file: Path | None
    records: list[Record]
    outcomes: RecordedOutcomes = field(default_factory=RecordedOutcomes)

    def __post_init__(self) -> None:
        self.outcomes.add(self.records)

    def identity(self, task: Task) -> Identity:
        """What the task's measurements depend on."""
        return identity(task, self.accelerator.config, self.accelerator.memory)

    def of(self, task: Task) -> list[Record]:
        """The task's records."""
        key = self.identity(task).key()
        return [record for record in self.records if Identity.of(record).key() == key]

    def measure(self, task: Task, by: Proposer) -> Measure:
        """Measures a task's choices, or looks them up."""
        layer = measured_layer(task, self.accelerator)

        def save(record: Record) -> None:
            self.records.append(record)
            if self.file is not None:
                append_records(self.file, [record])

        return RecordedMeasure(
            self.identity(task),
            by,
            self.outcomes,
            lambda choices, limit: self.pool.measure(layer, choices, limit),
            save,
        )


def search_rows(
    task: Task, candidates: Candidates, measurements: Measurements, seeds: int, trials: int
) -> Iterator[SearchRow]:
    """A row for each explorer, after all have searched."""
    found = {
        explorer: [
            *searches_of(
                candidates, explorer, seeds, trials, lambda by: measurements.measure(task, by)
            )
        ]
        for explorer in COMPARED
    }
    best = min(record.outcome.cost for record in measurements.of(task))
    for explorer, searches in found.items():
        needed = tuple(Needed.of(searches, best * (1 + goal)) for goal in GOALS)
        yield SearchRow(task.name, explorer, best, needed)


def model_rows(rankings: Sequence[tuple[str, Ranking]]) -> Iterator[ModelRow]:
    """A row for each layer; there are at least two."""
    for name, ranking in rankings:
        others = [other for _, other in rankings if other is not ranking]
        yield ModelRow(
            name,
            len(ranking.rows),
            quality(ranking.learned(others, seed=0), ranking.costs),
            quality(ranking.estimates, ranking.costs),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print two tables: trials that explorers need, and the quality of models."""
    asked = _parse(arguments)
    machine = Accelerator(load_config(asked.config), parse_memory(asked.memory), hiding=True)
    tasks = tasks_of_layers([parse_layer(text) for text in asked.layer or LAYERS], machine, 0)
    known = known_records(asked.records) if asked.records and asked.records.exists() else []
    console, rankings = plain_console(), []
    heads = [
        text
        for goal in GOALS
        for text in (f"to {goal:.0%}\nmedian", *(f"in {most}\ntrials" for most in WITHIN))
    ]
    table = plain_table(("layer", "explorer"), ("best known", *heads))
    with LocalPool(cycles_of, asked.jobs) as pool:
        measurements = Measurements(machine, pool, asked.records, known)
        for task in tasks:
            candidates = Candidates.of(task.target, task.template, task.workload)
            for row in search_rows(task, candidates, measurements, asked.seeds, asked.trials):
                table.add_row(*row.cells)
            if ranking := Ranking.of(candidates, measurements.of(task)):
                rankings.append((task.name, ranking))
    print_table(console, table)
    if len(rankings) > 1:
        models = plain_table(
            ("layer",),
            (
                *("choices", f"pairs over\n{DIFFERENT - 1:.0%} apart"),
                *("in order by\nxgboost", "by the\nestimate"),
                *(f"top {TOP} of\nxgboost", "of the\nestimate"),
            ),
        )
        for found in model_rows(rankings):
            models.add_row(*found.cells)
        console.print()
        print_table(console, models)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.tuning")
    parser.add_argument("--layer", action="append", help=f"default: {', '.join(LAYERS)}")
    parser.add_argument("--config", default="pynq-x")
    parser.add_argument("--memory", default=DEFAULT_MEMORY)
    parser.add_argument("--records", type=Path, metavar="FILE", help="kept measurements")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--trials", type=int, default=max(WITHIN))
    parser.add_argument("--jobs", type=int, default=default_jobs())
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
