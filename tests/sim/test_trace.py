"""Timelines: tracks, slices, arrows, and files that are whole or not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hw.config import HardwareConfig
from hw.isa import Assembler, MemoryId, Module, TokenQueue, work_of
from sim.errors import EngineError
from sim.result import Event, EventKind, Result
from sim.trace import timeline

START, END, POP, PUSH = EventKind.START, EventKind.END, EventKind.POP, EventKind.PUSH
TO_STORE = TokenQueue.COMPUTE_TO_STORE


def story() -> tuple[Result, Any]:
    """Two STOREs that overlap, the first one after a token."""
    asm = Assembler(HardwareConfig())
    asm.nop(Module.COMPUTE, signals=Module.STORE)
    asm.store(sram=0, dram=0, columns=1, waits_for=Module.COMPUTE)
    asm.store(sram=0, dram=0, columns=1)
    asm.finish()
    program = asm.build()
    events = (
        Event(0, Module.COMPUTE, 0, START),
        Event(0, Module.COMPUTE, 0, END),
        Event(0, Module.COMPUTE, 0, PUSH, TO_STORE),
        Event(1, Module.COMPUTE, 3, START),
        Event(2, Module.COMPUTE, 3, END),
        Event(3, Module.STORE, 1, POP, TO_STORE),
        Event(3, Module.STORE, 1, START),
        Event(5, Module.STORE, 2, START),
        Event(9, Module.STORE, 1, END),
        Event(11, Module.STORE, 2, END),
    )
    return Result("rtl", 12, {}, work_of(program), events, 0.1), program


def records(kind: str, **wanted: Any) -> list[dict[str, Any]]:
    result, program = story()
    return [
        record
        for record in timeline(result, program)["traceEvents"]
        if record["ph"] == kind and all(record[key] == value for key, value in wanted.items())
    ]


def test_tracks() -> None:
    names = {record["tid"]: record["args"]["name"] for record in records("M", name="thread_name")}
    assert names == {1000: "compute", 2000: "store", 2001: "store (2)"}


def test_slices() -> None:
    slices = [
        (record["name"], record["tid"], record["ts"], record["dur"]) for record in records("X")
    ]
    assert slices == [
        ("LOAD UOP", 1000, 0, 1),
        ("FINISH", 1000, 1, 1),
        ("STORE OUT", 2000, 3, 6),
        ("STORE OUT", 2001, 5, 6),
    ]
    assert records("X", name="FINISH")[0]["args"] == {"instruction": 3, "text": "FINISH"}


def test_arrows() -> None:
    (start,), (finish,) = records("s"), records("f")
    assert (start["tid"], start["ts"], start["name"]) == (1000, 0.5, "compute->store")
    assert (finish["tid"], finish["ts"], finish["id"]) == (2000, 3, start["id"])


def test_slices_of_a_track_do_not_overlap() -> None:
    until: dict[int, int] = {}
    for record in sorted(records("X"), key=lambda record: record["ts"]):
        assert record["ts"] >= until.get(record["tid"], 0)
        until[record["tid"]] = record["ts"] + record["dur"]


def test_what_cannot_be_drawn() -> None:
    result, program = story()
    with pytest.raises(EngineError, match="launch with events=True"):
        timeline(replace(result, events=()), program)
    with pytest.raises(EngineError, match="the functional engine has no time"):
        timeline(replace(result, engine="functional", cycles=None), program)


def test_unfinished_instructions_are_left_out() -> None:
    result, program = story()
    cut = replace(result, events=result.events[:-1])
    drawn = [record for record in timeline(cut, program)["traceEvents"] if record["ph"] == "X"]
    assert [record["args"]["instruction"] for record in drawn] == [0, 3, 1]


def test_empty_slices_have_width() -> None:
    assert all(record["dur"] >= 1 for record in records("X"))
    assert MemoryId.UOP.name in records("X")[0]["name"]
