"""The counters of a run as tables: each unit's cycles, and the work of the program."""

from __future__ import annotations

from tandem.hw.isa import Work
from tandem.sim.result import Result
from tandem.workbench.table import Column, Table, Value

_UNITS = (
    Column("unit", str, "load, compute or store"),
    Column("busy", int, "clock cycles in which the unit executed an instruction"),
    Column("token", int, "clock cycles in which the unit waited for a token"),
    Column("memory", int, "clock cycles in which the unit waited for memory"),
    Column("idle", int, "all other clock cycles of the run"),
)
_WORK = (
    Column("counter", str, "what is counted"),
    Column("kind", str, "of which memory or instruction; unknown of counters without kinds"),
    Column("value", int, "bytes, micro-ops or instructions"),
)


def unit_cycles(result: Result) -> Table:
    """A row for each unit, whose cycles sum to the run's; no row without time."""
    if result.cycles is None or result.units is None:
        return Table(_UNITS, ())
    rows = tuple(
        (
            unit.name.lower(),
            spent.busy,
            spent.token,
            spent.memory,
            result.cycles - spent.busy - spent.token - spent.memory,
        )
        for unit, spent in result.units.items()
    )
    return Table(_UNITS, rows)


def work_table(work: Work) -> Table:
    """Bytes, micro-ops and instructions, which depend on the program alone."""
    rows: list[tuple[Value, ...]] = [
        ("bytes_loaded", memory.name.lower(), count) for memory, count in work.loaded.items()
    ]
    rows += [
        ("bytes_stored", None, work.stored),
        ("gemm_uops", None, work.gemm_uops),
        ("reset_uops", None, work.reset_uops),
        ("alu_uops", None, work.alu_uops),
    ]
    rows += [
        ("instructions", kind.name.lower(), count) for kind, count in work.instructions.items()
    ]
    return Table(_WORK, tuple(rows))


def counters_json(result: Result) -> dict[str, object]:
    """The entry `counters` of a command's JSON: both tables, by the names in their rows."""
    found: dict[str, object] = {}
    for counter, kind, value in work_table(result.work).rows:
        of_kind = found.setdefault(str(counter), {} if kind else value)
        if isinstance(of_kind, dict):
            of_kind[kind] = value
    if result.units is not None:
        found["modules"] = {
            str(row["unit"]): {name: row[name] for name in row if name != "unit"}
            for row in unit_cycles(result)
        }
    return found
