"""Bits of the `events` port."""

from __future__ import annotations

from tandem.hw.events import EVENT_BITS, RUNNING_BIT, FetchEvent, UnitEvent, fetch_bit, unit_bit
from tandem.hw.topology import Unit


def test_every_bit_has_one_meaning() -> None:
    bits = [unit_bit(unit, event) for unit in Unit for event in UnitEvent]
    bits += [*(fetch_bit(event) for event in FetchEvent), RUNNING_BIT]
    assert bits == list(range(EVENT_BITS))


def test_places_that_logic_analysers_rely_on() -> None:
    assert unit_bit(Unit.LOAD) == 0
    assert unit_bit(Unit.COMPUTE, UnitEvent.END) == 7
    assert unit_bit(Unit.STORE, UnitEvent.PUSH_NEXT) == 17
    assert (fetch_bit(FetchEvent.FETCHED), fetch_bit(FetchEvent.DISPATCHED)) == (18, 19)
    assert (RUNNING_BIT, EVENT_BITS) == (20, 21)
