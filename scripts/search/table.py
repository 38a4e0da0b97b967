"""The front of a search, and the machines around one, as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tandem.compiler.search.estimates import ASSUMED, MODEL
from tandem.compiler.search.explanation import Explanation
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.scripts.tables import plain_table, print_table
from tandem.workbench.search.explanation_table import CLOCK, explanation_table
from tandem.workbench.search.machine_text import describe


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
    steps = explanation_table(explanation, objectives)
    clocks = [CLOCK] if center.estimate.clock_source == MODEL else []
    shown = steps.select(*(objective.value for objective in objectives), *clocks)
    table = plain_table(["change"], shown.names)
    for step, changes in zip(steps, shown.rows, strict=True):
        reason = f": {step['reason']}" if step["reason"] else ""
        texts = (column.text(value) for column, value in zip(shown.columns, changes, strict=True))
        table.add_row(f"{step['change']}{reason}", *texts)
    print_table(console, table)
