"""One call from a program to what it leaves in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId
from tandem.hw.topology import Unit
from tandem.runtime.launch import run_program
from tandem.sim.errors import EngineError, MemoryImageError

TINY = load_config("tiny")
LANES = TINY.acc_lanes


def program() -> Assembler:
    """The low bytes of four accumulators, from address 0 to address 1024."""
    asm = Assembler(TINY)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=4, signals=Unit.STORE)
    asm.store(sram=0, dram=1024 // LANES, columns=4, waits_for=Unit.COMPUTE)
    asm.finish()
    return asm


@pytest.mark.parametrize("engine", ["functional", "pysim"])
def test_it_runs_above_a_copy_of_the_image(engine: str) -> None:
    image = np.zeros(2048, dtype=np.uint8)
    image[: 16 * LANES].view(np.int32)[:] = np.arange(4 * LANES)
    before = image.copy()
    memory, result = run_program(program().build(), image, engine=engine)
    np.testing.assert_array_equal(image, before)
    np.testing.assert_array_equal(memory[1024 : 1024 + 4 * LANES], np.arange(4 * LANES))
    assert result.engine == engine
    assert (result.cycles is None) == (engine == "functional")


def test_what_it_refuses() -> None:
    with pytest.raises(EngineError, match="nothing"):
        run_program(program().build(), np.zeros(2048, np.uint8), engine="nothing")
    with pytest.raises(MemoryImageError, match="empty"):
        run_program(program().build(), np.zeros(0, np.uint8))
