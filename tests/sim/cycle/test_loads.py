"""When the elements of LOADs are written (rule 5), by hand, burst by burst."""

from __future__ import annotations

import numpy as np

from tandem.hw.codings import Coding
from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId
from tandem.hw.isa.columns import InstructionFields
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle import loads
from tandem.sim.cycle.machine import Machine, make_machine
from tandem.sim.cycle.reads import LOAD, USED, Reads, make_reads
from tests.support.sim.rows import load_row

TINY = load_config("tiny-w")
"""Beats of 8 bytes; elements of INP have 4, of WGT 16."""
PADS = {"y_pad_0": 1, "y_pad_1": 3, "x_pad_0": 2, "x_pad_1": 1}


class Dma:
    """The load DMA, with what has been used of its buffer."""

    def __init__(self, row: InstructionFields, *, interval: int = 1, steps: int = 1) -> None:
        self.machine: Machine = make_machine(TINY, MemoryModel(8, interval, 16))._replace(
            slow_steps=steps
        )
        self.reads: Reads = make_reads(self.machine)
        self.row = row
        self.state = make_state()

    def begin(self, size: int, address: int, now: int) -> None:
        loads.begin(self.machine, self.state, self.row, size, address, now)

    def burst(self, first: int, beats: int, stride: int = 0) -> list[int]:
        """The cycles in which the beats of a burst are used."""
        client = self.reads.clients[LOAD]
        before, size = int(client[USED]), self.reads.used_mask + 1
        loads.take_burst(
            *(self.machine, self.reads, LOAD, self.state, self.row, stride, first, beats)
        )
        assert client[USED] == before + beats
        return [int(self.reads.used[LOAD, (before + n) % size]) for n in range(beats)]

    def end(self) -> int:
        return loads.end(self.state, self.row)

    @property
    def written(self) -> int:
        return int(self.state[loads.WRITTEN])

    @property
    def writes(self) -> int:
        return int(self.state[loads.WRITES])


def make_state() -> loads.Ints:
    """What the LOAD before has left."""
    return np.full(loads.FIELDS, 77, np.int64)


def test_padding_in_front_is_written_from_two_cycles_after_the_start() -> None:
    dma = Dma(load_row(TINY, MemoryId.INP, x_size=3, **PADS))
    dma.begin(4, 0x1234 + 5, 10)
    # A row of 2 + 3 + 1 is written in 12 to 17; the write before would have been in 11.
    assert (dma.written, dma.writes) == (17, 6)
    state = dma.state
    assert state[loads.ELEMENT] == 4
    assert (state[loads.ROW], state[loads.COLUMNS], state[loads.BANKS]) == (0, 3, 0)
    # 0x1239 is a byte behind a beat's begin.
    assert (state[loads.FIRST], state[loads.STEPS]) == (1, 1)


def test_elements_narrower_than_a_beat() -> None:
    row = load_row(TINY, MemoryId.INP, x_size=3, y_size=2, x_stride=4, **PADS)
    dma = Dma(row)
    dma.begin(4, 4, 10)
    # Padding is written in 12 to 19: two more in front of the row. The first beat, of an element,
    # arrives in 30, the second, of two, in 31.
    assert dma.burst(30, 2, 16) == [31, 33]
    assert (dma.written, dma.writes) == (33, 6 + 2 + 3)
    # A row later again one, then two, between 1 + 2 of padding; beats have waited: 37, then 38, 39.
    assert dma.burst(31, 1, 16) == [37]
    assert dma.state[loads.COLUMNS] == 1
    assert dma.burst(32, 1, 16) == [39]
    assert (dma.written, dma.writes) == (39, 17)
    # 1 of padding behind the row, and three rows of 6.
    assert dma.end() == 39 + 1 + 18
    assert dma.writes == 36


def test_a_row_begins_where_its_address_says() -> None:
    """Strides of 12 bytes: every second row begins in the middle of a beat."""
    dma = Dma(load_row(TINY, MemoryId.INP, x_size=3, y_size=3, x_stride=3), interval=5)
    dma.begin(4, 4, 0)
    assert dma.burst(10, 2, 12) == [11, 17]
    # 16 to 28: two elements, and one.
    assert dma.burst(20, 2, 12) == [22, 26]
    assert dma.burst(30, 2, 12) == [31, 37]
    assert (dma.end(), dma.writes) == (37, 9)


