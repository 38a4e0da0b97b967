"""The curve of the multipliers: an average in each window, together all the work."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Assembler, Program
from tandem.sim.trace.busy import WINDOWS, busy_records
from tandem.sim.trace.tracks import Slice, Track, number_of, place_slices
from tests.support.sim.timelines import traced_run


def curve(slices: list[Slice], program: Program, cycles: int) -> dict[float, float]:
    records = list(busy_records(slices, program, cycles))
    assert {record["name"] for record in records} <= {"multipliers busy"}
    return {record["ts"]: record["args"]["%"] for record in records}


def gemm(start: int, end: int, products: int, *, reset: bool = False) -> tuple[list[Slice], Any]:
    asm = Assembler(HardwareConfig())
    asm.gemm(uops=(0, products), reset=reset)
    asm.finish()
    return [Slice(0, Track.GEMM, number_of(Track.GEMM), start, end)], asm.build()


def test_a_story() -> None:
    run = traced_run()
    slices = list(place_slices(run.result.events, run.program))
    # Two products in four cycles from 2 on, three in four from 10 on.
    wanted = {0: 0, 2: 50, 6: 0, 10: 75, 14: 0}
    assert curve(slices, run.program, 20) == wanted


def test_windows_of_a_long_run_are_averages() -> None:
    slices, program = gemm(15, 35, 20)
    found = curve(slices, program, 10 * WINDOWS)
    assert found == {0: 0, 10: 50, 20: 100, 30: 50, 40: 0}


def test_windows_are_whole_cycles() -> None:
    slices, program = gemm(1, 1400, 700)
    cycles = 2 * WINDOWS - 1
    found = curve(slices, program, cycles)
    assert all(time == int(time) for time in found)
    times = sorted({*found, cycles})
    area = sum((after - time) * found[time] for time, after in pairwise(times))
    assert area / 100 == pytest.approx(700, rel=1e-3)


def test_resets_are_no_products() -> None:
    slices, program = gemm(2, 10, 8, reset=True)
    assert curve(slices, program, 20) == {}


def test_gemms_at_once_add_up() -> None:
    run = traced_run()
    slices = [
        replace(item, start=4, end=8)
        for item in place_slices(run.result.events, run.program)
        if item.track is Track.GEMM
    ]
    assert curve(slices, run.program, 10) == {0: 0, 4: 125, 8: 0}
