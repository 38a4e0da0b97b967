"""Runs of the tuner: what is measured, recorded and reported, and when a run ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import RecordError, Refusal
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune import run
from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.boosted import Boosted
from tandem.compiler.tune.explorers.explorer import ChoiceTable, Search
from tandem.compiler.tune.explorers.plain import Grid
from tandem.compiler.tune.plain import canonical
from tandem.compiler.tune.recorded import Identity
from tandem.compiler.tune.records import Record, dump_records
from tandem.compiler.tune.run import Options, tune
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.transfer import Example
from tandem.compiler.tune.trial import Outcome
from tandem.hw.config_files import load_config
from tests.support.compiler.tune.tuning import EvenNumbers, FixedCosts, no_bound

TARGET = replace(accelerator(load_config("tiny")), cost=FixedCosts(no_bound, no_bound))
WIDE = EvenNumbers({"x": tuple(range(2, 82, 2))})
"""A template with a base space of two choices that fit, and a wide one of forty."""


class Device:
    """A device whose layers are names."""

    def layer(self, task: Task) -> str:
        return f"layer {task.name}"

    def identity(self, task: Task) -> Identity:
        return Identity("1", "accelerator", {"name": "tiny"}, "", "even_numbers", task.workload)


@dataclass
class Bench:
    """Measures a choice in a second; it costs 100 less than its number."""

    clock: float = 1000.0
    asked: list[tuple[Any, list[Choice], float]] = field(default_factory=list)

    def measure(
        self, layer: Any, choices: Sequence[Any], limit: float
    ) -> Iterator[tuple[int, Outcome]]:
        self.asked.append((layer, [*choices], limit))
        for at, choice in enumerate(choices):
            self.clock += 1
            yield at, Outcome.measured(100.0 - choice["x"])


def task(workload: str = "w", default: int = 6, template: EvenNumbers = WIDE) -> Task:
    return Task((workload,), TARGET, template, workload, Arguments(), {"x": default})


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The pool, whose clock is the tuner's."""
    made = Bench()
    monkeypatch.setattr(run, "monotonic", lambda: made.clock)
    return made


def wide(trials: int | None, seconds: float | None = None) -> Options:
    return Options("grid", trials, seconds, 7, wide=True)


def silent(running: Sequence[TaskTuning]) -> None:
    """No report."""


def test_the_default_is_measured_first_and_all_is_recorded(bench: Bench, tmp_path: Path) -> None:
    known: list[Record] = []
    file = tmp_path / "records"
    (found,) = tune([task()], Device(), wide(2), known, file, silent, bench)
    limit = 8.0 * 94
    assert bench.asked == [
        ("layer w", [{"x": 6}], float("inf")),
        ("layer w", [{"x": 2}], limit),
        ("layer w", [{"x": 66}], limit),
    ]
    assert [(each.explorer, each.seed, each.choice, each.limit, each.cost) for each in known] == [
        ("default", 7, {"x": 6}, None, 94.0),
        ("grid", 7, {"x": 2}, limit, 98.0),
        ("grid", 7, {"x": 66}, limit, 34.0),
    ]
    assert file.read_bytes() == dump_records(known)
    assert {Identity.of(each).key() for each in known} == {Device().identity(task()).key()}
    assert (found.task.name, found.default.cost, found.tuning.choice) == ("w", 94.0, {"x": 66})
    assert [trial.outcome.cost for trial in found.tuning.trials] == [94.0, 98.0, 34.0]
    assert found.tuning.incumbent is None


def test_what_is_known_is_not_measured_again(bench: Bench) -> None:
    known: list[Record] = []
    first = tune([task()], Device(), wide(2), known, None, silent, bench)
    bench.asked.clear()
    second = tune([task()], Device(), wide(2), known, None, silent, bench)
    assert (bench.asked, len(known)) == ([], 3)
    assert second[0].tuning.trials == first[0].tuning.trials


def test_reports_of_tasks_as_they_begin_and_after_each_batch(bench: Bench) -> None:
    seen: list[list[int]] = []

    def report(running: Sequence[TaskTuning]) -> None:
        seen.append([len(each.tuning.trials) for each in running])

    found = tune([task("v"), task("w")], Device(), wide(4), [], None, report, bench)
    assert [each.task.name for each in found] == ["v", "w"]
    # Of eight trials one for each, and six for the first that may gain most.
    assert seen == [[1], [1, 1], [2, 1], [2, 2], [8, 2]]


@pytest.mark.parametrize(
    ("seconds", "trials"), [(0.0, 1), (1.0, 1), (2.0, 9), (9.0, 9), (9.5, 17), (None, 40)]
)
def test_the_time(bench: Bench, seconds: float | None, trials: int) -> None:
    """Which is looked at between batches of eight."""
    (found,) = tune([task()], Device(), wide(None, seconds), [], None, silent, bench)
    assert len(found.tuning.trials) == trials


def test_the_base_space(bench: Bench) -> None:
    (found,) = tune([task()], Device(), Options("grid", 8, None, 7), [], None, silent, bench)
    assert len(found.tuning.candidates) == 2
    # The default is no choice of it: what is measured has to beat it.
    assert found.tuning.incumbent == ({"x": 6}, 94.0)
    assert [trial.outcome.cost for trial in found.tuning.trials] == [98.0, 96.0]
    assert found.tuning.choice == {"x": 6}


def test_other_tables(bench: Bench) -> None:
    asked = []

    def searches(one: Task, seed: int) -> tuple[ChoiceTable, Search]:
        asked.append((one.name, seed))
        table = Candidates.of(TARGET, EvenNumbers(), "w")
        return table, Grid(table, seed)

    known: list[Record] = []
    options = Options("drawn", 8, None, 7, wide=True)
    (found,) = tune([task()], Device(), options, known, None, silent, bench, searches)
    assert asked == [("w", 7)]
    assert len(found.tuning.candidates) == 2
    assert [each.explorer for each in known] == ["default", "drawn", "drawn"]


def test_examples_of_other_workloads(bench: Bench) -> None:
    """What is known of the own one is replayed instead."""
    own, other = (Measured(np.zeros((4, 1)), np.ones(4), np.ones(4)) for _ in range(2))
    examples = Example(canonical("w"), own), Example(canonical("v"), other)
    options = Options("xgboost", None, 0.0, 7, examples)
    (found,) = tune([task(default=2)], Device(), options, [], None, silent, bench)
    explorer = found.tuning.explorer
    assert isinstance(explorer, Boosted)
    assert [each is other for each in explorer._others] == [True]


def test_a_file_that_cannot_be_written(bench: Bench, tmp_path: Path) -> None:
    known: list[Record] = []
    with pytest.raises(RecordError, match="No such file or directory"):
        tune([task()], Device(), wide(2), known, tmp_path / "no" / "file", silent, bench)
    assert len(known) == 1


def test_a_space_without_a_choice_that_fits(bench: Bench) -> None:
    odd = task(template=EvenNumbers({"x": (1, 3)}))
    with pytest.raises(Refusal, match="no choice for even_numbers fits"):
        tune([odd], Device(), wide(2), [], None, silent, bench)
