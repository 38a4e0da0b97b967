"""Every reason to stop, by every engine: the same fault at the same instruction.

The validator sees it before the run; without the validator the run itself does, and on the RTL
that means the error registers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import MemoryId, validate
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.engine import Engine, Launch, Stalls
from tandem.sim.engines import make_engine
from tandem.sim.errors import BusError
from tandem.sim.memory import place_program
from tests.support.sim.faulty import Case, cases, cases_of_every_bit, image

TINY = load_config("tiny")
EXTENDED = load_config("tiny-w")
CASES = [*cases(TINY), *cases(EXTENDED)]
CASES_OF_EVERY_BIT = [*cases_of_every_bit(TINY), *cases_of_every_bit(EXTENDED)]
QUICK = [case for case in CASES_OF_EVERY_BIT if case.fault is not Fault.FEATURE]


def name_of(case: Case) -> str:
    return f"{case.program.config.name}-{case.name}"


@pytest.fixture(scope="module", params=["functional", "cycle", "rtl"])
def engines(request: pytest.FixtureRequest) -> Iterator[dict[str, Engine]]:
    """By configuration, one machine for all cases: each must leave it usable for the next."""
    machines = {
        config.name: make_engine(request.param, config, MEMORY_PRESETS["fast"])
        for config in (TINY, EXTENDED)
    }
    yield machines
    for machine in machines.values():
        machine.close()


def test_no_fault_is_forgotten() -> None:
    """A memory that does not answer is in `test_bus_timeout.py`."""
    for config in (TINY, EXTENDED):
        found = {case.fault for case in cases(config)}
        impossible = {Fault.NONE, Fault.BUS_TIMEOUT}
        if len(config.memories) == len(MemoryId):
            impossible |= {Fault.MEMORY_ID}  # no id is unknown
        assert found == set(Fault) - impossible


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_validator_sees_it_before_the_run(case: Case) -> None:
    if not case.seen_by_validator:
        validate(case.program)
        return
    with pytest.raises(ProgramError) as caught:
        validate(case.program)
    assert (caught.value.fault, caught.value.instruction) == (case.fault, case.instruction)


@pytest.mark.parametrize("case", QUICK, ids=name_of)
def test_the_run_stops_with_every_bit(engines: dict[str, Engine], case: Case) -> None:
    _stops(engines, case, None)


@pytest.mark.exhaustive
def test_the_run_stops_with_every_bit_of_every_machine(engines: dict[str, Engine]) -> None:
    for case in CASES_OF_EVERY_BIT:
        print(name_of(case))
        _stops(engines, case, None)


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_run_stops_with_it(engines: dict[str, Engine], case: Case) -> None:
    _stops(engines, case, None)


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_run_stops_with_it_at_any_pace(engines: dict[str, Engine], case: Case) -> None:
    if engines[case.program.config.name].name == "rtl":
        _stops(engines, case, Stalls(0.3, seed=7))


def _stops(engines: dict[str, Engine], case: Case, stalls: Stalls | None) -> None:
    engine = engines[case.program.config.name]
    memory, address = place_program(image(), case.program)
    how = Launch(
        address=address,
        validate=False,
        bus_errors=case.bus_errors,
        stalls=stalls,
        max_cycles=10_000_000,
    )
    with pytest.raises((ProgramError, BusError)) as caught:
        engine.launch(case.program, memory, how)
    error = caught.value
    assert "\n" not in str(error)
    match error:
        case ProgramError():
            assert (error.fault, error.instruction) == (case.fault, case.instruction)
        case BusError():
            assert error.write == (case.fault is Fault.BUS_WRITE)
            assert error.instruction == case.instruction
