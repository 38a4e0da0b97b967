"""The control registers, the interrupt and the counters."""

from __future__ import annotations

import random

import cocotb
from cocotb.handle import HierarchyObject
from cocotb.triggers import RisingEdge

from tandem.hw.events import RUNNING_BIT
from tandem.hw.registers import (
    ADDRESS_BITS,
    MAGIC,
    NO_INSTRUCTION,
    VERSION,
    Control,
    State,
    Status,
    registers_of,
)
from tandem.hw.topology import Unit
from tests.cocotb.axi_rules import pin, wire
from tests.cocotb.machine import BOTH, REGISTERS, Machine
from tests.cocotb.programs import busy_program

IRQ_DONE = 0b01


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def who_it_is(dut: HierarchyObject) -> None:
    """Drivers recognise the machine and its shape; after reset no register is undefined."""
    machine = await Machine.power_on(dut)
    config = machine.config
    assert await machine.get("magic") == MAGIC
    assert await machine.get("version") == VERSION
    shape = (config.log_batch, config.log_block_in, config.log_block_out, 0)
    assert (await machine.get("shape")).to_bytes(4, "little") == bytes(shape)
    bus = await machine.get("bus")
    assert (bus & 0xFFFF, bus >> 16 & 0xFF) == (config.bus_bits, config.address_bits)
    assert bus >> 24 == config.longest_burst - 1
    for register in registers_of(config.features):
        await machine.get(register.name)  # fails where a bit is undefined
    for unit in Unit:
        assert await machine.get(f"{unit.name.lower()}_instruction") == NO_INSTRUCTION
        assert await machine.get(f"{unit.name.lower()}_waits") == 0
    assert await machine.status() == Status(0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def unmapped_addresses(dut: HierarchyObject) -> None:
    """Every word that names no register is answered with an error, and does nothing."""
    machine = await Machine.power_on(dut)
    mapped = {
        register.offset + 4 * part
        for register in registers_of(machine.config.features)
        for part in range(register.bits // 32)
    }
    for offset in range(0, 1 << ADDRESS_BITS, 4):
        value, content = await machine.read_word(offset)
        assert content == (offset in mapped), hex(offset)
        if offset not in mapped:
            assert value == 0
            assert not await machine.write_bytes(offset, b"\xff" * 4), hex(offset)
    assert await machine.status() == Status(0)
    await machine.run(busy_program(machine.config, 40, 8))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bytes_of_registers(dut: HierarchyObject) -> None:
    """Writes reach the bytes that are strobed; what is read-only stays."""
    machine = await Machine.power_on(dut)
    base = REGISTERS["base_wgt"].offset
    await machine.put("base_wgt", 0x0123_4567_89AB_CDEF)
    assert await machine.write_bytes(base + 1, b"\x55")
    assert await machine.write_bytes(base + 6, b"\x66\x77")
    assert await machine.get("base_wgt") == 0x7766_4567_89AB_55EF
    await machine.put("magic", 0)
    assert await machine.get("magic") == MAGIC


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(channel=(None, "s_axi_b", "s_axi_r", "s_axi_w"))
async def accesses_back_to_back(dut: HierarchyObject, channel: str | None) -> None:
    """A master that does not wait for answers loses none."""
    machine = await Machine.power_on(dut)
    if channel is not None:
        machine.hinder((channel,), 44, 0.6)
    first, last = REGISTERS["base_uop"].offset, REGISTERS["base_acc_8bit"].offset + 8
    data = random.Random(44).randbytes(last - first)
    assert await machine.write_bytes(first, data)
    found, content = await machine.read_bytes(first, last - first)
    assert content
    assert found == data
    _, content = await machine.read_bytes(first, last + 4 - first)
    assert not content, "one bad word among good ones"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def launch_and_poll(dut: HierarchyObject) -> None:
    """Nothing is running, then something is, then it is done; the line stays low, not enabled."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, 41, 20)
    await machine.launch(drawn.program, drawn.image)
    assert await machine.status() == Status.RUNNING
    assert await machine.poll() == Status.DONE
    await machine.check(drawn.expected)
    assert not int(pin(dut, "irq").value)
    assert await machine.get("irq_status") == IRQ_DONE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def interrupt(dut: HierarchyObject) -> None:
    """Pending until it is written as one, visible while it is enabled."""
    machine = await Machine.power_on(dut)
    line = pin(dut, "irq")
    await machine.put("irq_enable", IRQ_DONE)
    drawn = busy_program(machine.config, 42, 12)
    await machine.launch(drawn.program, drawn.image)
    for _ in range(5000):
        if int(line.value):
            break
        await machine.cycles(1)
    assert await machine.status() == Status.DONE
    await machine.check(drawn.expected)
    for value, pending in ((0, IRQ_DONE), (BOTH & ~IRQ_DONE, IRQ_DONE), (IRQ_DONE, 0)):
        await machine.put("irq_status", value)
        assert await machine.get("irq_status") == pending
        assert int(line.value) == bool(pending)
    await machine.launch(drawn.program, drawn.image)
    assert await machine.poll() == Status.DONE
    assert int(line.value)
    await machine.put("irq_enable", 0)
    assert not int(line.value)
    await machine.put("irq_enable", BOTH)
    assert int(line.value)
    assert await machine.interrupted() == IRQ_DONE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counters(dut: HierarchyObject) -> None:
    """A snapshot does not move; at the end the states of each unit fit into the cycles."""
    machine = await Machine.power_on(dut)
    running = cocotb.start_soon(_count_running(machine))
    drawn = busy_program(machine.config, 43, 40)
    await machine.launch(drawn.program, drawn.image)
    seen = []
    for _ in range(3):
        await machine.put("control", Control.SNAPSHOT)
        seen.append(await machine.get("cycles"))
        assert await machine.get("cycles") == seen[-1]
    assert await machine.status() == Status.RUNNING
    assert await machine.poll() == Status.DONE
    cycles = await machine.get("cycles")
    assert 0 < seen[0] < seen[1] < seen[2] < cycles
    for unit in Unit:
        name = unit.name.lower()
        spent = [await machine.get(f"{name}_{state.value}") for state in State]
        assert 0 < sum(spent) <= cycles, name
        assert spent[0], name
    assert await running == cycles
    await machine.check(drawn.expected)


async def _count_running(machine: Machine) -> int:
    """Cycles in which the machine was running, by its event pins."""
    events = wire(machine.dut, "events")
    cycles = 0
    while True:
        await RisingEdge(pin(machine.dut, "aclk"))
        if int(events.value) >> RUNNING_BIT:
            cycles += 1
        elif cycles:
            return cycles
