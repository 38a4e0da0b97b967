"""The records of a run that people look at: a timeline and a waveform."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from hw.errors import HardwareError
from hw.files import check_destination, replacing
from hw.isa import Program
from sim.engine import Engine
from sim.errors import EngineError, SimulationError
from sim.result import Result
from sim.trace import write_timeline

__all__ = ["Traces", "choose_traces"]

TIMELINE = ".json"
WAVEFORMS = (".fst", ".vcd")


@dataclass(frozen=True, slots=True)
class Traces:
    """Where they are written, if they are wanted."""

    timeline: Path | None
    waveform: Path | None

    def check(self, engine: Engine) -> None:
        """Refuse before the run what cannot be written after it."""
        check_destination(self.timeline)
        check_destination(self.waveform)
        if self.timeline is not None and not engine.has_time:
            raise EngineError(f"a timeline needs cycles: the {engine.name} engine has no time")

    @contextmanager
    def waveform_draft(self) -> Iterator[Path | None]:
        """The file that the engine writes the waveform to, which becomes `waveform` at the end.

        A run that fails keeps its waveform, for that is when it is needed. Ctrl-C does not.
        """
        if self.waveform is None:
            yield None
        else:
            with replacing(self.waveform, even_after=(HardwareError, SimulationError)) as draft:
                yield draft

    def write_timeline(self, result: Result, program: Program) -> None:
        """Write the timeline, if it is wanted."""
        if self.timeline is not None:
            write_timeline(self.timeline, result, program)


def choose_traces(trace: Path | None, waveform: Path | None) -> Traces:
    """What `--trace` and `--waveform` ask for: the end of a `--trace` name says which it is."""
    if trace is None or trace.suffix == TIMELINE:
        chosen = Traces(trace, waveform)
    elif trace.suffix not in WAVEFORMS:
        raise typer.BadParameter(
            f"{trace}: a timeline ends in .json, a waveform in .fst or .vcd", param_hint="--trace"
        )
    elif waveform is not None:
        raise typer.BadParameter(
            f"{trace} and {waveform}: a run writes one waveform", param_hint="--trace"
        )
    else:
        chosen = Traces(None, trace)
    if chosen.waveform is not None and chosen.waveform.suffix not in WAVEFORMS:
        raise typer.BadParameter(
            f"{chosen.waveform}: a waveform ends in .fst or .vcd", param_hint="--waveform"
        )
    return chosen
