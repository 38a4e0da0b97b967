"""Several tasks share a budget: what may gain most gets most."""

from __future__ import annotations

import itertools

import pytest

from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.session import Budget, TaskTuning, tune_tasks
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import Tuning
from tests.support.compiler.tune.tuning import candidates, measure_of, valley


def task(name: str, count: int = 1, slack: float = 50.0, explorer: str = "random") -> TaskTuning:
    """A search in the valley, whose bounds are lower than the costs by `slack`."""

    def bound(choices: Choices) -> Floats:
        return valley(choices) - slack

    table = candidates(bound=bound)
    target, template = table.target, table.template
    known = Task((name,) * count, target, template, None, Arguments(), {})
    tuning = Tuning(table, EXPLORERS[explorer](table, 1))
    return TaskTuning(known, tuning, measure_of(), Outcome.measured(300))


def never() -> bool:
    return False


def trials(tasks: list[TaskTuning]) -> list[int]:
    return [len(each.tuning.trials) for each in tasks]


@pytest.mark.parametrize("most", [1, 3, 8, 20, 64])
def test_the_budget_is_spent_exactly(most: int) -> None:
    tasks = [task("a"), task("b", 4), task("c")]
    tune_tasks(tasks, Budget(most, never), lambda one: None)
    assert sum(trials(tasks)) == 3 * most
    assert min(trials(tasks)) >= -(-most // 4)


def test_frequent_layers_get_more() -> None:
    tasks = [task("rare"), task("frequent", 50)]
    tune_tasks(tasks, Budget(40, never), lambda one: None)
    rare, frequent = trials(tasks)
    assert rare == 10
    assert frequent == 70


def test_a_task_at_its_bound_gets_its_first_share_only() -> None:
    tasks = [task("done", 50, slack=0, explorer="exact"), task("open")]
    tune_tasks(tasks, Budget(16, never), lambda one: None)
    done, open_ = trials(tasks)
    assert done <= 4
    assert open_ >= 28


def test_without_limits_every_search_is_completed() -> None:
    tasks = [task("a", explorer="exact"), task("b", explorer="exact")]
    tune_tasks(tasks, Budget(None, never), lambda one: None)
    for done in tasks:
        certificate, candidates = done.certificate, done.tuning.candidates
        assert isinstance(candidates, Candidates)
        assert certificate.best == valley(candidates.choices).min()
        assert certificate.measured + certificate.pruned == certificate.size


def test_a_small_space_ends_before_the_budget() -> None:
    tasks = [task("a")]
    tune_tasks(tasks, Budget(10_000, never), lambda one: None)
    assert trials(tasks) == [360]


def test_time_ends_the_search_between_batches() -> None:
    clock = itertools.count()
    tasks = [task("a"), task("b")]
    tune_tasks(tasks, Budget(None, lambda: next(clock) >= 5), lambda one: None)
    assert sum(trials(tasks)) % 8 == 0
    assert 0 < sum(trials(tasks)) <= 40


def test_every_batch_is_reported() -> None:
    seen: list[int] = []
    tasks = [task("a"), task("b")]
    tune_tasks(tasks, Budget(16, never), lambda one: seen.append(sum(trials(tasks))))
    assert seen == sorted({*seen})
    assert seen[-1] == 32
