"""Counters as tables, and as JSON in the order of the tables."""

from __future__ import annotations

from tandem.hw.isa import MemoryId, Opcode, Work
from tandem.hw.topology import Unit
from tandem.sim.events import EventTable
from tandem.sim.result import Result, UnitCycles
from tandem.workbench.counters import counters_json, unit_cycles, work_table

WORK = Work(
    loaded={MemoryId.INP: 64, MemoryId.ACC: 0},
    stored=16,
    gemm_uops=3,
    reset_uops=1,
    alu_uops=2,
    instructions={Opcode.LOAD: 2, Opcode.FINISH: 1},
)
UNITS = {Unit.LOAD: UnitCycles(5, 2, 1), Unit.STORE: UnitCycles(0, 9, 0)}


def result(cycles: int | None) -> Result:
    units = None if cycles is None else UNITS
    return Result("cycle", cycles, units, WORK, EventTable.of([]), 0.5)


def test_cycles_of_a_unit_sum_to_the_run() -> None:
    table = unit_cycles(result(10))
    assert table.rows == (("load", 5, 2, 1, 2), ("store", 0, 9, 0, 1))
    assert len(unit_cycles(result(None))) == 0


def test_work_has_a_row_for_each_kind() -> None:
    assert work_table(WORK).rows == (
        ("bytes_loaded", "inp", 64),
        ("bytes_loaded", "acc", 0),
        ("bytes_stored", None, 16),
        ("gemm_uops", None, 3),
        ("reset_uops", None, 1),
        ("alu_uops", None, 2),
        ("instructions", "load", 2),
        ("instructions", "finish", 1),
    )


def test_json_has_both_tables() -> None:
    found = counters_json(result(10))
    assert [*found.items()] == [
        ("bytes_loaded", {"inp": 64, "acc": 0}),
        ("bytes_stored", 16),
        ("gemm_uops", 3),
        ("reset_uops", 1),
        ("alu_uops", 2),
        ("instructions", {"load": 2, "finish": 1}),
        (
            "modules",
            {
                "load": {"busy": 5, "token": 2, "memory": 1, "idle": 2},
                "store": {"busy": 0, "token": 9, "memory": 0, "idle": 1},
            },
        ),
    ]
    assert "modules" not in counters_json(result(None))