def test_elements_of_several_beats() -> None:
    dma = Dma(load_row(TINY, MemoryId.WGT, x_size=3, y_size=2, x_pad_0=1, x_pad_1=4), interval=3)
    dma.begin(16, 0, 10)
    # Three elements are 6 beats, in two bursts, of which the first ends within the second element.
    assert dma.burst(5, 3) == [13, 14, 15]
    assert (dma.state[loads.BANKS], dma.state[loads.COLUMNS]) == (1, 1)
    assert (dma.written, dma.writes) == (15, 4)
    assert dma.burst(20, 3) == [21, 24, 27]
    assert (dma.state[loads.BANKS], dma.state[loads.COLUMNS]) == (0, 3)
    # The second row is behind 4 + 1 elements of padding.
    assert dma.burst(28, 6) == [33, 34, 35, 38, 41, 44]
    assert (dma.end(), dma.writes) == (44 + 4, 1 + 6 + 5 + 6 + 4)


def test_the_places_of_the_buffer_are_a_ring() -> None:
    dma = Dma(load_row(TINY, MemoryId.WGT, x_size=4), interval=2)
    assert dma.reads.used_mask == 15
    dma.reads.clients[LOAD, USED] = 14
    dma.begin(16, 0, 0)
    # Two before and six behind the end.
    assert dma.burst(1, 8) == [2, 4, 6, 8, 10, 12, 14, 16]
    assert dma.reads.used[LOAD, [13, 14, 15, 0, 5, 6]].tolist() == [0, 2, 4, 6, 16, 0]
    assert (dma.written, dma.writes) == (16, 8)
    # Beats that have waited are used one a cycle, across the end as well.
    late = Dma(load_row(TINY, MemoryId.WGT, x_size=4, x_pad_0=15))
    late.reads.clients[LOAD, USED] = 13
    late.begin(16, 0, 36)
    assert late.burst(1, 8) == list(range(53, 61))
    narrow = Dma(load_row(TINY, MemoryId.INP, x_size=6))
    narrow.reads.clients[LOAD, USED] = 15
    narrow.begin(4, 0, 0)
    assert narrow.burst(1, 3) == [3, 5, 7]
    assert narrow.reads.used[LOAD, [15, 0, 1]].tolist() == [3, 5, 7]


def test_codes_of_one_bit_take_steps() -> None:
    """Of elements of 8 bytes of codes, two cycles a beat."""
    row = load_row(TINY, MemoryId.WGT_CODES, x_size=2, coding=Coding.BITS_1, x_pad_0=1)
    dma = Dma(row, steps=2, interval=5)
    dma.reads.clients[LOAD, USED] = 15
    dma.begin(8, 0, 0)
    assert dma.state[loads.STEPS] == 2
    # After the padding, in 2: cycles 3 and 4, and when the next is there, 8 and 9.
    assert dma.burst(1, 2) == [4, 8]
    assert (dma.state[loads.COLUMNS], dma.state[loads.BANKS]) == (2, 0)
    assert (dma.written, dma.writes) == (8, 1 + 4)
    two = Dma(row, steps=2)
    two.begin(16, 0, 0)
    assert two.burst(9, 3) == [11, 13, 15]
    assert (two.state[loads.COLUMNS], two.state[loads.BANKS]) == (1, 1)


def test_other_codes_and_memories_take_a_cycle_a_beat() -> None:
    for memory, coding in (
        (MemoryId.WGT_CODES, Coding.BITS_2),
        (MemoryId.WGT_CODES, Coding.BITS_4_SCALED),
        (MemoryId.WGT, Coding.BITS_1),
    ):
        dma = Dma(load_row(TINY, memory, coding=coding), steps=2)
        dma.begin(8, 0, 0)
        assert dma.state[loads.STEPS] == 1


def test_each_field_has_a_place_of_its_own() -> None:
    names = "INSTRUCTION WRITTEN ELEMENT ROW COLUMNS PLACE BANKS FIRST STEP WRITES STEPS".split()
    assert [getattr(loads, name) for name in names] == list(range(loads.FIELDS))
