"""The bits of the accelerator's `events` port, which traces the events of the previous cycle.

From the lowest bit up: the bits of `UnitEvent` for load, for compute and for store, the bits of
`FetchEvent`, and one bit that is set while a program runs. The RTL, the decoder `sim.rtl.events`
and the C++ harness take the layout from here.
"""

from __future__ import annotations

from enum import IntEnum

from tandem.hw.topology import Unit


class UnitEvent(IntEnum):
    """Events of a unit's instructions in a cycle; values are offsets in the unit's bits."""

    START = 0
    END = 1
    POP_PREV = 2
    POP_NEXT = 3
    PUSH_PREV = 4
    PUSH_NEXT = 5


class FetchEvent(IntEnum):
    """Events of fetch in a cycle; values are offsets from the first bit above the units' bits."""

    FETCHED = 0
    """An instruction was fetched and can be dispatched."""
    DISPATCHED = 1
    """An instruction entered its unit's queue."""


RUNNING_BIT = len(UnitEvent) * len(Unit) + len(FetchEvent)
"""The bit that is set while a program runs."""
EVENT_BITS = RUNNING_BIT + 1
"""Width of the port."""


def unit_bit(unit: Unit, event: UnitEvent = UnitEvent.START) -> int:
    """The bit of one event of `unit`; the unit's lowest bit by default."""
    return len(UnitEvent) * unit + event


def fetch_bit(event: FetchEvent) -> int:
    """The bit of one event of fetch."""
    return len(UnitEvent) * len(Unit) + event
