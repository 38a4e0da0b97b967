"""The record of the RTL's times, which needs no RTL to be compared with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.launching import launch
from tests.support.sim.recorded_times import PATH, RECORD, line_of, modelled, recorded_cases


@pytest.mark.exhaustive
def test_the_record_is_the_rtls(golden: Callable[[str, str], None]) -> None:
    lines = []
    for case in recorded_cases():
        drawn, engine = case.drawn(), RtlEngine(case.config, case.memory)
        result, _ = launch(engine, drawn.program, drawn.image, events=True)
        engine.close()
        lines.append(line_of(case, result.cycles, result.units, result.events))
    golden(RECORD, "\n".join(lines) + "\n")


def test_the_model_gives_the_record() -> None:
    assert [modelled(case) for case in recorded_cases()] == PATH.read_text().splitlines()
