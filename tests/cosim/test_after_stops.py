"""What memory holds after a run that was stopped, and that the machine then works again.

docs/timing.md, "Stopping": STOREs that were under way may have written some of their elements, or
all; nothing but a STORE of the program writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.encoding import Opcode
from tandem.hw.errors import ProgramError
from tandem.hw.isa import Program
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.hw.topology import MemoryId
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.errors import BusError, CycleLimitError
from tandem.sim.memory import place_program
from tests.support.sim.faulty import Case, cases, image
from tests.support.sim.programs import RandomProgram, random_program

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY = load_config("tiny")
SEEDS = range(8100, 8106)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One machine for all tests: each stop must leave it usable."""
    machine = make_engine("rtl", TINY, MEMORY_PRESETS["ddr"])
    yield machine
    machine.close()


def stored(program: Program, size: int) -> npt.NDArray[np.bool_]:
    """The bytes of memory that a STORE of the program writes."""
    columns = program.columns()
    element = TINY.element_bytes(MemoryId.OUT)
    found = np.zeros(size, bool)
    for at in np.flatnonzero(columns.opcode == Opcode.STORE):
        for row in range(int(columns.y_size[at])):
            first = int(columns.dram_base[at]) + row * int(columns.x_stride[at])
            found[first * element : (first + int(columns.x_size[at])) * element] = True
    return found


def stops(
    engine: Engine,
    program: Program,
    before: npt.NDArray[np.uint8],
    how: Launch,
    errors: tuple[type[Exception], ...],
) -> None:
    """The run ends with one of `errors`; then what no STORE writes is as it was."""
    memory, address = place_program(before, program)
    with pytest.raises(errors):
        engine.launch(program, memory, replace(how, address=address))
    kept = ~stored(program, len(before))
    np.testing.assert_array_equal(memory[: len(before)][kept], before[kept])


def works(engine: Engine, drawn: RandomProgram) -> int:
    """A run to the end has the right result; returns its cycles."""
    memory, address = place_program(drawn.image, drawn.program)
    result = engine.launch(drawn.program, memory, Launch(address=address, max_cycles=1_000_000))
    np.testing.assert_array_equal(memory[: len(drawn.image)], drawn.expected)
    assert result.cycles is not None
    return result.cycles


@pytest.mark.parametrize("seed", SEEDS)
def test_after_too_many_cycles(engine: Engine, seed: int) -> None:
    drawn = random_program(TINY, seed, 40)
    cycles = works(engine, drawn)
    for limit in (1, cycles // 7, cycles // 2, cycles - 3):
        how = Launch(address=0, max_cycles=limit)
        stops(engine, drawn.program, drawn.image, how, (CycleLimitError,))
        assert works(engine, drawn) == cycles, f"seed {seed}, after {limit} cycles"


@pytest.mark.parametrize("seed", SEEDS)
def test_after_an_error_of_the_bus(engine: Engine, seed: int) -> None:
    drawn = random_program(TINY, seed, 40)
    cycles = works(engine, drawn)
    written = np.flatnonzero(stored(drawn.program, len(drawn.image)))
    for address in (written[0], written[len(written) // 2], written[-1]):
        page = int(address) // 64 * 64
        how = Launch(address=0, bus_errors=((page, page + 64),), max_cycles=1_000_000)
        stops(engine, drawn.program, drawn.image, how, (BusError,))
        assert works(engine, drawn) == cycles, f"seed {seed}, error at {page}"


@pytest.mark.parametrize("case", cases(TINY), ids=lambda case: case.name)
def test_after_a_fault(engine: Engine, case: Case) -> None:
    """Every fault, deadlock and tokens that are left among them."""
    how = Launch(address=0, validate=False, bus_errors=case.bus_errors, max_cycles=10_000_000)
    stops(engine, case.program, image(), how, (ProgramError, BusError))
    works(engine, random_program(TINY, 8100, 40))
