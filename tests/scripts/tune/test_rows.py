"""What is said of tasks, with bounds and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import Tuning
from tandem.scripts.tune.rows import table, tasks_json
from tandem.workbench.tuning import TunedTasks
from tests.support.compiler.tune.tuning import candidates, measure_of, no_bound, valley


def measured_as_a_whole(bound: Callable[[Choices], Floats]) -> TaskTuning:
    """A task of two layers of whose space every choice was measured; the best costs 100."""
    space = candidates(bound=bound)
    tuning = Tuning(space, EXPLORERS["grid"](space, 0))
    while tuning.step(measure_of(), 100):
        pass
    default: dict[str, int | str] = {"x": 0, "y": 0, "order": "a"}
    task = Task(("a", "b"), space.target, space.template, None, Arguments(), default)
    return TaskTuning(task, tuning, measure_of(), Outcome.measured(182.0))


@pytest.mark.parametrize(
    ("bound", "known"), [(no_bound, (None, None, False)), (valley, (100, 0.0, True))]
)
def test_only_a_cost_model_with_bounds_certifies(
    bound: Callable[[Choices], Floats], known: tuple[object, ...]
) -> None:
    """Times are noisy: to have measured all of them certifies none."""
    done = measured_as_a_whole(bound)
    (entry,) = tasks_json([done])
    assert (entry["bound"], entry["gap"], entry["certified"]) == known
    assert (entry["default"], entry["best"], entry["count"]) == (182, 100, 2)
    tuned = TunedTasks.of([done])
    assert (tuned.default, tuned.best) == (364, 200)
    heads = [str(column.header) for column in table([done]).columns]
    assert heads[:5] == ["layer", "count", "trials", "default", "best"]
    assert heads[5:] == (["bound", "gap", "certified"] if known[2] else [])
