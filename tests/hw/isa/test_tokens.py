"""Deadlock, tokens left over, and counters that overflow."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import (
    Assembler,
    Finish,
    Instruction,
    MemoryId,
    Program,
    TokenQueue,
    Unit,
    tokens,
    unit_of,
    validate,
)
from tandem.hw.isa.rules import broken_rules, rule_inputs
from tandem.hw.isa.tokens import check_tokens
from tandem.hw.topology import MAX_TOKENS
from tests.support.sim.programs import random_program

TINY = load_config("tiny")
LOAD, COMPUTE, STORE = Unit
NEIGHBOURS = {LOAD: (COMPUTE,), COMPUTE: (LOAD, STORE), STORE: (COMPUTE,)}


def test_deadlock_names_every_unit() -> None:
    asm = Assembler(TINY)
    asm.nop(COMPUTE, waits_for=(LOAD, STORE))
    asm.nop(LOAD, waits_for=COMPUTE, signals=COMPUTE)
    asm.finish()
    with pytest.raises(DeadlockError) as caught:
        validate(asm.build())
    assert caught.value.waits == (
        UnitWait(LOAD, 1, (TokenQueue.COMPUTE_TO_LOAD,)),
        UnitWait(COMPUTE, 0, (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE)),
        UnitWait(STORE, None, ()),
    )
    assert str(caught.value) == (
        "program: no unit can ever proceed: load waits at instruction 1 for a token "
        "compute->load; compute waits at instruction 0 for a token load->compute and "
        "store->compute; store is idle [DEADLOCK]"
    )


def test_deadlock_by_a_full_queue() -> None:
    """The token is behind instructions that wait for it, more of them than a queue holds."""

    def program(waiting: int) -> Program:
        asm = Assembler(TINY)
        for _ in range(waiting):
            asm.nop(COMPUTE, waits_for=LOAD)
        for _ in range(waiting):
            asm.nop(LOAD, signals=COMPUTE)
        asm.finish()
        return asm.build()

    entries = TINY.instruction_queue
    validate(program(entries))
    with pytest.raises(DeadlockError) as caught:
        validate(program(entries + 1))
    assert caught.value.waits[COMPUTE] == UnitWait(COMPUTE, 0, (TokenQueue.LOAD_TO_COMPUTE,))
    assert caught.value.waits[LOAD] == UnitWait(LOAD, None, ())


def test_tokens_left() -> None:
    asm = Assembler(TINY)
    asm.nop(LOAD, signals=COMPUTE)
    asm.nop(LOAD, signals=COMPUTE)
    asm.finish(signals=STORE)
    with pytest.raises(ProgramError) as caught:
        validate(asm.build())
    assert (caught.value.fault, caught.value.instruction) == (Fault.TOKENS_LEFT, None)
    assert str(caught.value) == (
        "program: tokens are left at the end: 2 in load->compute, 1 in compute->store [TOKENS_LEFT]"
    )


def pushes_then_pops(count: int) -> Program:
    """`count` tokens from load to compute, all of them there before the first is popped."""
    push, pop, end = Assembler(TINY), Assembler(TINY), Assembler(TINY)
    push.nop(LOAD, signals=COMPUTE)
    pop.nop(COMPUTE, waits_for=LOAD)
    end.finish()
    words = push.build().data * count + pop.build().data * count + end.build().data
    return Program(TINY, words)


def test_overflow_names_the_instruction_and_the_queue() -> None:
    validate(pushes_then_pops(MAX_TOKENS))
    message = r"^instruction 65535: its token load->compute can be number 65536 .*TOKEN_OVERFLOW"
    with pytest.raises(ProgramError, match=message) as caught:
        validate(pushes_then_pops(MAX_TOKENS + 1))
    assert (caught.value.fault, caught.value.instruction) == (Fault.TOKEN_OVERFLOW, 65535)


def test_no_overflow_where_the_queue_holds_the_producer_back() -> None:
    pair = Assembler(TINY)
    pair.nop(LOAD, signals=COMPUTE)
    pair.nop(COMPUTE, waits_for=LOAD)
    end = Assembler(TINY)
    end.finish()
    validate(Program(TINY, pair.build().data * 70_000 + end.build().data))


def overflowing(asm: Assembler, limit: int) -> int | None:
    """The instruction that pushes some counter past `limit`."""
    error = outcome(asm.build(), limit)
    assert error is None or error.fault is Fault.TOKEN_OVERFLOW
    return None if error is None else error.instruction


def test_overflow_is_at_the_push_itself() -> None:
    asm = Assembler(TINY)
    for push in (False, True, False, True, False):
        asm.nop(LOAD, signals=COMPUTE if push else ())
    asm.nop(COMPUTE, waits_for=LOAD)
    asm.finish(waits_for=LOAD)
    assert overflowing(asm, 1) == 3
    assert overflowing(asm, 2) is None


def test_overflow_while_the_consumer_rests_between_two_instructions() -> None:
    asm = Assembler(TINY)
    asm.nop(LOAD, signals=COMPUTE)
    asm.nop(COMPUTE, signals=LOAD)
    asm.nop(COMPUTE, waits_for=LOAD)
    asm.nop(LOAD, waits_for=COMPUTE, signals=COMPUTE)
    asm.finish(waits_for=LOAD)
    assert overflowing(asm, 1) == 3
    assert overflowing(asm, 2) is None


def test_overflow_that_needs_the_third_unit() -> None:
    asm = Assembler(TINY)
    asm.nop(STORE, signals=COMPUTE)
    asm.nop(COMPUTE, waits_for=STORE, signals=LOAD)
    asm.nop(COMPUTE, signals=LOAD)
    asm.nop(LOAD, waits_for=COMPUTE)
    asm.nop(LOAD, waits_for=COMPUTE)
    asm.finish()
    assert overflowing(asm, 1) == 2
    assert overflowing(asm, 2) is None


# Against every order there is ---------------------------------------------------------------


@st.composite
def nops(draw: st.DrawFn) -> Program:
    """A few empty instructions and a FINISH. Tokens are mostly popped after they were pushed."""
    config = TINY.replace(instruction_queue=2)
    asm = Assembler(config)
    there = dict.fromkeys(((a, b) for a in Unit for b in Unit), 0)
    for _ in range(draw(st.integers(1, 7))):
        unit = draw(st.sampled_from(Unit))
        signals = [other for other in NEIGHBOURS[unit] if draw(st.booleans())]
        waits_for = [
            other
            for other in NEIGHBOURS[unit]
            if draw(st.integers(0, 9)) < (6 if there[other, unit] > 0 else 1)
        ]
        for other in waits_for:
            there[other, unit] -= 1
        for other in signals:
            there[unit, other] += 1
        asm.nop(unit, waits_for=waits_for, signals=signals)
    for unit in Unit:
        for other in NEIGHBOURS[unit]:
            for _ in range(there[other, unit] - draw(st.sampled_from((0, 0, 0, 1)))):
                asm.nop(unit, waits_for=other)
    asm.finish()
    return asm.build()


State = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Instructions dispatched; by unit those started, and those completed."""


