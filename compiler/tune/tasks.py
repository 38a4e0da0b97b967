"""Tasks: the distinct workloads of a network on a machine, and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tandem.compiler.plan.planner import Plan, space_of_choice
from tandem.compiler.plan.schedule_template import Arguments, ScheduleTemplate
from tandem.compiler.plan.target import Target
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.plain import canonical


class Planned(Protocol):
    """A layer of a network, as a back end planned it."""

    @property
    def source(self) -> str:
        """The layer's name."""

    @property
    def joined(self) -> tuple[str, ...]:
        """Other names that the layer is found by, of values that are computed in it."""

    @property
    def plan(self) -> Plan:
        """How the layer is compiled."""


@dataclass(frozen=True, eq=False)
class Task:
    """A workload to tune.

    Attributes
    ----------
    layers
        The names of the layers with this workload, in order.
    arguments
        The first layer's arguments of its program.
    default
        The choice that the layers are compiled with.
    joined
        Other names that these layers are found by.
    """

    layers: tuple[str, ...]
    target: Target[Any]
    template: ScheduleTemplate[Any, Any]
    workload: Any
    arguments: Arguments
    default: Choice
    joined: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the first layer."""
        return self.layers[0]

    @property
    def count(self) -> int:
        """The number of layers."""
        return len(self.layers)

    def knows(self, choice: Choice) -> bool:
        """Whether a recorded choice is one of this version's."""
        machine = self.target.machine
        return space_of_choice(self.template, self.workload, machine, choice) is not None


def tasks_of(target: Target[Any], calls: Iterable[Planned]) -> tuple[Task, ...]:
    """The tasks of a network's calls, in the order of their first layers."""
    found: dict[tuple[str, str], list[Planned]] = {}
    for call in calls:
        key = call.plan.template.name, canonical(call.plan.workload)
        found.setdefault(key, []).append(call)
    return tuple(
        Task(
            layers=tuple(call.source for call in alike),
            target=target,
            template=alike[0].plan.template,
            workload=alike[0].plan.workload,
            arguments=alike[0].plan.arguments,
            default=alike[0].plan.choice,
            joined=tuple(name for call in alike for name in call.joined),
        )
        for alike in found.values()
    )
