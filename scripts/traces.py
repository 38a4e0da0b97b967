"""`--trace` and `--waveform`: which files they name."""

from __future__ import annotations

from pathlib import Path

import typer

from tandem.workbench.traces import TIMELINE, WAVEFORMS, Traces


def choose_traces(trace: Path | None, waveform: Path | None) -> Traces:
    """The files of `--trace` and `--waveform`; the suffix of `--trace` decides between timeline and
    waveform.
    """
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
