"""The records that come with Tandem: the best of built-in networks on some presets.

They lie in `built_in_records`, a file for each preset and memory, as `scripts.tune.best_of` writes
them.
"""

from __future__ import annotations

from pathlib import Path

from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.records import Record, read_records

_FOLDER = Path(__file__).parent / "built_in_records"


class BuiltInChoices(BestKnown):
    """The choices of records that come with Tandem."""


def built_in_files() -> tuple[Path, ...]:
    """The files of records that come with Tandem."""
    return tuple(sorted(_FOLDER.glob("*.jsonl")))


def built_in_records() -> tuple[Record, ...]:
    """The records that come with Tandem, of all machines."""
    records: list[Record] = []
    for path in built_in_files():
        found, damages = read_records(path)
        assert not damages, "no line of ours is damaged"
        records += found
    return tuple(records)
