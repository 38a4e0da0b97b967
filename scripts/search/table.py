"""The front of a search, and the machines around one, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from rich.console import Console

from tandem.compiler.search.estimates import ASSUMED, MODEL
from tandem.compiler.search.explanation import Explanation
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.hw.config import HardwareConfig
from tandem.scripts.tables import plain_table, print_table
from tandem.workbench.search.machine_text import describe


def differences(config: HardwareConfig, base: HardwareConfig) -> dict[str, object]:
    """The fields in which a machine differs from another, but the name."""
    return {
        field.name: getattr(config, field.name)
        for field in fields(HardwareConfig)
        if field.name != "name" and getattr(config, field.name) != getattr(base, field.name)
    }


def print_front(
    console: Console,
    points: Sequence[Point],
    baseline: Point,
    objectives: Sequence[Objective],
    streams: int,
    seconds: float,
) -> None:
    """Print the front, best first by the first objective, and the baseline below it.

    With the clock of each machine, if a model says it.
    """
    front = [point for point in points if point.front]
    front.sort(key=lambda point: point.costs.values(objectives) if point.costs else ())
    names = [f"{objective.value}\n{objective.unit}".strip() for objective in objectives]
    clocks = baseline.estimate.clock_source == MODEL
    table = plain_table(["machine"], [*names, "clock\nMHz"] if clocks else names)
    for point in (*front, baseline):
        name = f"{baseline.config.name}: " if point is baseline else ""
        numbers = _numbers(point, objectives)
        if clocks:
            numbers.append(f"{point.estimate.mhz:.1f}")
        table.add_row(name + describe(point.config), *numbers)
    print_table(console, table)
    console.print(
        f"{len(points):,} machines of {streams:,} programs, {len(front)} on the front, "
        f"in {seconds:.0f} s",
        soft_wrap=True,
    )
    if baseline.costs is None:
        console.print(f"{baseline.config.name}: {baseline.measured.reason}", soft_wrap=True)
    if Objective.MILLISECONDS in objectives and baseline.estimate.clock_source == ASSUMED:
        console.print(
            f"milliseconds at {baseline.estimate.mhz:g} MHz, which is assumed (--mhz names "
            "another clock)",
            soft_wrap=True,
        )


def _numbers(point: Point, objectives: Sequence[Objective]) -> list[str]:
    if point.costs is None:
        return ["-"] * len(objectives)
    return [
        f"{value:,.3f}"
        if objective in (Objective.MILLISECONDS, Objective.ENERGY)
        else f"{value:,.0f}"
        for objective, value in zip(objectives, point.costs.values(objectives), strict=True)
    ]


def print_explanation(
    console: Console, explanation: Explanation, objectives: Sequence[Objective]
) -> None:
    """Print what each step changes, in percent of the machine in the middle.

    With the clock, if a model says it.
    """
    center = explanation.center
    console.print(f"around {describe(center.config)}:", soft_wrap=True)
    names = [objective.value for objective in objectives]
    clocks = center.estimate.clock_source == MODEL
    table = plain_table(["change"], [*names, "clock"] if clocks else names)
    for step in explanation.steps:
        if step.point is None:
            what = f"{', '.join(step.fields)} {'up' if step.up else 'down'}"
        else:
            changed = differences(step.point.config, center.config)
            what = ", ".join(f"{name} {_shown(value)}" for name, value in changed.items())
        reason = f": {step.reason}" if step.reason else ""
        changes = _changes(step.point, center, objectives)
        if clocks:
            faster = step.point and step.point.estimate.mhz / center.estimate.mhz - 1
            changes.append("" if faster is None else f"{faster:+.1%}")
        table.add_row(what + reason, *changes)
    print_table(console, table)


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return " ".join(sorted(feature.value for feature in value)) or "none"
    return str(value)


def _changes(point: Point | None, center: Point, objectives: Sequence[Objective]) -> list[str]:
    """Changes of the objectives, in percent; nothing for a machine that cannot run."""
    if point is None or point.costs is None or center.costs is None:
        return [""] * len(objectives)
    pairs = zip(point.costs.values(objectives), center.costs.values(objectives), strict=True)
    return [f"{after / before - 1:+.1%}" for after, before in pairs]
