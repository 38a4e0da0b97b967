"""`--export`: the machines of a front, each a folder with its configuration and its Verilog."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from compiler.tune.records import Record, append_records
from hw.config import NAME_LENGTH
from hw.files import write_atomically
from hw.rtl.verilog import generate
from scripts.rtl import write_design
from scripts.search.points import Point

POINT_FILE = "point.json"
RECORDS_FILE = "records.jsonl"


def export(
    folder: Path, points: Sequence[Point], records: Mapping[int, Sequence[Record]]
) -> tuple[Path, ...]:
    """Write the machines of the front; returns their folders.

    Parameters
    ----------
    points
        All points, of which those of the front are written, in their order.
    records
        Tuned records, by the position of their point.
    """
    written: list[Path] = []
    for at, point in enumerate(points):
        if not point.front:
            continue
        place = folder / f"{len(written) + 1:02}"
        suffix = f"-{place.name}"
        name = point.config.name[: NAME_LENGTH - len(suffix)] + suffix
        machine = point.config.replace(name=name)
        write_design(place, machine, generate(machine))
        write_atomically(place / POINT_FILE, json.dumps(point.as_json(), indent=2) + "\n")
        file = place / RECORDS_FILE
        file.unlink(missing_ok=True)
        if at in records:
            append_records(file, [_renamed(record, machine.name) for record in records[at]])
        written.append(place)
    return tuple(written)


def _renamed(record: Record, name: str) -> Record:
    """The record for a machine of another name, which records hold."""
    return structs.replace(record, machine={**record.machine, "name": name})
