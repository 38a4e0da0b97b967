"""`sim.preflight`: what no engine runs."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ProgramError
from tandem.hw.isa import Finish, Program
from tandem.sim.engine import Launch
from tandem.sim.errors import EngineError, MemoryImageError
from tandem.sim.preflight import preflight

CONFIG = HardwareConfig()
PROGRAM = Program.from_instructions(CONFIG, [Finish()])
ILLEGAL = Program.from_instructions(CONFIG, [Finish(), Finish()])


def test_the_program_is_in_memory_afterwards() -> None:
    memory = np.zeros(64, dtype=np.uint8)
    preflight(CONFIG.replace(name="another"), PROGRAM, memory, Launch(address=32))
    assert memory.tobytes() == bytes(32) + PROGRAM.data + bytes(16)


def test_refusals_leave_memory_alone() -> None:
    memory = np.zeros(32, dtype=np.uint8)
    other = CONFIG.replace(name="wide", bus_bits=128)
    with pytest.raises(EngineError, match=r"is for configuration pynq, this engine .* for wide"):
        preflight(other, PROGRAM, memory, Launch(address=0))
    with pytest.raises(EngineError, match="base register of WGT is 1"):
        preflight(CONFIG, PROGRAM, memory, Launch(address=0, bases=(0, 1, 0, 0, 0, 0, 0)))
    for limit in (-1, 1 << 24):
        with pytest.raises(EngineError, match=rf"bus_timeout is {limit}: it must lie in 0\.\."):
            preflight(CONFIG, PROGRAM, memory, Launch(address=0, bus_timeout=limit))
    with pytest.raises(ProgramError, match="instruction 1"):
        preflight(CONFIG, ILLEGAL, memory, Launch(address=0))
    with pytest.raises(MemoryImageError, match="memory ends at 0x20"):
        preflight(CONFIG, PROGRAM, memory, Launch(address=32))
    assert not memory.any()


def test_an_illegal_program_may_be_wanted() -> None:
    memory = np.zeros(32, dtype=np.uint8)
    preflight(CONFIG, ILLEGAL, memory, Launch(address=0, validate=False))
    assert memory.tobytes() == ILLEGAL.data
