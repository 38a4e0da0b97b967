"""Tasks: layers of one workload are one, in the order of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.tune.tasks import Task, tasks_of
from tandem.hw.config_files import load_config
from tests.support.compiler.tune.tuning import EvenNumbers

TINY = accelerator(load_config("tiny"))
POOL = MaxPoolOnAlu()


@dataclass(frozen=True)
class Plan:
    """What tasks read of a plan."""

    template: Any
    workload: Any
    arguments: Arguments
    choice: dict[str, int]


@dataclass(frozen=True)
class Layer:
    """A layer as it was planned."""

    source: str
    plan: Any
    joined: tuple[str, ...] = ()


@dataclass(frozen=True)
class Size:
    """A workload."""

    rows: int


def layer(name: str, rows: int, template: object = POOL, *joined: str) -> Layer:
    plan = Plan(template, Size(rows), Arguments(remark=name), {"rows": rows})
    return Layer(name, plan, joined)


class Other(MaxPoolOnAlu):
    """A template of another name."""

    name = "other"


def test_layers_of_one_workload() -> None:
    other = Other()
    calls = [
        layer("a", 1, POOL, "p"),
        layer("b", 2),
        layer("c", 1, POOL, "q", "r"),
        layer("d", 1, other),
    ]
    first, second, third = tasks_of(TINY, calls)
    assert (first.layers, first.name, first.count) == (("a", "c"), "a", 2)
    assert first.joined == ("p", "q", "r")
    assert (first.template, first.workload) == (POOL, Size(1))
    assert (first.arguments.remark, first.default) == ("a", {"rows": 1})
    assert first.target is TINY
    assert (second.layers, second.joined) == (("b",), ())
    assert (third.layers, third.template) == (("d",), other)
    assert tasks_of(TINY, []) == ()


def test_choices_of_this_version() -> None:
    for template in (EvenNumbers(), EvenNumbers({"z": (7,)})):
        task = Task(("a",), TINY, template, Size(1), Arguments(), {})
        assert [x for x in range(6) if task.knows({"x": x})] == [1, 2, 3, 4]
        assert task.knows({"z": 7}) is (template.wide is not None)
        assert not task.knows({"z": 8})
        assert not task.knows({"x": 1, "z": 7})
        assert not task.knows({})
