"""Exports: the machines of a front, each a folder with its configuration and its Verilog."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from tandem.base.folders import write_files
from tandem.compiler.search.points import Point
from tandem.compiler.tune.records import Record, dump_records
from tandem.hw.config import NAME_LENGTH
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.ip.names import FILE_LIST
from tandem.workbench.verilog_files import COMPANIONS, companions, generated_files

POINT_FILE = "point.json"
RECORDS_FILE = "records.jsonl"

_NUMBER = re.compile(r"[0-9]{2,}")


def is_machine_folder(path: Path) -> bool:
    """Whether a folder of an export's folder has a name that exports use."""
    return _NUMBER.fullmatch(path.name) is not None


def export(
    folder: Path, points: Sequence[Point], records: Mapping[int, Sequence[Record]]
) -> tuple[Path, ...]:
    """Write the machines of the front; returns their folders.

    All are written, or none, as by `write_files`; what an earlier export wrote there is replaced.

    Parameters
    ----------
    points
        All points, of which those of the front are written, in their order.
    records
        Tuned records, by the position of their point.
    """
    written: list[Path] = []
    files: dict[str, str | bytes] = {}
    for at, point in enumerate(points):
        if not point.front:
            continue
        place = folder / f"{len(written) + 1:02}"
        suffix = f"-{place.name}"
        name = point.config.name[: NAME_LENGTH - len(suffix)] + suffix
        machine = point.config.replace(name=name)
        design = verilog_of(machine)
        machine_files: dict[str, str | bytes] = {**design.files, **companions(machine, design)}
        machine_files[POINT_FILE] = json.dumps(point.as_json(), indent=2) + "\n"
        if at in records:
            renamed = [_renamed(record, machine.name) for record in records[at]]
            machine_files[RECORDS_FILE] = dump_records(renamed)
        files |= {f"{place.name}/{file}": content for file, content in machine_files.items()}
        written.append(place)
    write_files(folder, files, FILE_LIST, _exported(folder) - files.keys())
    return tuple(written)


def _exported(folder: Path) -> set[str]:
    """The files of an earlier export: in the folders of machines, and by the names it gives."""
    names: set[str] = set()
    for place in folder.glob("*"):
        if is_machine_folder(place) and (place / POINT_FILE).is_file():
            own = {*COMPANIONS, POINT_FILE, RECORDS_FILE} | generated_files(place)
            names |= {f"{place.name}/{file}" for file in own}
    return names


def _renamed(record: Record, name: str) -> Record:
    """The record for a machine of another name, which records hold."""
    return structs.replace(record, machine={**record.machine, "name": name})
