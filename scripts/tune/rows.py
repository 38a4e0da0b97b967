"""The results of tuning as JSON, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.table import Table

from compiler.tune.plain import to_plain
from compiler.tune.session import TaskTuning
from scripts.tables import plain_table


def task_json(done: TaskTuning) -> dict[str, object]:
    """A task's entry in the JSON."""
    task, certificate = done.task, done.certificate
    choice = done.tuning.choice
    return {
        "name": task.name,
        "layers": list(task.layers),
        "template": task.template.name,
        "workload": to_plain(task.workload),
        "count": task.count,
        "trials": len(done.tuning.trials),
        "default": _number(done.default.cost),
        "best": _number(certificate.best),
        "bound": _number(certificate.bound),
        "certified": certificate.certified,
        "gap": certificate.gap if isfinite(certificate.gap) else None,
        "space": {"name": done.tuning.candidates.space, "size": certificate.size},
        "measured": certificate.measured,
        "pruned": certificate.pruned,
        "choice": None if choice is None else dict(choice),
    }


def weighted(tasks: Sequence[TaskTuning]) -> tuple[float | None, float | None]:
    """The sums of default and best costs, each as often as its layer occurs."""
    default = sum(done.task.count * done.default.cost for done in tasks)
    best = sum(done.task.count * done.certificate.best for done in tasks)
    return _number(default), _number(best)


def table(tasks: Sequence[TaskTuning]) -> Table:
    """A row for each task."""
    heads = ("count", "trials", "default", "best", "bound", "gap", "certified")
    found = plain_table(("layer",), heads)
    for done in tasks:
        certificate = done.certificate
        found.add_row(
            done.task.name,
            str(done.task.count),
            str(len(done.tuning.trials)),
            _text(done.default.cost),
            _text(certificate.best),
            _text(certificate.bound),
            f"{certificate.gap:.2%}" if isfinite(certificate.gap) else "",
            "yes" if certificate.certified else "no",
        )
    return found


def _number(cost: float) -> float | None:
    """Cycles as a whole number, seconds as they are; None for what was not measured."""
    if not isfinite(cost):
        return None
    return int(cost) if float(cost).is_integer() else float(cost)


def _text(cost: float) -> str:
    if not isfinite(cost):
        return "-"
    return f"{cost:,.0f}" if float(cost).is_integer() else f"{cost * 1e6:,.1f} us"
