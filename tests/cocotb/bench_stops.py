"""Stopped in the middle of a run, by software or by the reset pin."""

from __future__ import annotations

import random

import cocotb
from cocotb.handle import HierarchyObject

from tandem.hw.faults import Fault
from tandem.hw.registers import NO_INSTRUCTION, Control, Status
from tests.cocotb.axi_rules import pin, wire
from tests.cocotb.machine import BOTH, Machine
from tests.cocotb.programs import busy_program

MEMORY = ("m_axi_ar", "m_axi_r", "m_axi_aw", "m_axi_w", "m_axi_b")
STOPS = 6
LIMIT = 200
"""Of `bus_timeout`, in cycles."""


async def answers_again(machine: Machine, channel: str) -> None:
    """Memory goes on; what it takes of bursts that were given up, it has written when this ends.

    The bursts have the old launch's data, and what the next launch reads is placed after them.
    """
    machine.hinder((channel,), 0, 0.0)
    for _ in range(100):
        await machine.cycles(20)
        if machine.rules.written:
            await machine.cycles(20)
            return
    raise AssertionError("bursts that were given up are not taken")


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(share=(0.0, 0.7))
async def soft_reset(dut: HierarchyObject, share: float) -> None:
    """What the bus is owed is given, no burst is cut short, nobody is told of an error."""
    machine = await Machine.power_on(dut)
    machine.hinder(MEMORY, 1, share)
    drawn = busy_program(machine.config, 60, 30)
    rng = random.Random(60)
    await machine.put("irq_enable", BOTH)
    for _ in range(STOPS):
        await machine.launch(drawn.program, drawn.image)
        await machine.cycles(rng.randrange(20, 400))
        assert await machine.status() == Status.RUNNING
        await machine.put("control", Control.SOFT_RESET)
        assert await machine.poll() == Status(0)
        assert machine.rules.quiet
        assert not int(pin(dut, "irq").value)
        assert await machine.get("error_code") == Fault.NONE
        before = (machine.rules.reads, machine.rules.writes)
        await machine.cycles(30)
        assert before == (machine.rules.reads, machine.rules.writes)
    await machine.run(drawn)
    assert await machine.get("irq_status") == 0b01


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_launch_while_it_runs(dut: HierarchyObject) -> None:
    """Is ignored, as is a soft reset of a machine that does nothing."""
    machine = await Machine.power_on(dut)
    await machine.put("control", Control.SOFT_RESET)
    assert await machine.poll() == Status(0)
    drawn = busy_program(machine.config, 61, 20)
    await machine.launch(drawn.program, drawn.image)
    await machine.put("control", Control.LAUNCH)
    assert await machine.poll() == Status.DONE
    await machine.check(drawn.expected)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reset_pin(dut: HierarchyObject) -> None:
    """Everything is as after power on; nothing is offered on any channel while it is held."""
    machine = await Machine.power_on(dut)
    machine.hinder(MEMORY, 2, 0.3)
    drawn = busy_program(machine.config, 62, 30)
    rng = random.Random(62)
    for _ in range(STOPS):
        await machine.put("irq_enable", BOTH)
        await machine.launch(drawn.program, drawn.image)
        await machine.cycles(rng.randrange(20, 400))
        assert await machine.status() == Status.RUNNING
        await machine.hold_reset()
        await machine.release()
        assert await machine.status() == Status(0)
        for name in ("irq_enable", "irq_status", "instruction_address", "base_wgt", "cycles"):
            assert await machine.get(name) == 0, name
    await machine.run(drawn)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(channel=MEMORY)
async def a_bus_that_hangs(dut: HierarchyObject, channel: str) -> None:
    """A fault with its address; late answers and unfinished bursts do not harm the next launch."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, 63, 30)
    rng = random.Random(63)
    await machine.put("bus_timeout", LIMIT)
    for _ in range(3):
        await machine.launch(drawn.program, drawn.image)
        await machine.cycles(rng.randrange(10, 150))
        machine.hinder((channel,), 0, 1.0)
        machine.rules.gives_up = True
        assert await machine.poll() == Status.ERROR | Status.FENCED
        assert await machine.get("error_code") == Fault.BUS_TIMEOUT
        assert await machine.get("error_address") >= machine.memory.origin
        await answers_again(machine, channel)
        await machine.run(drawn)
        machine.rules.gives_up = False


def not_taken(machine: Machine) -> int | None:
    """The address that is offered on the bus, of a read if there is one."""
    for channel in ("m_axi_ar", "m_axi_aw"):
        if int(pin(machine.dut, f"{channel}valid").value):
            return int(wire(machine.dut, f"{channel}addr").value)
    return None


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(channels=[("m_axi_ar",), ("m_axi_aw",), ("m_axi_ar", "m_axi_r"), MEMORY])
async def an_address_that_is_never_taken(dut: HierarchyObject, channels: tuple[str, ...]) -> None:
    """Every launch from then on ends with the fault, at this address, until memory takes it."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, 65, 30)
    await machine.put("bus_timeout", LIMIT)
    await machine.launch(drawn.program, drawn.image)
    await machine.cycles(100)
    machine.hinder(channels, 0, 1.0)
    machine.rules.gives_up = True
    assert Status.ERROR in await machine.poll()
    for _ in range(2):
        before = not_taken(machine)
        await machine.launch(drawn.program, drawn.image)
        assert Status.ERROR in await machine.poll()
        assert await machine.get("error_code") == Fault.BUS_TIMEOUT
        assert await machine.get("error_instruction") == NO_INSTRUCTION
        address = not_taken(machine) if before is None else before
        assert await machine.get("error_address") == address
    machine.hinder(channels, 0, 0.0)
    await answers_again(machine, channels[0])
    await machine.run(drawn)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(channel=MEMORY)
async def a_second_soft_reset(dut: HierarchyObject, channel: str) -> None:
    """Without a limit nothing but software ends a launch whose bus hangs."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, 64, 30)
    await machine.launch(drawn.program, drawn.image)
    await machine.cycles(60)
    machine.hinder((channel,), 0, 1.0)
    await machine.cycles(3000)
    machine.rules.gives_up = True
    await machine.put("control", Control.SOFT_RESET)
    await machine.cycles(500)
    assert await machine.status() & Status.DRAINING
    await machine.put("control", Control.SOFT_RESET)
    assert await machine.poll() == Status.FENCED
    assert await machine.get("error_code") == Fault.NONE
    await answers_again(machine, channel)
    await machine.run(drawn)
