"""The array of details has a place of its own for each."""

from __future__ import annotations

import numpy as np

from tandem.hw.faults import Fault
from tandem.sim.semantics import detail


def test_places_are_distinct_and_inside() -> None:
    places = [
        *(detail.POSITION, detail.MEMORY, detail.INDEX, detail.VALUE),
        *(detail.FIRST_BYTE, detail.END_BYTE),
    ]
    made = detail.make_detail()
    assert sorted(places) == list(range(len(made)))
    # What micro-ops leave lies before what transfers leave: `cycle.faults` copies it as one.
    assert max(places[:4]) < detail.FIRST_BYTE < detail.END_BYTE
    assert made.dtype == np.int64
    assert not made.any()
    assert made is not detail.make_detail()


def test_codes_are_those_of_the_machine() -> None:
    names = ("NONE", "SHIFT", "SRAM_INDEX", "BUS_READ", "BUS_WRITE")
    assert [getattr(detail, name) for name in names] == [int(Fault[name]) for name in names]
    assert detail.NONE == 0
