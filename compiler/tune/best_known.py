"""The best known choices of records, for the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from msgspec import UNSET

from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.plain import canonical, canonical_text
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Status


class BestKnown(TunedChoices):
    """The best measured choice for each workload, as `best_record` has it."""

    def __init__(self, records: Iterable[Record]) -> None:
        found: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            found.setdefault((record.template, canonical_text(record.workload)), []).append(record)
        best = {key: best_record(alike) for key, alike in found.items()}
        self._choices: Mapping[tuple[str, str], Choice] = {
            key: record.choice for key, record in best.items() if record is not None
        }
        self._costs: Mapping[tuple[str, str], float] = {
            key: record.outcome.cost for key, record in best.items() if record is not None
        }

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return self._choices.get((template.name, canonical(workload)))

    def cost(self, template: Any, workload: Any) -> float:
        return self._costs.get((template.name, canonical(workload)), inf)

    def knows(self, template: Any) -> bool:
        return any(name == template.name for name, _ in self._choices)


@dataclass(frozen=True, eq=False)
class OfFallbacks(TunedChoices):
    """Of known choices those of templates that take what no other one does: with them a network has
    the same layers on the machine, with the compiler's own choices where there are any."""

    known: TunedChoices

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return self.known.choice(template, workload) if template.is_fallback else None

    def cost(self, template: Any, workload: Any) -> float:
        return self.known.cost(template, workload) if template.is_fallback else inf

    def knows(self, template: Any) -> bool:
        return bool(template.is_fallback) and self.known.knows(template)


def best_record(records: Iterable[Record]) -> Record | None:
    """The record of the choice to take; None if none is measured.

    That is the last one that won a comparison: it tells more than the lowest cost, which may be of
    luck. Without comparisons it is the measured one of the lowest cost, the first of equal ones.
    """
    measured = [record for record in records if record.status is Status.MEASURED]
    won = [record for record in measured if record.default_cost is not UNSET]
    if won:
        return won[-1]
    return min(measured, key=lambda record: record.outcome.cost, default=None)


def of_machine(
    records: Iterable[Record], machine: Mapping[str, Any], memory: str
) -> tuple[Record, ...]:
    """The records of one machine with one memory."""
    wanted = canonical_text(machine)
    return tuple(
        record
        for record in records
        if record.memory == memory and canonical_text(record.machine) == wanted
    )
