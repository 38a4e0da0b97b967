"""Two engines as one: both run, results are the first's, and failures are compared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, MemoryId, Program
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.compare import Comparison
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.engine_pair import EnginePair
from tandem.sim.engines import make_pair
from tandem.sim.errors import BusError, CycleLimitError, EngineError, EnginesDifferError
from tandem.sim.functional.engine import FunctionalEngine
from tandem.sim.result import Result
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

TINY = load_config("tiny")
DRAWN = random_program(TINY, 1, 30)


@dataclass
class Failing(CycleEngine):
    """A cycle engine that fails at a launch."""

    error: Exception
    launches: int = field(default=0)

    def __post_init__(self) -> None:
        super().__init__(TINY)

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        self.launches += 1
        raise self.error


def _launch(*engines: Engine, **how: object) -> tuple[Result, Bytes, Comparison]:
    found: list[Comparison] = []
    first, second = engines
    pair = EnginePair(first, second, found.append)
    result, memory = launch(pair, DRAWN.program, DRAWN.image, **how)
    pair.close()
    (comparison,) = found
    return result, memory, comparison


def test_results_are_those_of_the_first_engine() -> None:
    slow = CycleEngine(TINY, MEMORY_PRESETS["edge"])
    alone, after = launch(slow, DRAWN.program, DRAWN.image, events=True)
    result, memory, comparison = _launch(slow, CycleEngine(TINY))
    assert (result.cycles, result.events) == (alone.cycles, alone.events)
    np.testing.assert_array_equal(memory, after)
    assert not comparison.equal


def test_equal_engines() -> None:
    _, _, comparison = _launch(CycleEngine(TINY), CycleEngine(TINY))
    assert (comparison.equal, comparison.has_time) == (True, True)
    _, _, comparison = _launch(FunctionalEngine(TINY), CycleEngine(TINY))
    assert (comparison.equal, comparison.has_time) == (True, False)


def test_the_second_launch_finds_what_the_first_left() -> None:
    found: list[Comparison] = []
    pair = make_pair(("cycle", "functional"), TINY, MEMORY_PRESETS["fast"], found.append)
    for _ in range(2):
        launch(pair, DRAWN.program, DRAWN.image)
    assert [comparison.equal for comparison in found] == [True, True]


def test_of_one_configuration() -> None:
    with pytest.raises(EngineError, match="cycle and cycle are of different configurations"):
        _launch(CycleEngine(TINY), CycleEngine(load_config("small8")))


SHIFT = ProgramError(Fault.SHIFT, 3, "shifts by 99")
READ = BusError(4, write=False, message="refused")


def test_the_same_failure_is_the_first_engines() -> None:
    other = ProgramError(Fault.SHIFT, 3, "shifts too far")
    with pytest.raises(ProgramError, match="shifts by 99"):
        _launch(Failing(SHIFT), Failing(other))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (Failing(SHIFT), CycleEngine(TINY), r"cycle: instruction 3: .*; cycle: done after [\d,]+"),
        (CycleEngine(TINY), Failing(READ), r"cycle: done after [\d,]+ cycles; cycle: refused"),
        (Failing(SHIFT), Failing(READ), "instruction 3: shifts by 99 .*; cycle: refused"),
        (FunctionalEngine(TINY), Failing(READ), "functional: done; cycle: refused"),
    ],
)
def test_other_failures_are_a_difference(first: Engine, second: Engine, message: str) -> None:
    with pytest.raises(EnginesDifferError, match=message):
        _launch(first, second)


def test_both_engines_run_even_if_the_first_fails() -> None:
    second = Failing(SHIFT)
    with pytest.raises(ProgramError):
        _launch(Failing(SHIFT), second)
    assert second.launches == 1


def test_without_time_limits_and_the_order_of_faults_are_not_compared() -> None:
    with pytest.raises(CycleLimitError):
        _launch(FunctionalEngine(TINY), CycleEngine(TINY), max_cycles=60)
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=1)
    asm.alu(AluOp.SHR, (0, 1))
    asm.load(MemoryId.INP, sram=0, dram=1 << 20, columns=1)
    asm.finish()
    pair = EnginePair(FunctionalEngine(TINY), CycleEngine(TINY), lambda comparison: None)
    with pytest.raises((ProgramError, BusError)):
        launch(pair, asm.build(), np.full(4096, 0x40, np.uint8))


def test_engine_errors_pass() -> None:
    with pytest.raises(EngineError, match="no engine but cycle runs a program without its data"):
        _launch(CycleEngine(TINY), FunctionalEngine(TINY), data=False)
