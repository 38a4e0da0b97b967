"""Whatever is wrong is told, with the instruction, and leaves a machine that works."""

from __future__ import annotations

import cocotb
from cocotb.handle import HierarchyObject

from tandem.hw.faults import Fault
from tandem.hw.isa import Assembler
from tandem.hw.registers import NO_INSTRUCTION, Status
from tandem.hw.topology import MemoryId, Unit
from tests.cocotb.machine import BOTH, Machine
from tests.cocotb.programs import busy_program
from tests.support.sim.faulty import Case, cases, image

IRQ_ERROR = 0b10
POP_PREV, POP_NEXT, ACTIVE = 1 << 0, 1 << 1, 1 << 8
# 65,537 instructions take minutes here; the other engines run them.
TOO_LONG = Fault.TOKEN_OVERFLOW
HARD = 0.5
"""Share of the cycles in which each channel of memory waits."""
MEMORY = ("m_axi_ar", "m_axi_r", "m_axi_aw", "m_axi_w", "m_axi_b")


async def _fails(machine: Machine, case: Case) -> None:
    """The fault and its instruction are on record, the interrupt is raised, the bus is quiet."""
    await machine.put("irq_status", BOTH)
    await machine.put("irq_enable", BOTH)
    await machine.launch(case.program, image(), refused=case.bus_errors)
    assert await machine.interrupted() == IRQ_ERROR, case.name
    assert await machine.status() == Status.ERROR, case.name
    assert machine.rules.quiet, case.name
    assert await machine.get("error_code") == case.fault, case.name
    where = NO_INSTRUCTION if case.instruction is None else case.instruction
    assert await machine.get("error_instruction") == where, case.name


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_fault(dut: HierarchyObject) -> None:
    """Illegal instructions, bus errors, deadlock: one after the other, then a good program."""
    machine = await Machine.power_on(dut)
    for case in cases(machine.config):
        if case.fault is not TOO_LONG:
            await _fails(machine, case)
    await machine.run(busy_program(machine.config, 50, 16))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(fault=(Fault.BUS_READ, Fault.BUS_WRITE, Fault.OPCODE))
async def a_fault_and_then_a_program(dut: HierarchyObject, fault: Fault) -> None:
    """Also while memory makes everything wait."""
    machine = await Machine.power_on(dut)
    machine.hinder(MEMORY, fault, HARD)
    for case in cases(machine.config):
        if case.fault is fault:
            await _fails(machine, case)
            await machine.run(busy_program(machine.config, 51, 12))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(place=(0.1, 0.4, 0.7))
async def an_error_in_the_middle_of_traffic(dut: HierarchyObject, place: float) -> None:
    """Memory refuses a region that a random program reads; what was under way comes to its end."""
    machine = await Machine.power_on(dut)
    machine.hinder(MEMORY, 7, HARD)
    drawn = busy_program(machine.config, 52, 30)
    first = int(place * len(drawn.image))
    await machine.put("irq_enable", BOTH)
    await machine.launch(drawn.program, drawn.image, refused=((first, len(drawn.image)),))
    assert await machine.interrupted() == IRQ_ERROR
    assert await machine.status() == Status.ERROR
    assert machine.rules.quiet
    assert Fault(await machine.get("error_code")) in (Fault.BUS_READ, Fault.BUS_WRITE)
    assert await machine.get("error_instruction") < len(drawn.program)
    await machine.run(drawn)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fetch_meets_an_error(dut: HierarchyObject) -> None:
    """No instruction is to blame for one that cannot be read."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, 53, 12)
    size = len(drawn.image)
    await machine.launch(drawn.program, drawn.image, refused=((size, size + 4096),))
    assert await machine.poll() == Status.ERROR
    assert await machine.get("error_code") == Fault.BUS_READ
    assert await machine.get("error_instruction") == NO_INSTRUCTION
    await machine.run(drawn)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_deadlock(dut: HierarchyObject) -> None:
    """For each unit: which instruction waits, and for whose token."""
    machine = await Machine.power_on(dut)
    asm = Assembler(machine.config)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=4)
    load = asm.load(MemoryId.WGT, sram=0, dram=0, columns=1, waits_for=Unit.COMPUTE)
    compute = asm.nop(
        Unit.COMPUTE, waits_for=(Unit.LOAD, Unit.STORE), signals=(Unit.LOAD, Unit.STORE)
    )
    store = asm.store(sram=0, dram=0, columns=4, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.finish()
    await machine.launch(asm.build(), image())
    assert await machine.poll() == Status.ERROR
    assert await machine.get("error_code") == Fault.DEADLOCK
    assert await machine.get("error_instruction") == NO_INSTRUCTION
    expected = {
        Unit.LOAD: (load, POP_NEXT),
        Unit.COMPUTE: (compute, POP_PREV | POP_NEXT),
        Unit.STORE: (store, POP_PREV),
    }
    for unit, (instruction, waits) in expected.items():
        name = unit.name.lower()
        assert await machine.get(f"{name}_instruction") == instruction, name
        assert await machine.get(f"{name}_waits") == ACTIVE | waits, name
    await machine.run(busy_program(machine.config, 54, 12))
