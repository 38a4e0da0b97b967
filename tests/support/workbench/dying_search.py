"""A search for operations that kills its own process at a chosen moment.

    python -m tests.support.workbench.dying_search JUDGED OUTPUT MOMENT

A moment is a message of the search, or a statement by which its memory changes (`BEGIN`, `INSERT`,
`COMMIT`, each before it is executed), by its number from 1 on; 0: the search lives. What it found
is in OUTPUT, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tandem.hw.config_files import dump_config, load_config
from tandem.hw.memory_model import parse_memory
from tandem.workbench.discovery import run as searching
from tandem.workbench.discovery.judged import Judged, open_judged
from tandem.workbench.discovery.options import Options
from tandem.workbench.models import ModelOptions
from tandem.workbench.search.measure import Network

CHANGES = ("BEGIN", "INSERT", "COMMIT")


def options(judged: Path) -> Options:
    """A small search, in which little is judged."""
    return Options(
        networks=(Network("digits", ModelOptions(seed=3)),),
        held_out=(),
        baseline=load_config("small8"),
        memory=parse_memory("fast"),
        share=0.3,
        dsp=32,
        finalists=3,
        synthesise=False,
        judged=judged,
        jobs=1,
    )


def main(arguments: Sequence[str]) -> None:
    """The command."""
    judged, output, moment = Path(arguments[0]), Path(arguments[1]), int(arguments[2])
    left = moment

    def event(what: str) -> None:
        nonlocal left
        print(what, flush=True)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "open_judged", traced(event))
        found = searching.run(options(judged), event)
    result = found.as_json()
    del result["seconds"]
    output.write_text(json.dumps([result, dump_config(found.config)]))


def traced(event: Callable[[str], None]) -> Callable[[Path], object]:
    """`open_judged`, telling of each change."""

    @contextmanager
    def opened(path: Path) -> Iterator[Judged]:
        with open_judged(path) as judged:
            judged.connection.set_trace_callback(
                lambda statement: event(statement[:6]) if statement.startswith(CHANGES) else None
            )
            yield judged

    return opened


if __name__ == "__main__":
    main(sys.argv[1:])
