"""`tandem tune --explain`: its layer, and as text what choices beside its own would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from tandem.compiler.tune.tasks import Task
from tandem.scripts.layer_names import no_layer
from tandem.scripts.tables import plain_table, print_table, whole_number
from tandem.sim.why.causes import Cause
from tandem.workbench.neighbours import ChoiceCost, Neighbourhood

_SHOWN = 3
"""Causes in a row, those that change most."""
_LEAST = 0.05
"""The part of the largest change below which a cause is left out."""


def task_of_layer(tasks: Sequence[Task], name: str) -> Task:
    """The task that a layer is of; raises `CommandError`, with similar names, if there is none."""
    for task in tasks:
        if name in (*task.layers, *task.joined):
            return task
    raise no_layer("--explain", name, [layer for task in tasks for layer in task.layers])


def print_neighbours(console: Console, found: Neighbourhood) -> None:
    """Print the choice of a layer, and a row for each choice beside it."""
    task, cost = found.task, found.cost
    alike = len(task.layers) - 1
    also = f", and {alike} layer{'s' * (alike > 1)} like it" if alike else ""
    above = f", {cost.cycles / found.bound - 1:.1%} above its bound" if found.bound else ""
    console.print(f"{task.name}{also}: {cost.cycles:,} cycles{above}", soft_wrap=True)
    console.print(f"  {found.choice_text}", soft_wrap=True)
    console.print()
    table = plain_table(("knob",), ("from", "to", "cycles", "change", "bytes"))
    table.add_column("cycles of", overflow="fold")
    for beside in found.neighbours:
        ends = beside.knob, str(found.choice[beside.knob]), str(beside.setting)
        if isinstance(beside.cost, str):
            table.add_row(*ends, "", "", "", beside.cost)
            continue
        change = beside.cost.cycles / cost.cycles - 1
        table.add_row(
            *ends,
            whole_number(beside.cost.cycles),
            f"{change:+.1%}",
            f"{beside.cost.moved - cost.moved:+,}",
            causes_text(cost, beside.cost),
        )
    print_table(console, table)
    if found.alone:
        console.print(f"no other setting fits: {', '.join(found.alone)}", soft_wrap=True)


def causes_text(own: ChoiceCost, other: ChoiceCost) -> str:
    """What another choice's cycles are more or fewer of, the largest change first."""
    changes: Mapping[Cause, int] = {
        cause: other.causes[cause] - cycles for cause, cycles in own.causes.items()
    }
    ordered = sorted(changes.items(), key=lambda item: -abs(item[1]))[:_SHOWN]
    most = abs(ordered[0][1])
    kept = [(cause, by) for cause, by in ordered if by and abs(by) >= _LEAST * most]
    return ", ".join(f"{cause.value} {by:+,}" for cause, by in kept)
