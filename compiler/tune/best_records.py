"""The best records of a file, which a compiler needs; the others serve the search alone."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.tune.plain import canonical_text
from compiler.tune.records import Record
from compiler.tune.trial import Status

_SAME = ("target", "machine", "memory", "template", "workload")


def best_records(records: Iterable[Record]) -> list[Record]:
    """The measured record of the lowest cost, the first of equal ones, for each workload on each
    machine with each memory, in the order of their texts."""
    best: dict[str, Record] = {}
    for record in records:
        key = canonical_text([getattr(record, name) for name in _SAME])
        if record.status is Status.MEASURED and (
            key not in best or record.outcome.cost < best[key].outcome.cost
        ):
            best[key] = record
    return [best[key] for key in sorted(best)]
