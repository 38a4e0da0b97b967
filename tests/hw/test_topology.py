"""The machine's parts and connections, spelt out once more by hand."""

from __future__ import annotations

import pytest

from tandem.hw.encoding import Opcode
from tandem.hw.routing import executing_unit
from tandem.hw.topology import (
    LOADED_BY,
    MAX_TOKENS,
    POPS,
    PUSHES,
    TOKEN_FLAGS,
    MemoryId,
    TokenQueue,
    Unit,
    flags_without_queue,
)


def test_queues_behind_the_flags() -> None:
    assert TOKEN_FLAGS == ("pop_prev", "pop_next", "push_prev", "push_next")
    assert POPS[Unit.LOAD] + PUSHES[Unit.LOAD] == (
        None,
        TokenQueue.COMPUTE_TO_LOAD,
        None,
        TokenQueue.LOAD_TO_COMPUTE,
    )
    assert POPS[Unit.COMPUTE] + PUSHES[Unit.COMPUTE] == (
        TokenQueue.LOAD_TO_COMPUTE,
        TokenQueue.STORE_TO_COMPUTE,
        TokenQueue.COMPUTE_TO_LOAD,
        TokenQueue.COMPUTE_TO_STORE,
    )
    assert POPS[Unit.STORE] + PUSHES[Unit.STORE] == (
        TokenQueue.COMPUTE_TO_STORE,
        None,
        TokenQueue.STORE_TO_COMPUTE,
        None,
    )


def test_flags_without_a_queue() -> None:
    assert flags_without_queue(Unit.LOAD) == ("pop_prev", "push_prev")
    assert flags_without_queue(Unit.COMPUTE) == ()
    assert flags_without_queue(Unit.STORE) == ("pop_next", "push_next")


@pytest.mark.parametrize("queue", TokenQueue)
def test_queues_are_named_by_their_ends(queue: TokenQueue) -> None:
    assert queue.name == f"{queue.producer.name}_TO_{queue.consumer.name}"
    assert str(queue) == f"{queue.producer.name.lower()}->{queue.consumer.name.lower()}"


def test_a_counter_has_16_bits() -> None:
    assert MAX_TOKENS == 65535


LOADS = {
    MemoryId.UOP: (Unit.COMPUTE, MemoryId.UOP),
    MemoryId.WGT: (Unit.LOAD, MemoryId.WGT),
    MemoryId.INP: (Unit.LOAD, MemoryId.INP),
    MemoryId.ACC: (Unit.COMPUTE, MemoryId.ACC),
    MemoryId.ACC_8BIT: (Unit.COMPUTE, MemoryId.ACC),
}


@pytest.mark.parametrize("memory", LOADS)
def test_loads(memory: MemoryId) -> None:
    unit, written = LOADS[memory]
    assert executing_unit(Opcode.LOAD, memory) is unit
    assert [other for other in Unit if memory in LOADED_BY[other]] == [unit]
    assert memory.written is written


def test_other_instructions() -> None:
    assert executing_unit(Opcode.STORE, MemoryId.OUT) is Unit.STORE
    assert MemoryId.OUT.read is MemoryId.ACC
    assert not any(MemoryId.OUT in loaded for loaded in LOADED_BY.values())
    for opcode in (Opcode.GEMM, Opcode.ALU, Opcode.FINISH):
        assert executing_unit(opcode) is Unit.COMPUTE
