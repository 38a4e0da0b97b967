"""What errors of the simulators keep beside their text, and which of them are one another."""

from __future__ import annotations

import inspect

from tandem.base.errors import Error
from tandem.sim import errors
from tandem.sim.errors import (
    BusError,
    BusTimeoutError,
    CycleLimitError,
    EngineError,
    NeedsDataError,
    SimulationError,
)


def test_all_have_one_root() -> None:
    own = [each for _, each in inspect.getmembers(errors, inspect.isclass) if each is not Error]
    assert len(own) > 8
    assert all(issubclass(each, SimulationError) for each in own)
    assert issubclass(SimulationError, Error)
    assert issubclass(NeedsDataError, EngineError)


def test_what_they_keep() -> None:
    limit = CycleLimitError(7, "too long")
    assert (str(limit), limit.max_cycles) == ("too long", 7)
    bus = BusError(3, write=True, message="refused")
    assert (str(bus), bus.instruction, bus.write) == ("refused", 3, True)
    late = BusTimeoutError(None, 64, "late")
    assert (str(late), late.instruction, late.address) == ("late", None, 64)
