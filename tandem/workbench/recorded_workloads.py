"""What a file of records knows, without measuring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tandem.compiler.tune.best_known import best_record
from tandem.compiler.tune.plain import canonical_text, to_plain
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.tasks import Task
from tandem.workbench.devices import TargetDevice
from tandem.workbench.workload_text import workload_text


@dataclass(frozen=True, slots=True)
class RecordedWorkload:
    """What records know of a workload on a machine.

    Attributes
    ----------
    name
        The name of its layer, or of the workload itself.
    machine, memory
        The machine's name, and its memory.
    workload
        In plain data.
    count
        The number of layers; None if no model was given.
    trials
        The number of choices with a record.
    best
        The record of the lowest cost; None if nothing was measured.
    """

    name: str
    machine: str
    memory: str
    template: str
    workload: Any
    count: int | None
    trials: int
    best: Record | None

    def as_json(self) -> dict[str, object]:
        """A task's entry in the JSON."""
        best = self.best
        counted: dict[str, object] = {} if self.count is None else {"count": self.count}
        return {
            "name": self.name,
            "machine": self.machine,
            "memory": self.memory,
            "template": self.template,
            "workload": self.workload,
            **counted,
            "trials": self.trials,
            "best": None if best is None else best.cost,
            "explorer": None if best is None else best.explorer,
            "choice": None if best is None else dict(best.choice),
        }


def recorded_workloads(records: Iterable[Record]) -> list[RecordedWorkload]:
    """All workloads of records, those of one machine together, in the order of the file."""
    machines: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        machine = canonical_text([record.target, record.machine, record.memory])
        workload = canonical_text([record.template, record.workload])
        machines.setdefault(machine, {}).setdefault(workload, []).append(record)
    return [_known(alike) for workloads in machines.values() for alike in workloads.values()]


def recorded_tasks(
    tasks: Sequence[Task], device: TargetDevice, records: Iterable[Record]
) -> list[RecordedWorkload]:
    """Tasks in their order, with what records know of them on a device; maybe nothing."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in device.own_records(records):
        found.setdefault((record.template, canonical_text(record.workload)), []).append(record)
    rows = []
    for task in tasks:
        workload = to_plain(task.workload)
        alike = found.get((task.template.name, canonical_text(workload)), [])
        rows.append(
            RecordedWorkload(
                name=task.name,
                machine=device.name,
                memory=device.memory_record,
                template=task.template.name,
                workload=workload,
                count=task.count,
                trials=_choices(alike),
                best=best_record(alike),
            )
        )
    return rows


def _known(alike: Sequence[Record]) -> RecordedWorkload:
    first = alike[0]
    return RecordedWorkload(
        name=workload_text(first.template, first.workload),
        machine=str(first.machine.get("name", "")),
        memory=first.memory,
        template=first.template,
        workload=first.workload,
        count=None,
        trials=_choices(alike),
        best=best_record(alike),
    )


def _choices(records: Iterable[Record]) -> int:
    return len({canonical_text(dict(record.choice)) for record in records})
