"""Which file `--trace` and `--waveform` name, of every pair of suffixes."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tandem.scripts.traces import choose_traces
from tandem.workbench.traces import Traces

TIMELINE, FST, VCD = Path("run.json"), Path("run.fst"), Path("run.vcd")
WAVEFORMS = (FST, VCD)


@pytest.mark.parametrize("waveform", [None, *WAVEFORMS])
def test_a_timeline_stands_beside_a_waveform(waveform: Path | None) -> None:
    assert choose_traces(None, waveform) == Traces(None, waveform)
    assert choose_traces(TIMELINE, waveform) == Traces(TIMELINE, waveform)


@pytest.mark.parametrize("trace", WAVEFORMS)
def test_a_trace_is_a_waveform_by_its_suffix(trace: Path) -> None:
    assert choose_traces(trace, None) == Traces(None, trace)
    for waveform in WAVEFORMS:
        with pytest.raises(typer.BadParameter, match="a run writes one waveform"):
            choose_traces(trace, waveform)


@pytest.mark.parametrize("name", ["run", "run.txt", "run.json.gz", "run.FST"])
def test_other_suffixes_are_refused(name: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"a timeline ends in \.json, a waveform in"):
        choose_traces(Path(name), None)
    for trace in (None, TIMELINE):
        with pytest.raises(typer.BadParameter, match=r"a waveform ends in \.fst or \.vcd"):
            choose_traces(trace, Path(name))
    with pytest.raises(typer.BadParameter, match=r"a waveform ends in \.fst or \.vcd"):
        choose_traces(None, TIMELINE)
