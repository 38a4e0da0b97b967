"""The timeline and the waveform of a run, as files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tandem.base.errors import BaseError
from tandem.base.files import check_destination, replacing
from tandem.hw.errors import HardwareError
from tandem.hw.isa import Program
from tandem.sim.engine import Engine
from tandem.sim.errors import EngineError, SimulationError
from tandem.sim.result import Result
from tandem.sim.trace import write_timeline

TIMELINE = ".json"
WAVEFORMS = (".fst", ".vcd")


@dataclass(frozen=True, slots=True)
class Traces:
    """Paths of the timeline and of the waveform; None for one that is not written."""

    timeline: Path | None
    waveform: Path | None

    def check(self, engine: Engine) -> None:
        """Raise an error before the run if a file cannot be written."""
        check_destination(self.timeline)
        check_destination(self.waveform)
        if self.timeline is not None and not engine.has_time:
            raise EngineError(f"a timeline needs cycles: the {engine.name} engine has no time")

    @contextmanager
    def waveform_draft(self) -> Iterator[Path | None]:
        """Yield the file that the engine writes the waveform to, renamed to `waveform` at the end.

        The waveform of a failed run is kept, for debugging; after Ctrl-C it is removed.
        """
        if self.waveform is None:
            yield None
        else:
            failures = (BaseError, HardwareError, SimulationError)
            with replacing(self.waveform, even_after=failures) as draft:
                yield draft

    def write_timeline(self, result: Result, program: Program) -> None:
        """Write the timeline, if there is a path for it."""
        if self.timeline is not None:
            write_timeline(self.timeline, result, program)
