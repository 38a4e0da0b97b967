"""What a simulated machine is to C: memory, registers, time, and errors that C cannot carry."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tandem.hw.registers import Status
from tandem.runtime.c_platform import SimulatedPlatform

BYTES = 5 * 4096


class Machine:
    """A machine that notes what it is asked, and fails where it is told to."""

    def __init__(self) -> None:
        self.memory = np.zeros(BYTES, np.uint8)
        self.asked: list[tuple[str, int, int]] = []
        self.failure: Exception | None = None
        self.microseconds = 7

    def read(self, offset: int) -> int:
        if self.failure is not None:
            raise self.failure
        self.asked.append(("read", offset, 0))
        return 0xFFFFFFFF - offset

    def write(self, offset: int, value: int) -> None:
        self.asked.append(("write", offset, value))

    def wait(self, microseconds: int) -> None:
        self.asked.append(("wait", microseconds, 0))

    def close(self) -> None:
        """Nothing."""


def taken(platform: SimulatedPlatform, size: int) -> tuple[int | None, int]:
    """What C gets for memory of a size, from the begin of the machine's; and its address."""
    address = ctypes.c_uint64(99)
    found = platform.platform.memory(None, size, ctypes.byref(address))
    begin = platform._machine.memory.ctypes.data
    return (None if found is None else found - begin), address.value


def test_memory_is_given_in_pages() -> None:
    platform = SimulatedPlatform(Machine())
    assert taken(platform, 4096) == (4096, 4096)
    assert taken(platform, 1) == (8192, 8192)
    assert taken(platform, 4097) == (12288, 12288)
    assert taken(platform, 1) == (None, 99)
    assert platform.next == BYTES
    first = SimulatedPlatform(Machine(), first=64)
    assert taken(first, BYTES - 63) == (None, 99)
    assert taken(first, BYTES - 64) == (64, 64)
    assert first.next == BYTES


def test_registers_time_and_waiting() -> None:
    machine = Machine()
    platform = SimulatedPlatform(machine).platform
    assert platform.read(None, 8) == 0xFFFFFFF7
    platform.write(None, 4, 0xFFFFFFFF)
    platform.wait(None, 30)
    assert machine.asked == [("read", 8, 0), ("write", 4, 0xFFFFFFFF), ("wait", 30, 0)]
    assert platform.time(None) == 7
    platform.flush(None, None, 0)
    platform.invalidate(None, None, 0)


def test_the_runtime_polls_where_there_is_no_interrupt() -> None:
    assert SimulatedPlatform(Machine()).platform.wait
    assert not SimulatedPlatform(Machine(), interrupt=False).platform.wait


def test_an_error_stops_the_machine() -> None:
    machine = Machine()
    platform = SimulatedPlatform(machine)
    platform.check()
    machine.failure = ValueError("broken")
    assert platform.platform.read(None, 8) == Status.ERROR
    machine.failure = None
    machine.asked.clear()
    # From then on nothing is asked, and all time has passed.
    assert platform.platform.read(None, 8) == Status.ERROR
    platform.platform.write(None, 4, 1)
    platform.platform.wait(None, 30)
    assert taken(platform, 1) == (None, 99)
    assert machine.asked == []
    assert platform.platform.time(None) == 0
    with pytest.raises(ValueError, match=r"^broken$"):
        platform.check()
