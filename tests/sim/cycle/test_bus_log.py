"""The first silence in a log of the bus, against a look at every cycle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId, Opcode
from tandem.sim.cycle.bus_log import (
    ACCEPTED,
    ANSWERED,
    BEATS,
    DONE,
    FIRST,
    GRANTED,
    ISSUED,
    READ_FIELDS,
    TAKEN,
    WRITE_FIELDS,
    first_silence,
    make_log,
)
from tandem.sim.cycle.state import Ints
from tests.support.sim.programs import random_program

TINY = load_config("tiny")
INTERVAL = 2
gaps = st.integers(1, 9)


@st.composite
def reads(draw: st.DrawFn) -> Ints:
    """Bursts that are answered in order."""
    rows, granted, last = [], 0, 0
    for _ in range(draw(st.integers(0, 5))):
        row = np.zeros(READ_FIELDS, np.int64)
        granted += draw(gaps)
        row[GRANTED], row[ACCEPTED] = granted, granted + draw(gaps)
        row[BEATS] = draw(st.integers(1, 3))
        row[FIRST] = max(int(row[ACCEPTED]), last) + draw(gaps)
        last = int(row[FIRST]) + (int(row[BEATS]) - 1) * INTERVAL
        rows.append(row)
    return np.array(rows, np.int64).reshape(-1, READ_FIELDS)


@st.composite
def writes(draw: st.DrawFn) -> tuple[Ints, list[int]]:
    """Orders that end in order, and the cycles of their beats."""
    rows, beats, taken, done = [], [], 0, 0
    for _ in range(draw(st.integers(0, 5))):
        row = np.full(WRITE_FIELDS, -1, np.int64)
        taken += draw(gaps)
        row[TAKEN] = taken
        if draw(st.booleans()):
            row[ISSUED] = taken + draw(gaps)
            beats.append(int(row[ISSUED]) + draw(gaps))
            row[ANSWERED] = beats[-1] + draw(gaps)
        done = max(done + 1, int(row[ANSWERED]) + 1, taken + 1)
        row[DONE] = done
        rows.append(row)
    return np.array(rows, np.int64).reshape(-1, WRITE_FIELDS), beats


@given(reads(), writes(), st.integers(1, 12))
def test_every_cycle(asked: Ints, orders: tuple[Ints, list[int]], limit: int) -> None:
    table, beats = orders
    owed, moves = set[int](), set[int](beats)
    for row in asked:
        last = int(row[FIRST]) + (int(row[BEATS]) - 1) * INTERVAL
        owed |= set(range(int(row[GRANTED]) + 1, last + 1))
        moves |= {int(row[ACCEPTED]), *range(int(row[FIRST]), last + 1, INTERVAL)}
    for row in table:
        owed |= set(range(int(row[TAKEN]) + 1, int(row[DONE]) + 1))
        moves |= {int(row[DONE]), int(row[ISSUED]), int(row[ANSWERED])}
    silent = owed - moves
    wanted = [at for at in sorted(silent) if all(at + more in silent for more in range(limit))]
    sent = np.array(beats, np.int64)
    assert first_silence(asked, table, sent, limit, INTERVAL) == (wanted[0] if wanted else -1)


def test_there_is_room_for_all_of_a_program() -> None:
    """Rows that begin and end inside beats take two more than they fill."""
    drawn = random_program(TINY, 7, 40)
    sizes = np.array([TINY.element_bytes(memory) for memory in MemoryId], np.int64)
    columns = drawn.program.columns()
    log = make_log(columns, TINY)
    rows = columns.y_size * (columns.x_size * sizes[columns.memory_type] // TINY.bus_bytes + 2)
    stores = int(rows[columns.opcode == Opcode.STORE].sum())
    assert len(log.beats) >= stores
    assert len(log.reads) >= int(rows[columns.opcode == Opcode.LOAD].sum())
