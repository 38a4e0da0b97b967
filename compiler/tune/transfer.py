"""Records of other workloads and machines, as examples for the learned cost model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args, get_type_hints

import numpy as np

from tandem.compiler.errors import CompilerError, RecordError
from tandem.compiler.plan.planner import space_of_choice
from tandem.compiler.plan.schedule_template import ScheduleTemplate
from tandem.compiler.plan.space import Choices
from tandem.compiler.plan.target import Target
from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.candidates import references
from tandem.compiler.tune.plain import canonical_text, from_plain
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Status
from tandem.compiler.tune.tuner import settings_text

LEAST = 4
"""Workloads with fewer measured choices teach nothing about the order of choices."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Measured choices of one workload on one machine; the workload as `canonical` writes it."""

    workload: str
    measured: Measured


TargetOf: TypeAlias = Callable[[Mapping[str, Any], str], Target[Any]]
"""The target of a record's machine and memory. Raises `RecordError` if there is none."""


def examples(
    records: Iterable[Record],
    targets: Mapping[str, TargetOf],
    templates: Sequence[ScheduleTemplate[Any, Any]] = (),
) -> list[Example]:
    """The measured choices of each workload's spaces on each machine, in the order of their first
    records.

    Parameters
    ----------
    targets
        The kinds of targets to learn from, by the names that records have; other records are left
        out.
    templates
        Templates that records may be of, beside ours.

    Raises
    ------
    RecordError
        A machine or workload that this version does not know.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.target in targets and record.status is Status.MEASURED:
            knobs = sorted(record.choice)
            same = (
                record.target,
                record.machine,
                record.memory,
                record.template,
                record.workload,
                knobs,
            )
            groups.setdefault(canonical_text(list(same)), []).append(record)
    return [
        _example(group, targets[group[0].target], templates)
        for group in groups.values()
        if len(group) >= LEAST
    ]


def workload_type(template: ScheduleTemplate[Any, Any]) -> Any:
    """The type of a template's workloads."""
    workload, _ = get_args(get_type_hints(type(template).bind)["return"])
    return workload


def _example(
    group: list[Record], target_of: TargetOf, templates: Sequence[ScheduleTemplate[Any, Any]]
) -> Example:
    first = group[0]
    target = target_of(first.machine, first.memory)
    known = (*target.templates, *templates)
    template = next((each for each in known if each.name == first.template), None)
    if template is None:
        raise RecordError(f"there is no schedule template {first.template}")
    workload = from_plain(workload_type(template), first.workload)
    for record in group:
        if space_of_choice(template, workload, target.machine, record.choice) is None:
            raise RecordError(
                f"{first.template}: choices of another version: {settings_text(record.choice)} is "
                f"in no space of {canonical_text(first.workload)}"
            )
    try:
        choices = Choices.of([record.choice for record in group])
        features = target.cost.features(template, workload, choices)
        bounds = target.cost.bounds(template, workload, choices)
    except CompilerError as error:
        raise RecordError(f"{first.template}: choices of another version: {error}") from None
    costs = np.array([record.outcome.cost for record in group])
    measured = Measured(features, costs, references(bounds))
    return Example(canonical_text(first.workload), measured)
