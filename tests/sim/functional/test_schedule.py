"""In which order instructions are executed, slices of a run, and how it ends: by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, TokenQueue, Unit
from tandem.hw.isa.columns import PAR_BASE
from tandem.hw.topology import BASE_REGISTERS, MAX_TOKENS
from tandem.sim.functional.plan import NOWHERE, make_plan
from tandem.sim.functional.schedule import DONE, RUNNING, run_slice
from tandem.sim.functional.state import (
    ACTIVE,
    DISPATCHED,
    EXECUTED,
    FAULTY,
    FINISHED,
    MICRO_OPS,
    POSITION,
    TOKENS,
    make_state,
)
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.detail import make_detail
from tandem.sim.semantics.dram import make_dram
from tandem.sim.semantics.requantiser import make_requantiser

TINY = load_config("tiny")
EXTENDED = load_config("tiny-w")
FAR = 1 << 40


class Machine:
    """A program on a machine, whose accumulators are 0."""

    def __init__(self, asm: Assembler, config: HardwareConfig = TINY, memory: int = 256) -> None:
        self.image = np.arange(memory, dtype=np.uint8)
        self.plan = make_plan(config, asm.build().columns())
        self.chip = make_chip(config)
        self.requantiser = make_requantiser(config, self.chip)
        self.dram = make_dram(self.image, (0,) * BASE_REGISTERS, (), config)
        self.state = make_state()
        self.log = np.full(len(self.plan.units), -1, np.int64)

    def run(self, budget: int = FAR, limit: int = FAR) -> int:
        memories = self.chip, self.requantiser, None, self.dram
        return run_slice(self.plan, *memories, self.state, self.log, make_detail(), budget, limit)

    @property
    def order(self) -> list[int]:
        return self.log[: self.state[EXECUTED]].tolist()

    def tokens(self) -> list[int]:
        return self.state[TOKENS : TOKENS + len(TokenQueue)].tolist()


def finished(asm: Assembler) -> Assembler:
    asm.finish()
    return asm


def test_the_first_in_program_order_of_all_that_can_start() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    asm.nop(Unit.STORE)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.LOAD)
    asm.nop(Unit.STORE, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.STORE)
    machine = Machine(asm)
    assert machine.run() == DONE
    assert machine.order == [1, 2, 0, 3, 4, 5]
    assert machine.tokens() == [0] * 4
    assert machine.state[[FINISHED, ACTIVE, DISPATCHED, TOKENS + NOWHERE]].tolist() == [1, -1, 6, 1]


@pytest.mark.parametrize(("waiting", "ends"), [(4, DONE), (5, int(Fault.DEADLOCK))])
def test_a_full_queue_holds_back_all_behind_it(waiting: int, ends: int) -> None:
    asm = Assembler(TINY)
    assert TINY.instruction_queue == 4
    for _ in range(waiting):
        asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    for _ in range(waiting):
        asm.nop(Unit.COMPUTE, signals=Unit.STORE)
    machine = Machine(finished(asm))
    assert machine.run() == ends
    if ends == DONE:
        # Each STORE is ahead of what comes next in the program.
        assert machine.order == [4, 0, 5, 1, 6, 2, 7, 3, 8]
    else:
        assert machine.order == []
        assert machine.state[DISPATCHED] == 4


@pytest.mark.parametrize("side", [Unit.LOAD, Unit.STORE])
def test_both_tokens_have_to_be_there(side: Unit) -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.COMPUTE, waits_for=(Unit.LOAD, Unit.STORE))
    asm.nop(side, signals=Unit.COMPUTE)
    machine = Machine(finished(asm))
    assert machine.run() == Fault.DEADLOCK
    assert machine.order == [1]
    assert sum(machine.tokens()) == 1


def looping() -> Assembler:
    """A LOAD of 2 x 3 elements, 10 micro-ops, and FINISH."""
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=0, rows=2, columns=3)
    asm.alu(AluOp.ADD, (0, 1), (Loop(10, dst=1),), imm=1)
    return finished(asm)


def test_slices_of_an_instruction() -> None:
    machine = Machine(looping())
    assert machine.run(budget=0) == RUNNING
    assert machine.order == []
    # A LOAD is not cut, and costs a micro-op for each element, and one for itself.
    assert machine.run(budget=1) == RUNNING
    assert machine.order == [0]
    assert machine.state[ACTIVE] == -1
    assert machine.run(budget=3) == RUNNING
    assert machine.state[[ACTIVE, POSITION, MICRO_OPS]].tolist() == [1, 3, 3]
    assert machine.chip.acc.reshape(-1, 16)[:5, 0].tolist() == [1, 1, 1, 0, 0]
    assert machine.run(budget=6) == RUNNING
    assert machine.state[[ACTIVE, POSITION, MICRO_OPS]].tolist() == [1, 9, 9]
    assert machine.run(budget=1) == RUNNING
    assert machine.state[[ACTIVE, POSITION, MICRO_OPS]].tolist() == [-1, 0, 10]
    assert machine.chip.acc.reshape(-1, 16)[:12, 0].tolist() == [1] * 10 + [0, 0]
    assert machine.run(budget=2) == DONE
    assert machine.order == [0, 1, 2]


def test_what_a_slice_costs() -> None:
    for budget, executed in ((7, 1), (8, 2)):
        machine = Machine(looping())
        assert machine.run(budget) == RUNNING
        assert machine.state[EXECUTED] == executed
    machine = Machine(looping())
    assert machine.run(17) == RUNNING
    assert machine.state[[EXECUTED, FINISHED]].tolist() == [2, 0]
    assert Machine(looping()).run(18) == RUNNING
    assert Machine(looping()).run(19) == DONE


def test_a_limit_of_micro_ops() -> None:
    machine = Machine(looping())
    assert machine.run(limit=9) == RUNNING
    assert machine.state[MICRO_OPS] == 10
    assert machine.run(limit=9) == RUNNING
    assert machine.state[EXECUTED] == 2
    early = Machine(looping())
    assert early.run(limit=4) == RUNNING
    assert early.state[MICRO_OPS] == 5
    assert Machine(looping()).run(limit=10) == DONE


@pytest.mark.parametrize(("pushed", "ends"), [(2, Fault.TOKENS_LEFT), (3, Fault.TOKEN_OVERFLOW)])
def test_the_last_token_that_a_queue_holds(pushed: int, ends: Fault) -> None:
    asm = Assembler(TINY)
    for _ in range(pushed):
        asm.nop(Unit.STORE, signals=Unit.COMPUTE)
    machine = Machine(finished(asm))
    # As if that many had been pushed before.
    machine.state[TOKENS + TokenQueue.STORE_TO_COMPUTE] = MAX_TOKENS - 2
    assert machine.run() == ends
    assert machine.tokens() == [0, 0, 0, MAX_TOKENS - 2 + pushed]
    assert machine.state[FAULTY] == (2 if ends is Fault.TOKEN_OVERFLOW else 0)


@pytest.mark.parametrize("queue", TokenQueue)
def test_tokens_that_are_left(queue: TokenQueue) -> None:
    asm = Assembler(TINY)
    asm.nop(queue.producer, signals=queue.consumer)
    machine = Machine(finished(asm))
    assert machine.run() == Fault.TOKENS_LEFT
    assert machine.tokens() == [int(each is queue) for each in TokenQueue]


def test_programs_that_do_not_finish() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD)
    assert Machine(asm).run() == Fault.NO_FINISH
    # A deadlock comes first.
    asm.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
    assert Machine(asm).run() == Fault.DEADLOCK


def test_dispatch_refuses_what_is_illegal_when_all_before_it_is_done() -> None:
    asm = Assembler(TINY)
    asm.store(sram=0, dram=4, columns=1)
    asm.load(MemoryId.INP, sram=TINY.depth(MemoryId.INP), dram=0, columns=1)
    machine = Machine(finished(asm))
    assert machine.run() == Fault.SRAM_RANGE
    assert (machine.order, machine.state[FAULTY]) == ([0], 1)
    assert machine.image[16:21].tolist() == [0, 0, 0, 0, 20]
    # What waits for ever ahead of it does not hide it.
    asm = Assembler(TINY)
    asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    asm.load(MemoryId.INP, sram=TINY.depth(MemoryId.INP), dram=0, columns=1)
    machine = Machine(finished(asm))
    assert machine.run() == Fault.SRAM_RANGE
    assert (machine.order, machine.state[FAULTY]) == ([], 1)


@pytest.mark.parametrize("config", [TINY, EXTENDED])
def test_faults_of_transfers_and_of_micro_ops(config: HardwareConfig) -> None:
    asm = Assembler(config)
    asm.nop(Unit.STORE)
    asm.load(MemoryId.ACC, sram=0, dram=1, columns=16)
    machine = Machine(finished(asm), config)
    assert machine.run() == Fault.BUS_READ
    assert machine.state[[FAULTY, ACTIVE]].tolist() == [1, 1]
    asm = Assembler(config)
    asm.store(sram=0, dram=33, columns=32, signals=Unit.COMPUTE)
    machine = Machine(finished(asm), config)
    assert machine.run() == Fault.BUS_WRITE
    # What is at fault pushes no token.
    assert machine.tokens() == [0] * 4
    asm = Assembler(config)
    asm.alu(AluOp.ADD, (0, 1), (Loop(3, dst=31),), imm=1)
    machine = Machine(finished(asm), config)
    assert machine.run(budget=2) == RUNNING
    assert machine.run() == Fault.SRAM_INDEX
    assert machine.state[FAULTY] == 0


def moved(config: HardwareConfig, loads: Sequence[MemoryId]) -> Machine:
    asm = Assembler(config)
    for memory in loads:
        asm.load(memory, sram=1, dram=1, columns=1)
    asm.store(sram=1, dram=0, columns=1)
    machine = Machine(finished(asm), config)
    assert machine.run() == DONE
    return machine


def test_loads_and_stores() -> None:
    plain = moved(TINY, [MemoryId.ACC, MemoryId.INP, MemoryId.WGT, MemoryId.UOP])
    assert plain.chip.inp[:8].tolist() == [0, 0, 0, 0, 4, 5, 6, 7]
    assert plain.chip.uop[:3].tolist() == [0, 0x07060504, 0]
    assert plain.chip.wgt[64:68].tolist() == [16, 17, 20, 21]
    # The low bytes of the accumulators at 16 to 31.
    assert plain.image[:5].tolist() == [16, 20, 24, 28, 4]
    own = moved(EXTENDED, [MemoryId.ACC_8BIT, MemoryId.PAR])
    assert own.requantiser is not None
    assert own.requantiser.out[16:20].tolist() == [4, 5, 6, 7]
    assert own.image[:5].tolist() == [4, 5, 6, 7, 4]
    assert own.requantiser.par[48:50].tolist() == [0x23222120, 0x2B2A2928]


def test_modes_and_tables() -> None:
    asm = Assembler(EXTENDED)
    asm.requantise(7)
    asm.table([5, -6])
    machine = Machine(finished(asm), EXTENDED)
    assert machine.run() == DONE
    assert machine.requantiser is not None
    assert machine.requantiser.mode[PAR_BASE] == 7
    assert (machine.requantiser.mode == machine.plan.table[0]).all()
    assert machine.chip.table[:3].tolist() == [5, -6, 0]
