"""The best records of a file, which a compiler needs; the others serve the search alone."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.compiler.tune.best_known import best_record
from tandem.compiler.tune.plain import canonical_text
from tandem.compiler.tune.records import Record

_SAME = ("target", "machine", "memory", "template", "workload")


def best_records(records: Iterable[Record]) -> list[Record]:
    """The measured record of the lowest cost, the first of equal ones, for each workload on each
    machine with each memory, in the order of their texts."""
    found: dict[str, list[Record]] = {}
    for record in records:
        key = canonical_text([getattr(record, name) for name in _SAME])
        found.setdefault(key, []).append(record)
    best = (best_record(found[key]) for key in sorted(found))
    return [record for record in best if record is not None]
