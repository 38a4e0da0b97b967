"""Tables of programs for compiled code, by hand."""

from __future__ import annotations

from dataclasses import replace

from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, Load, MemoryId, Program
from tandem.hw.isa.columns import make_table
from tandem.hw.topology import TokenQueue, Unit
from tandem.sim.functional.plan import NOWHERE, make_plan

TINY = load_config("tiny")


def program() -> Program:
    """Loads of micro-ops, by the unit that computes, and of inputs, by the other one."""
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1)
    asm.alu(AluOp.ADD, (0, 1))
    asm.store(sram=0, dram=0, columns=1)
    asm.load(MemoryId.INP, sram=1, dram=0, columns=1)
    asm.finish()
    return asm.build()


def test_units_and_streams() -> None:
    whole = program()
    plan = make_plan(TINY, whole.columns())
    load, compute, store = (int(unit) for unit in (Unit.LOAD, Unit.COMPUTE, Unit.STORE))
    assert plan.units.tolist() == [compute, load, compute, store, load, compute]
    # Of each unit the instructions, in their order, one unit behind the other.
    assert plan.stream.tolist() == [1, 4, 0, 2, 5, 3]
    assert plan.first.tolist() == [0, 2, 5]
    assert plan.faults.tolist() == [0] * 6
    assert plan.queue_depth == TINY.instruction_queue
    assert (plan.table == make_table(whole.columns())).all()


def test_token_queues() -> None:
    columns = program().columns()
    assert NOWHERE == len(TokenQueue)
    ones, none = columns.opcode * 0 + 1, columns.opcode * 0
    quiet = replace(columns, pop_prev=none, pop_next=none, push_prev=none, push_next=none)
    assert (make_plan(TINY, quiet).queues == NOWHERE).all()
    loud = replace(columns, pop_prev=ones, pop_next=ones, push_prev=ones, push_next=ones)
    queues = make_plan(TINY, loud).queues
    names = {queue.name: int(queue) for queue in TokenQueue}
    assert len(names) == 4
    found = {
        unit: [
            "" if number == NOWHERE else TokenQueue(number).name
            for number in queues[position].tolist()
        ]
        for unit, position in ((Unit.LOAD, 1), (Unit.COMPUTE, 2), (Unit.STORE, 3))
    }
    assert found[Unit.LOAD][0] == found[Unit.LOAD][2] == ""
    assert found[Unit.STORE][1] == found[Unit.STORE][3] == ""
    # What one unit pushes, its neighbour pops.
    assert found[Unit.LOAD][3] == found[Unit.COMPUTE][0]
    assert found[Unit.COMPUTE][2] == found[Unit.LOAD][1]
    assert found[Unit.COMPUTE][3] == found[Unit.STORE][0]
    assert found[Unit.STORE][2] == found[Unit.COMPUTE][1]
    assert len({*found[Unit.COMPUTE]}) == 4


def test_rules_that_instructions_break() -> None:
    depth = TINY.depth(MemoryId.INP)
    rows = [
        Load(memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1),
        Load(memory=MemoryId.INP, sram_base=depth, dram_base=0, y_size=1, x_size=1, x_stride=1),
        Load(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1),
    ]
    broken = Program.from_instructions(TINY, rows)
    assert make_plan(TINY, broken.columns()).faults.tolist() == [
        *(0, int(Fault.SRAM_RANGE), int(Fault.LOAD_OUT)),
    ]
