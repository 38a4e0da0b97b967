"""Files of timelines and waveforms: what cannot be written, and what is left of a failed run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tandem.base.errors import BaseError
from tandem.hw.errors import HardwareError
from tandem.sim.errors import EngineError, SimulationError
from tandem.workbench.traces import Traces


class Engine:
    """An engine with time, or without."""

    name = "some"

    def __init__(self, has_time: bool) -> None:
        self.has_time = has_time


def check(traces: Traces, *, has_time: bool = True) -> None:
    traces.check(cast(Any, Engine(has_time)))


def test_files_that_can_be_written(tmp_path: Path) -> None:
    check(Traces(None, None), has_time=False)
    check(Traces(None, tmp_path / "a.vcd"), has_time=False)
    check(Traces(tmp_path / "a.json", tmp_path / "a.vcd"))
    assert not [*tmp_path.iterdir()]


def test_files_that_cannot(tmp_path: Path) -> None:
    timeline, missing = tmp_path / "a.json", tmp_path / "missing" / "a.json"
    with pytest.raises(EngineError, match="a timeline needs cycles: the some engine has no time"):
        check(Traces(timeline, None), has_time=False)
    with pytest.raises(OSError, match="missing"):
        check(Traces(missing, None))
    with pytest.raises(OSError, match="missing"):
        check(Traces(timeline, missing))


@pytest.mark.parametrize("kind", [HardwareError, SimulationError, BaseError])
def test_the_waveform_of_a_failed_run_is_kept(tmp_path: Path, kind: type[Exception]) -> None:
    path = tmp_path / "a.vcd"
    with pytest.raises(kind), Traces(None, path).waveform_draft() as draft:  # noqa: PT012
        assert draft is not None
        draft.write_text("wave")
        raise kind("failed")
    assert path.read_text() == "wave"


def test_waveforms(tmp_path: Path) -> None:
    path = tmp_path / "a.vcd"
    with Traces(None, None).waveform_draft() as draft:
        assert draft is None
    with pytest.raises(KeyboardInterrupt), Traces(None, path).waveform_draft() as draft:  # noqa: PT012
        assert draft is not None
        draft.write_text("wave")
        raise KeyboardInterrupt
    assert not [*tmp_path.iterdir()]
    with Traces(None, path).waveform_draft() as draft:
        assert draft not in (None, path)
        assert draft is not None
        draft.write_text("wave")
    assert [*tmp_path.iterdir()] == [path]


def test_no_timeline_is_written_without_a_path() -> None:
    Traces(None, None).write_timeline(cast(Any, None), cast(Any, None))
