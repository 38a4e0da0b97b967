"""How runs end in which a token queue gets more tokens than it holds, in all."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import Assembler, Program, Unit
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.hw.topology import MAX_TOKENS, TokenQueue
from tandem.sim.cycle.engine import CycleEngine
from tests.support.sim.launching import launch

TINY = load_config("tiny")


def pushes(producer: Unit, consumer: Unit, count: int, *, popped: bool) -> Program:
    """A nop of the consumer, then tokens from one unit to another: each is popped as it comes, or
    the consumer waits before its first pop for a token of the store unit, which never comes."""
    asm = Assembler(TINY)
    asm.nop(consumer, waits_for=[] if popped else Unit.STORE)
    asm.nop(producer, signals=consumer)
    asm.nop(consumer, waits_for=producer)
    asm.finish()
    first, push, pop, finish = (
        asm.build().data[at : at + INSTRUCTION_BYTES]
        for at in range(0, 4 * INSTRUCTION_BYTES, INSTRUCTION_BYTES)
    )
    tokens = (push + pop) * count if popped else push * count + pop * count
    return Program(TINY, first + tokens + finish)


def test_tokens_that_are_popped_in_time_overflow_nothing() -> None:
    """More of them than a queue holds."""
    program = pushes(Unit.COMPUTE, Unit.STORE, MAX_TOKENS + 3, popped=True)
    result, _ = launch(CycleEngine(TINY, DEFAULT_MEMORY), program, validate=False, data=False)
    assert result.cycles is not None


@pytest.mark.parametrize("more", [1, 4])
def test_the_first_token_too_many_is_a_fault_of_the_instruction_that_pushes_it(more: int) -> None:
    """The consumer waits for another unit for ever."""
    program = pushes(Unit.LOAD, Unit.COMPUTE, MAX_TOKENS + more, popped=False)
    with pytest.raises(ProgramError) as caught:
        launch(CycleEngine(TINY, DEFAULT_MEMORY), program, validate=False, data=False)
    # One nop of the consumer, then as many pushes as the queue holds.
    assert (caught.value.fault, caught.value.instruction) == (Fault.TOKEN_OVERFLOW, MAX_TOKENS + 1)


def test_the_token_too_many_may_come_after_one_that_was_just_in_time() -> None:
    """One token is popped before the consumer waits for ever: overflow comes one push later."""
    asm = Assembler(TINY)
    asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    asm.finish()
    early, never, push, pop, finish = (
        asm.build().data[at : at + INSTRUCTION_BYTES]
        for at in range(0, 5 * INSTRUCTION_BYTES, INSTRUCTION_BYTES)
    )
    count = MAX_TOKENS + 2
    program = Program(TINY, early + never + push * count + pop * (count - 1) + finish)
    with pytest.raises(ProgramError) as caught:
        launch(CycleEngine(TINY, DEFAULT_MEMORY), program, validate=False, data=False)
    assert (caught.value.fault, caught.value.instruction) == (Fault.TOKEN_OVERFLOW, count + 1)


def test_a_run_without_values_names_what_each_unit_waits_for() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=(Unit.LOAD, Unit.STORE))
    asm.nop(Unit.STORE, signals=Unit.COMPUTE)
    asm.finish()
    with pytest.raises(DeadlockError) as caught:
        launch(CycleEngine(TINY, DEFAULT_MEMORY), asm.build(), validate=False, data=False)
    assert caught.value.waits == (
        UnitWait(Unit.LOAD, 0, (TokenQueue.COMPUTE_TO_LOAD,)),
        UnitWait(Unit.COMPUTE, 1, (TokenQueue.LOAD_TO_COMPUTE,)),
        UnitWait(Unit.STORE, None, ()),
    )


def test_a_run_without_values_counts_the_tokens_that_are_left() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.finish()
    with pytest.raises(ProgramError, match="2 in load->compute") as caught:
        launch(CycleEngine(TINY, DEFAULT_MEMORY), asm.build(), validate=False, data=False)
    assert caught.value.fault is Fault.TOKENS_LEFT


def test_a_deadlock_hides_an_instruction_that_is_never_dispatched() -> None:
    """Behind a full queue: dispatch would refuse it."""
    asm = Assembler(TINY)
    for _ in range(TINY.instruction_queue + 1):
        asm.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
    wrong = bytes([7]) + bytes(INSTRUCTION_BYTES - 1)
    program = Program(TINY, asm.build().data + wrong)
    with pytest.raises(DeadlockError, match="load waits at instruction 0"):
        launch(CycleEngine(TINY, DEFAULT_MEMORY), program, validate=False, data=False)
