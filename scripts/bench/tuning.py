"""How fast explorers find good schedules: `python -m tandem.scripts.bench.tuning --records FILE`.

Explorers search the space of each layer over many seeds, from nothing: neither the default choice
nor the estimate's is measured first. The goals are parts of the certified best cost. Measurements
are shared through records, so that a second run on the same file measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.exact import Exact
from tandem.compiler.tune.recorded import Proposer, RecordedMeasure, RecordedOutcomes
from tandem.compiler.tune.records import Record, append_records
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import Measure, Tuning
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.tuning_searches import FIXED, Needed, searches_of, unless_too_dear
from tandem.scripts.options import DEFAULT_MEMORY
from tandem.scripts.records import warn
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.pools.local_pool import LocalPool, default_jobs
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

LAYERS = ("C7", "C10")
COMPARED = ("xgboost", "random", "genetic", "estimate")
GOALS = (0.05, 0.01)
"""Costs beyond the certified best, as parts of it."""
WITHIN = (32, 128)
"""Numbers of trials within which seeds are counted."""
SEEDS = 20


@dataclass(frozen=True, slots=True)
class SearchRow:
    """An explorer on a layer.

    Attributes
    ----------
    best
        The certified best cost.
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

    def measure(self, task: Task, by: Proposer) -> Measure:
        """Measures a task's choices, or looks them up."""
        layer = self.accelerator.layer(task)

        def save(record: Record) -> None:
            self.records.append(record)
            if self.file is not None:
                append_records(self.file, [record])

        return RecordedMeasure(
            self.accelerator.identity(task),
            by,
            self.outcomes,
            lambda choices, limit: self.pool.measure(layer, choices, limit),
            save,
        )


def search_rows(
    task: Task, candidates: Candidates, measurements: Measurements, seeds: int, trials: int
) -> Iterator[SearchRow]:
    """A row for each explorer; a search ends when it is as close to the best as the last goal."""
    exact = Tuning(candidates, Exact(candidates, 0))
    while exact.step(measurements.measure(task, Proposer("exact", 0))):
        pass
    best = exact.certificate().best

    def measure_by(by: Proposer) -> Measure:
        measure = measurements.measure(task, by)
        if by.explorer in FIXED:
            return unless_too_dear(measure, candidates, best * (1 + max(GOALS)))
        return measure

    for explorer in COMPARED:
        enough = best * (1 + min(GOALS))
        searches = [*searches_of(candidates, explorer, seeds, trials, measure_by, enough)]
        needed = tuple(Needed.of(searches, best * (1 + goal)) for goal in GOALS)
        yield SearchRow(task.name, explorer, best, needed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of the trials that explorers need."""
    asked = _parse(arguments)
    machine = Accelerator(load_config(asked.config), parse_memory(asked.memory), hiding=True)
    tasks = tasks_of_layers([parse_layer(text) for text in asked.layer or LAYERS], machine, 0)
    known = known_records(asked.records, warn) if asked.records and asked.records.exists() else []
    heads = [
        text
        for goal in GOALS
        for text in (f"to {goal:.0%}\nmedian", *(f"in {most}\ntrials" for most in WITHIN))
    ]
    table = plain_table(("layer", "explorer"), ("certified\nbest", *heads))
    with LocalPool(cycles_of, asked.jobs) as pool:
        measurements = Measurements(machine, pool, asked.records, known)
        for task in tasks:
            candidates = Candidates.of(task.target, task.template, task.workload)
            for row in search_rows(task, candidates, measurements, asked.seeds, asked.trials):
                table.add_row(*row.cells)
    print_table(plain_console(), table)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.tuning")
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
