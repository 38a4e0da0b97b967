"""The tasks of tuning as a table."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from tandem.compiler.tune.decision import Decision, costs_of
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tuner import settings_text
from tandem.workbench.table import Column, Table, Value
from tandem.workbench.tuning import is_bounded, plain_cost


def task_table(
    tasks: Sequence[TaskTuning], decisions: Sequence[Decision] | None, *, in_cycles: bool
) -> Table:
    """A row for each task: a workload, which several layers may have.

    Parameters
    ----------
    decisions
        Which choices are kept on a processor; None on an accelerator, which keeps the best.
    in_cycles
        Whether costs are clock cycles, and not seconds.
    """
    kept = [None] * len(tasks) if decisions is None else decisions
    pairs = zip(tasks, kept, strict=True)
    return Table(_columns(in_cycles), tuple(_row(done, decision) for done, decision in pairs))


def _columns(in_cycles: bool) -> tuple[Column, ...]:
    kind, unit = (int, "clock cycles") if in_cycles else (float, "s")
    return (
        Column("name", str, "the name of the first layer with the workload"),
        Column("template", str, "the schedule template"),
        Column("count", int, "the number of layers with the workload"),
        Column("trials", int, "choices that were tried"),
        Column("default", kind, f"the cost of the compiler's own choice, {unit}"),
        Column("best", kind, f"the least cost that was found, {unit}"),
        Column("bound", kind, f"no choice of the space costs less, {unit}"),
        Column("gap", float, "the best cost beyond the bound, as a part of it", ".2%"),
        Column("certified", bool, "whether no choice of the space is better than the best"),
        Column("measured", int, "choices of the space that were measured"),
        Column("pruned", int, "choices of the space that cannot be better, by their bounds"),
        Column("size", int, "choices of the space that fit"),
        Column("choice", str, "the best choice, or the one that is kept"),
    )


def _row(done: TaskTuning, decision: Decision | None) -> tuple[Value, ...]:
    certificate, bounded = done.certificate, is_bounded(done)
    default, best = costs_of(done, decision)
    chosen = done.tuning.choice if decision is None else decision.choice
    return (
        done.task.name,
        done.task.template.name,
        done.task.count,
        len(done.tuning.trials),
        plain_cost(default),
        plain_cost(best),
        plain_cost(certificate.bound) if bounded else None,
        certificate.gap if bounded and isfinite(certificate.gap) else None,
        bounded and certificate.certified,
        certificate.measured,
        certificate.pruned,
        certificate.size,
        None if chosen is None else settings_text(chosen),
    )
