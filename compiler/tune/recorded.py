"""Measurements that are looked up in records first, and recorded as soon as they are made.

A search that was interrupted is resumed by running it again: what it proposes depends on its seed
and on outcomes alone, and outcomes that are recorded cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.plain import canonical_text
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Outcome, Status

MeasureMany: TypeAlias = Callable[[Sequence[Choice], float], Iterable[tuple[int, Outcome]]]
"""Measures choices of one workload with a limit; pairs of a choice's position and its outcome, as
the measurements end."""


_SAME = ("tandem", "target", "machine", "memory", "template", "workload")
"""What records of equal measurements have in common, beside the choice."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a workload's measurements depend on, beside the choice.

    Attributes
    ----------
    tandem, target, machine, memory, template, workload
        As in `Record`; the workload in plain data.
    """

    tandem: str
    target: str
    machine: Mapping[str, Any]
    memory: str
    template: str
    workload: Any

    @staticmethod
    def of(record: Record) -> Identity:
        """What a recorded measurement depended on."""
        return Identity(**{name: getattr(record, name) for name in _SAME})

    def key(self) -> str:
        """A text that is equal for equal measurements, of one version of Tandem."""
        return canonical_text([getattr(self, name) for name in _SAME])

    def record(self, choice: Choice, outcome: Outcome, limit: float, by: Proposer) -> Record:
        """The record of a measurement."""
        measured = outcome.status is Status.MEASURED
        return Record(
            tandem=self.tandem,
            target=self.target,
            machine=self.machine,
            memory=self.memory,
            template=self.template,
            workload=self.workload,
            choice=dict(choice),
            status=outcome.status,
            cost=outcome.cost if measured else None,
            reason=outcome.reason,
            limit=None if limit == float("inf") else limit,
            explorer=by.explorer,
            seed=by.seed,
        )


@dataclass(frozen=True, slots=True)
class Proposer:
    """What proposes choices: an explorer's name and its seed."""

    explorer: str
    seed: int


def by_identity(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records by the key of their identity, in their order."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(Identity.of(record).key(), []).append(record)
    return found


@dataclass
class RecordedOutcomes:
    """The outcomes that records tell, by what they depend on."""

    _found: dict[tuple[str, str], list[Record]] = field(default_factory=dict)

    def add(self, records: Iterable[Record]) -> None:
        """Take note of records."""
        for record in records:
            key = Identity.of(record).key()
            choice = canonical_text(record.choice)
            self._found.setdefault((key, choice), []).append(record)

    def outcome(self, key: str, choice: Choice, limit: float) -> Outcome | None:
        """The outcome that measuring the choice would have, if records tell.

        Parameters
        ----------
        key
            As `Identity.key`.
        """
        for record in self._found.get((key, canonical_text(dict(choice))), ()):
            match record.status:
                case Status.MEASURED:
                    within = record.outcome.cost <= limit
                    return record.outcome if within else Outcome.abandoned()
                case Status.ABANDONED:
                    if record.limit is not None and record.limit >= limit:
                        return record.outcome
                case Status.FAILED:
                    return record.outcome
        return None


@dataclass(frozen=True, slots=True)
class RecordedMeasure:
    """Measures choices of one workload, unless their outcomes are known; see `Measure`.

    Attributes
    ----------
    save
        Called with each new record, as soon as it is made.
    """

    identity: Identity
    by: Proposer
    known: RecordedOutcomes
    measure: MeasureMany
    save: Callable[[Record], None]

    def __call__(self, choices: Sequence[Choice], limit: float) -> list[Outcome]:
        """The outcomes of choices, in their order."""
        key = self.identity.key()
        found = {
            at: outcome
            for at, choice in enumerate(choices)
            if (outcome := self.known.outcome(key, choice, limit)) is not None
        }
        missing = [at for at in range(len(choices)) if at not in found]
        for at, outcome in self._measured([choices[at] for at in missing], limit):
            found[missing[at]] = outcome
        return [found[at] for at in range(len(choices))]

    def _measured(self, choices: Sequence[Choice], limit: float) -> Iterator[tuple[int, Outcome]]:
        if not choices:
            return
        for at, outcome in self.measure(choices, limit):
            record = self.identity.record(choices[at], outcome, limit, self.by)
            self.save(record)
            self.known.add([record])
            yield at, outcome
