"""Tracks: one kind of work each, no two slices at once."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.isa import AluOp, Assembler, MemoryId, Unit
from tandem.sim.events import Event, EventKind
from tandem.sim.trace.tracks import Slice, Track, fetch_slices, number_of, place_slices, title_of
from tests.support.sim.timelines import traced_run


def test_each_kind_of_work_has_its_track() -> None:
    asm = Assembler(HardwareConfig(features=frozenset(Feature)))
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.PAR, sram=0, dram=0, columns=1)
    asm.requantise(0)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=1)
    asm.gemm(uops=(0, 1))
    asm.gemm(uops=(0, 1), reset=True)
    asm.alu(AluOp.MAX, uops=(0, 1), imm=0)
    asm.store(sram=0, dram=0, columns=1)
    asm.finish()
    program = asm.build()
    events: list[Event] = []
    for at, number in enumerate(program.units().tolist()):
        for kind, cycle in ((EventKind.START, 2 * at), (EventKind.END, 2 * at + 1)):
            events.append(Event(cycle, Unit(number), at, kind))
    assert [each.track for each in place_slices(tuple(events), program)] == [
        Track.LOAD,
        Track.LOAD,
        Track.REQUANTISE,
        Track.COMPUTE_LOADS,
        Track.COMPUTE_LOADS,
        Track.GEMM,
        Track.GEMM,
        Track.ALU,
        Track.STORE,
        Track.FINISH,
    ]


def test_slices_at_once_are_on_tracks_of_their_own() -> None:
    run = traced_run()
    stores = [
        item for item in place_slices(run.result.events, run.program) if item.track is Track.STORE
    ]
    assert [title_of(item.number) for item in stores] == ["store", "store (2)"]


def test_a_slice_has_a_width() -> None:
    run = traced_run()
    (alu,) = [
        item for item in place_slices(run.result.events, run.program) if item.track is Track.ALU
    ]
    assert (alu.start, alu.end) == (6, 7)


def test_fetch_shows_what_waits_to_be_dealt() -> None:
    assert list(fetch_slices(traced_run().result.events)) == [
        Slice(at, Track.FETCH, number_of(Track.FETCH), start, end)
        for at, (start, end) in enumerate([(1, 2), (2, 3), (5, 6), (6, 7), (7, 8), (8, 11)])
    ]


def test_titles_differ() -> None:
    titles = {title_of(number_of(track, lane)) for track in Track for lane in range(3)}
    assert len(titles) == 3 * len(Track)
