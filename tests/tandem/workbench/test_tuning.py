"""What tuning came to: sums of costs, and the records that it begins with."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np

from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.tune.decision import Decision, Decisions
from tandem.compiler.tune.records import append_records, read_records
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import Certificate
from tandem.workbench.tuning import TunedTasks, is_bounded, plain_cost, starting_records
from tests.support.workbench.tuning_records import record


def test_costs_as_they_are_shown() -> None:
    for cost in (math.inf, -math.inf, math.nan):
        assert plain_cost(cost) is None
    found = [plain_cost(np.float64(cost)) for cost in (7.0, 0.25)]
    assert found == [7, 0.25]
    assert [type(cost) for cost in found] == [int, float]


class Stated:
    """A tuning with a stated certificate."""

    def __init__(self, best: float, bounds: tuple[float, ...] = ()) -> None:
        self._certificate = Certificate(5, 2, 1, best, 1.0)
        self.candidates = self
        self.bounds = np.array(bounds)

    def certificate(self) -> Certificate:
        return self._certificate


def done(count: int, default: float, best: float, *bounds: float) -> TaskTuning:
    task = Task(("layer",) * count, cast(Any, None), cast(Any, None), "w", Arguments(), {"x": 0})
    stated = cast(Any, Stated(best, bounds))
    return TaskTuning(task, stated, cast(Any, None), Outcome.measured(default))


def test_costs_are_summed_as_often_as_layers_occur() -> None:
    tasks = [done(2, 100, 80), done(3, 10, 7)]
    found = TunedTasks.of(tasks)
    assert (found.tasks, found.decisions) == (tasks, None)
    assert (found.default, found.best) == (2 * 100 + 3 * 10, 2 * 80 + 3 * 7)
    unknown = TunedTasks.of([*tasks, done(1, 5, math.inf)])
    assert (unknown.default, unknown.best) == (235, None)


def test_costs_of_what_is_kept() -> None:
    class Kept:
        def __init__(self, costs: tuple[float, float] | None) -> None:
            self.costs = costs

    kept = cast(Any, (Kept((90.0, 85.0)), Kept(None)))

    class Decided:
        tasks: tuple[Decision, ...] = kept

    found = TunedTasks.of([done(2, 100, 80), done(3, 10, 7)], cast(Decisions, Decided()))
    assert (found.default, found.best) == (2 * 90 + 3 * 10, 2 * 85 + 3 * 7)


def test_what_bounds_a_cost() -> None:
    assert is_bounded(done(1, 9, 8, 0.0, 3.0))
    assert not is_bounded(done(1, 9, 8, 0.0, 0.0))
    assert not is_bounded(done(1, 9, 8))


def test_the_records_that_tuning_begins_with(tmp_path: Path) -> None:
    one, two, three = (record(x, Outcome.measured(7)) for x in range(3))
    own, other, more = (tmp_path / name for name in ("own", "other", "more"))
    warnings: list[str] = []

    def started(file: Path | None, *others: Path) -> list[int | str]:
        return [each.choice["x"] for each in starting_records(file, others, warnings.append)]

    # A file that is missing is made.
    assert started(None) == started(own) == []
    assert own.read_bytes() == b""
    append_records(own, [one, two, two])
    append_records(other, [two, three])
    append_records(more, [three])
    assert started(own) == [0, 1, 1]
    # Others are read, and are not written where there is no file.
    assert started(None, other, more) == [1, 2]
    assert started(own, other, more) == [0, 1, 2]
    assert [each.choice["x"] for each in read_records(own)[0]] == [0, 1, 1, 2]
    assert [each.choice["x"] for each in read_records(other)[0]] == [1, 2]
    assert warnings == []
    with other.open("ab") as file:
        file.write(b"damaged\n")
    assert started(None, other) == [1, 2]
    assert len(warnings) == 1


def test_costs_without_a_layer() -> None:
    assert (TunedTasks.of([]).default, TunedTasks.of([]).best) == (0, 0)