class EveryOrder:
    """All states that a program can reach, one small event at a time."""

    def __init__(self, program: Program) -> None:
        self.program = list(program)
        self.depth = program.config.instruction_queue
        self.own = {unit: [one for one in self.program if unit_of(one) is unit] for unit in Unit}
        start: State = (0, (0, 0, 0), (0, 0, 0))
        self.states = {start}
        self.ends: set[State] = set()
        todo = [start]
        while todo:
            state = todo.pop()
            found = list(self.next(state))
            if not found:
                self.ends.add(state)
            todo += [one for one in found if one not in self.states]
            self.states.update(found)

    def next(self, state: State) -> Iterator[State]:
        dispatched, started, completed = state
        issued = [0, 0, 0]
        for one in self.program[:dispatched]:
            issued[unit_of(one)] += 1
        if dispatched < len(self.program):
            unit = unit_of(self.program[dispatched])
            if issued[unit] - started[unit] < self.depth:
                yield dispatched + 1, started, completed
        for unit in Unit:
            if completed[unit] < started[unit]:
                yield dispatched, started, _more(completed, unit)
            elif started[unit] < issued[unit]:
                head = self.own[unit][started[unit]]
                if all(self.count(state, queue) for queue in _pops(unit, head)):
                    yield dispatched, _more(started, unit), completed

    def count(self, state: State, queue: TokenQueue) -> int:
        _, started, completed = state
        pushers = self.own[queue.producer][: completed[queue.producer]]
        poppers = self.own[queue.consumer][: started[queue.consumer]]
        pushed = sum(queue in _pushes(queue.producer, one) for one in pushers)
        return pushed - sum(queue in _pops(queue.consumer, one) for one in poppers)

    def most(self, queue: TokenQueue) -> int:
        return max(self.count(state, queue) for state in self.states)


