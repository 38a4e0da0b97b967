"""Timelines as JSON files, written record by record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tandem.base.files import replacing
from tandem.base.paths import AnyPath
from tandem.hw.isa import Program
from tandem.sim.result import Result
from tandem.sim.trace.labels import Labels
from tandem.sim.trace.records import timeline

_AT_ONCE = 4096
"""Records that are encoded together."""


def write_timeline(
    path: AnyPath, result: Result, program: Program, labels: Labels | None = None
) -> None:
    """Write the timeline to `path` as JSON, atomically.

    Raises
    ------
    EngineError
        See `timeline`.
    OSError
        The file cannot be written.
    """
    records = timeline(result, program, labels)
    metadata = {
        "engine": result.engine,
        "config": program.config.name,
        "cycles": result.cycles,
        "unit": "1 us is 1 cycle",
    }
    with replacing(path) as draft:
        try:
            with draft.open("w", encoding="utf-8", errors="backslashreplace") as file:
                # Records come first: some readers stop at an unknown key.
                file.write('{"traceEvents":[\n')
                for number, text in enumerate(_texts(records)):
                    file.write(f",\n{text}" if number else text)
                file.write(f'\n],"otherData":{json.dumps(metadata)}}}\n')
        except OSError as error:
            # The error of a failed write, as on a full disk, lacks the name of the file.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _texts(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    # UTF-8 without escapes: some readers do not decode escaped characters.
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    while batch := list(islice(records, _AT_ONCE)):
        yield encoder.encode(batch)[1:-1]
