"""The counters of a run as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Opcode, Unit, work_of
from tandem.scripts.counters import print_counters, unit_table
from tandem.sim.events import EventTable
from tandem.sim.result import Result, UnitCycles
from tests.support.scripts.printed import lines_of

TINY = load_config("tiny")


def result(cycles: int | None, units: dict[Unit, UnitCycles]) -> Result:
    asm = Assembler(TINY)
    asm.finish()
    work = work_of(asm.build())
    work = replace(
        work,
        instructions=work.instructions | {Opcode.GEMM: 1_500},
        stored=4_096,
        gemm_uops=1_000,
        reset_uops=20,
        alu_uops=3,
    )
    return Result("cycle", cycles, units, work, EventTable.of(()), 1.0)


UNITS = {
    Unit.LOAD: UnitCycles(1_000, 0, 0),
    Unit.COMPUTE: UnitCycles(250, 500, 125),
    Unit.STORE: UnitCycles(0, 0, 0),
}


def lines(found: Result, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_counters(Console(width=100), TINY, found, "ab12")
    return [" ".join(line.split()) for line in lines_of(capsys)]


def test_a_run_with_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 1000 cycles, those that are left are idle."""
    assert lines(result(1_000, UNITS), capsys) == [
        "engine cycle, configuration tiny",
        "cycles 1,000",
        "instructions 1,500 GEMM, 1 FINISH",
        "bytes loaded 0",
        "bytes stored 4,096",
        "micro-ops 1,000 GEMM, 20 reset, 3 ALU",
        "image SHA-256 ab12",
        "",
        "cycles busy waits for token waits for memory idle",
        "load 1,000 100.0% 0 0.0% 0 0.0% 0 0.0%",
        "compute 250 25.0% 500 50.0% 125 12.5% 125 12.5%",
        "store 0 0.0% 0 0.0% 0 0.0% 1,000 100.0%",
    ]


def test_a_run_without_time(capsys: pytest.CaptureFixture[str]) -> None:
    found = result(None, {})
    loaded = found.work.loaded | {MemoryId.INP: 1_024, MemoryId.WGT: 64}
    found = replace(found, work=replace(found.work, loaded=loaded))
    text = lines(found, capsys)
    assert text[1:4] == [
        "cycles -",
        "instructions 1,500 GEMM, 1 FINISH",
        "bytes loaded 64 WGT, 1,024 INP",
    ]
    assert len(text) == 7


def test_no_cycles_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    units = dict.fromkeys(Unit, UnitCycles(0, 0, 0))
    Console(width=100).print(unit_table(result(0, units)))
    assert "load" in lines_of(capsys)[1]