def _more(counts: tuple[int, ...], unit: Unit) -> tuple[int, ...]:
    return tuple(count + (at == unit) for at, count in enumerate(counts))


def _pops(unit: Unit, one: Instruction) -> set[TokenQueue]:
    flags = (one.tokens.pop_prev, one.tokens.pop_next)
    return _named(queue for queue in _pairs(unit, flags, pops=True))


def _pushes(unit: Unit, one: Instruction) -> set[TokenQueue]:
    flags = (one.tokens.push_prev, one.tokens.push_next)
    return _named(queue for queue in _pairs(unit, flags, pops=False))


def _pairs(unit: Unit, flags: tuple[bool, bool], *, pops: bool) -> Iterator[tuple[int, int]]:
    for flag, other in zip(flags, (unit - 1, unit + 1), strict=True):
        if flag:
            yield (other, unit) if pops else (unit, other)


def _named(ends: Iterator[tuple[int, int]]) -> set[TokenQueue]:
    known = {(queue.producer, queue.consumer): queue for queue in TokenQueue}
    return {known[Unit(producer), Unit(consumer)] for producer, consumer in ends}


@settings(max_examples=80)
@given(program=nops(), limit=st.integers(1, 3))
def test_against_every_order(program: Program, limit: int) -> None:
    orders = EveryOrder(program)
    assert len(orders.ends) == 1, "every order ends in the same state"
    (end,) = orders.ends
    overflows = {queue for queue in TokenQueue if orders.most(queue) > limit}
    left = {queue for queue in TokenQueue if orders.count(end, queue)}
    finished = end[1] == tuple(len(orders.own[unit]) for unit in Unit)
    error = outcome(program, limit)
    named = {queue for queue in TokenQueue if str(queue) in str(error)}
    match error:
        case DeadlockError():
            assert not overflows
            assert not finished
            _check_waits(orders, end, error)
        case ProgramError(fault=Fault.TOKEN_OVERFLOW):
            assert named & overflows
        case ProgramError():
            assert error.fault is Fault.TOKENS_LEFT
            assert not overflows
            assert finished
            assert named == left
        case None:
            assert not overflows
            assert not left
            assert finished


def outcome(program: Program, limit: int) -> ProgramError | None:
    try:
        check_tokens(program.config, program.columns(), limit=limit)
    except ProgramError as error:
        return error
    return None


def _check_waits(orders: EveryOrder, end: State, error: DeadlockError) -> None:
    for wait in error.waits:
        if wait.instruction is None:
            continue
        one = orders.program[wait.instruction]
        assert unit_of(one) is wait.unit
        missing = {queue for queue in _pops(wait.unit, one) if not orders.count(end, queue)}
        assert set(wait.queues) == missing


def test_queue_depth_is_the_configuration() -> None:
    asm = Assembler(HardwareConfig(instruction_queue=2))
    for _ in range(3):
        asm.load(MemoryId.ACC, sram=0, dram=0, columns=0, rows=0, waits_for=STORE)
    for _ in range(3):
        asm.nop(STORE, signals=COMPUTE)
    asm.append(Finish())
    program = asm.build()
    with pytest.raises(DeadlockError):
        validate(program)
    validate(Program(HardwareConfig(instruction_queue=4), program.data))


def test_program_order_gives_the_answer_of_the_execution() -> None:
    """Of random programs, whole and with a token flag flipped."""
    flow_in_order, answers = tokens._flow_in_order, Counter[bool]()
    for seed in range(60):
        rng = random.Random(f"damage {seed}")
        data = bytearray(random_program(TINY, seed, 40).program.data)
        for _ in range(rng.choice((0, 0, 1))):
            data[16 * rng.randrange(len(data) // 16)] ^= 1 << rng.randrange(3, 7)
        config = TINY.replace(instruction_queue=rng.choice((2, 4, 16)))
        program, limit = Program.from_bytes(config, bytes(data)), rng.choice((1, 2, 4, 8))
        if broken_rules(rule_inputs(config, program.columns()))[Fault.TOKEN_FLAG].any():
            continue
        found = outcome(program, limit)
        with patch.object(tokens, "_flow_in_order", return_value=False):
            assert str(outcome(program, limit)) == str(found), f"seed {seed}"
        answers[flow_in_order(program.columns(), config.instruction_queue, limit)] += 1
    assert min(answers[True], answers[False]) > 8
