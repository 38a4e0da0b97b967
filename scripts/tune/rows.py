"""The results of tuning as JSON, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from math import isfinite

from rich.table import Table

from tandem.compiler.tune.decision import Decision, Decisions, costs_of
from tandem.compiler.tune.paired import PairedGain
from tandem.compiler.tune.plain import to_plain
from tandem.compiler.tune.session import TaskTuning
from tandem.scripts.tables import plain_table
from tandem.workbench.tuning import is_bounded, plain_cost


def tasks_json(
    tasks: Sequence[TaskTuning], decisions: Sequence[Decision] | None = None
) -> list[dict[str, object]]:
    """The entries of tasks in the JSON; on a processor with what was decided for them."""
    return [_task_json(done, decision) for done, decision in _paired(tasks, decisions)]


def network_json(gain: PairedGain | None) -> dict[str, object] | None:
    """The entry `network` in the JSON: seconds with defaults and with the kept choices, and the
    part that these gain at least."""
    if gain is None:
        return None
    return {"default": gain.default, "best": gain.challenger, "least_gain": gain.least}


def decided_text(decisions: Decisions) -> str:
    """The line about what was kept on a processor."""
    kept = sum(one.task.count for one in decisions.tasks if one.kept)
    layers = sum(one.task.count for one in decisions.tasks)
    if not kept:
        return "kept: the defaults; no other choice is faster by more than the noise"
    text = f"kept: other choices than the default for {kept} of {layers} layers"
    gain = decisions.network
    if gain is None:
        return f"{text}, as decided before"
    return (
        f"{text}; network {gain.default * 1e3:.2f} -> {gain.challenger * 1e3:.2f} ms, alternately "
        f"with the default"
    )


def _task_json(done: TaskTuning, decision: Decision | None) -> dict[str, object]:
    task, certificate = done.task, done.certificate
    default, best = costs_of(done, decision)
    choice = done.tuning.choice if decision is None else decision.choice
    return {
        "name": task.name,
        "layers": list(task.layers),
        "template": task.template.name,
        "workload": to_plain(task.workload),
        "count": task.count,
        "trials": len(done.tuning.trials),
        "default": plain_cost(default),
        "best": plain_cost(best),
        "bound": plain_cost(certificate.bound) if is_bounded(done) else None,
        "certified": certificate.certified and is_bounded(done),
        "gap": certificate.gap if is_bounded(done) and isfinite(certificate.gap) else None,
        "space": {"name": done.tuning.candidates.space, "size": certificate.size},
        "measured": certificate.measured,
        "pruned": certificate.pruned,
        "choice": None if choice is None else dict(choice),
        **({} if decision is None else {"kept": decision.kept}),
    }


def table(tasks: Sequence[TaskTuning], decisions: Sequence[Decision] | None = None) -> Table:
    """A row for each task; of tasks with bounds also these, and what they certify."""
    bounded = any(map(is_bounded, tasks))
    heads = ("bound", "gap", "certified") if bounded else ()
    found = plain_table(("layer",), ("count", "trials", "default", "best", *heads))
    for done, decision in _paired(tasks, decisions):
        certificate = done.certificate
        default, best = costs_of(done, decision)
        gap = certificate.gap
        bounds = (
            _text(certificate.bound),
            f"{gap:.2%}" if isfinite(gap) else "",
            "yes" if certificate.certified else "no",
        )
        found.add_row(
            done.task.name,
            str(done.task.count),
            str(len(done.tuning.trials)),
            _text(default),
            _text(best),
            *(bounds if bounded else ()),
        )
    return found


def _paired(
    tasks: Sequence[TaskTuning], decisions: Sequence[Decision] | None
) -> Iterator[tuple[TaskTuning, Decision | None]]:
    """Tasks with their decisions; None without any."""
    return zip(tasks, repeat(None) if decisions is None else decisions, strict=False)


def _text(cost: float) -> str:
    if not isfinite(cost):
        return "-"
    return f"{cost:,.0f}" if float(cost).is_integer() else f"{cost * 1e6:,.1f} us"
