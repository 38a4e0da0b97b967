"""What each field of a machine costs and brings, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from tandem.compiler.search.estimates import MODEL
from tandem.compiler.search.explanation import Explanation, Step
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.hw.config import HardwareConfig
from tandem.workbench.search.machine_text import operation_names
from tandem.workbench.table import Column, Table, Value

CLOCK = "clock"
"""The column of changes of the clock."""


def differences(config: HardwareConfig, base: HardwareConfig) -> dict[str, object]:
    """The fields in which a machine differs from another, but the name."""
    return {
        field.name: getattr(config, field.name)
        for field in fields(HardwareConfig)
        if field.name != "name" and getattr(config, field.name) != getattr(base, field.name)
    }


def explanation_table(explanation: Explanation, objectives: Sequence[Objective]) -> Table:
    """A row for each step from a machine: what it changes, as a part of that machine's.

    Changes are unknown where a machine cannot run the networks, and that of the clock where no
    model says it.
    """
    columns = (
        Column("change", str, "the fields that the step changes, with their new values"),
        *(
            Column(
                objective.value,
                float,
                f"the change of {objective.value} as a part: +0.1 is 10 % more",
                "+.1%",
            )
            for objective in objectives
        ),
        Column(CLOCK, float, "the change of the clock as a part, where a model says it", "+.1%"),
        Column("reason", str, "why there is no such machine, or none that runs the networks"),
    )
    center = explanation.center
    return Table(columns, tuple(_row(step, center, objectives) for step in explanation.steps))


def _row(step: Step, center: Point, objectives: Sequence[Objective]) -> tuple[Value, ...]:
    point = step.point
    if point is None:
        what = f"{', '.join(step.fields)} {'up' if step.up else 'down'}"
    else:
        changed = differences(point.config, center.config)
        what = ", ".join(f"{name} {_shown(value)}" for name, value in changed.items())
    clock = None
    if point is not None and center.estimate.clock_source == MODEL:
        clock = point.estimate.mhz / center.estimate.mhz - 1
    return (what, *_changes(point, center, objectives), clock, step.reason or None)


def _changes(point: Point | None, center: Point, objectives: Sequence[Objective]) -> list[Value]:
    """Changes of the objectives; unknown of a machine that cannot run."""
    if point is None or point.costs is None or center.costs is None:
        return [None] * len(objectives)
    pairs = zip(point.costs.values(objectives), center.costs.values(objectives), strict=True)
    return [after / before - 1 for after, before in pairs]


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return " ".join(sorted(feature.value for feature in value)) or "none"
    if isinstance(value, tuple):
        return operation_names(value) or "none"
    return str(value)
