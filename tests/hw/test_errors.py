"""Errors of programs: their texts, and what they hold."""

from __future__ import annotations

from tandem.hw.errors import DeadlockError, HardwareError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.topology import TokenQueue, Unit


def test_errors_of_programs() -> None:
    error = ProgramError(Fault.SHIFT, 0, "SHR by 32", 3)
    assert str(error) == "instruction 0: SHR by 32 [SHIFT]"
    assert (error.fault, error.instruction, error.micro_op) == (Fault.SHIFT, 0, 3)
    whole = ProgramError(Fault.NO_FINISH, None, "it has no FINISH")
    assert str(whole) == "program: it has no FINISH [NO_FINISH]"
    assert (whole.instruction, whole.micro_op) == (None, None)
    assert isinstance(whole, HardwareError)


def test_what_units_wait_for() -> None:
    idle = UnitWait(Unit.LOAD, None, ())
    at = UnitWait(Unit.COMPUTE, 0, ())
    both = (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE)
    waits = UnitWait(Unit.COMPUTE, 7, both)
    assert str(idle) == "load is idle"
    assert str(at) == "compute is at instruction 0"
    assert str(waits) == (
        "compute waits at instruction 7 for a token load->compute and store->compute"
    )
    error = DeadlockError((idle, waits))
    assert str(error) == f"program: no unit can ever proceed: {idle}; {waits} [DEADLOCK]"
    assert (error.waits, error.fault, error.instruction) == (
        (idle, waits),
        Fault.DEADLOCK,
        None,
    )
