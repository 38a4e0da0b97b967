"""A network, or a small program, on the generated Verilog: a testbench for cocotb.

Environment variables
---------------------
TANDEM_NETWORK
    A folder of `tandem export`; without it the program beside this file runs.
TANDEM_REGISTERS
    The header with the registers; without it tandem_registers.h beside this file, or one above.
TANDEM_MEMORY, TANDEM_LATENCY, TANDEM_STALLS
    Where memory is (0x40000000, or the upper half of a smaller space), how many cycles it takes
    (30), and the share of the cycles in which each channel of both buses waits (0.2) in the tests
    in which they do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cocotb
from tandem_bench import PAGE, Launch, Machine, Registers, Stream, read_launches

HERE = Path(__file__).resolve().parent
NETWORK = Path(os.environ.get("TANDEM_NETWORK") or HERE)
MEMORY = int(os.environ.get("TANDEM_MEMORY") or "0x40000000", 0)
LATENCY = int(os.environ.get("TANDEM_LATENCY") or "30", 0)
STALLS = float(os.environ.get("TANDEM_STALLS") or "0.2")
NAMES = "tandem_registers.h"
HEADERS = (HERE / NAMES, HERE.parent / NAMES)
HEADER = Path(os.environ.get("TANDEM_REGISTERS") or next(filter(Path.is_file, HEADERS)))
LIMIT = 100_000_000
"""Cycles, or polls, after which a launch is given up."""


@cocotb.test()
async def registers_tell_the_machine(dut: Any) -> None:
    """Identity, an offset without a register, and a register that keeps what is written."""
    machine = await Machine.power_on(dut, Registers(HEADER))
    known = machine.registers
    assert await machine.read("MAGIC") == known["MAGIC_VALUE"]
    assert await machine.read("VERSION") == known["VERSION_VALUE"]
    assert await machine.read("STATUS") == 0
    assert (await machine.read_word(0x3FC))[1] is False
    await machine.write_long(known["BASE_OUT"], MEMORY)
    assert await machine.read("BASE_OUT") == MEMORY


@cocotb.test()
async def a_refused_program_is_told(dut: Any) -> None:
    """A program without an instruction is a fault, told by the interrupt; the next launch works."""
    machine = await Machine.power_on(dut, Registers(HEADER))
    known = machine.registers
    await machine.write("IRQ_ENABLE", known["INTERRUPT_ERROR"])
    await machine.write("CONTROL", known["CONTROL_LAUNCH"])
    await machine.interrupted(LIMIT)
    assert await machine.read("STATUS") == known["STATUS_ERROR"]
    assert await machine.read("ERROR_CODE") == known["FAULT_NO_FINISH"]
    await _run(machine, interrupt=True)


@cocotb.test()
async def every_launch_is_right(dut: Any) -> None:
    """By interrupt, behind memory with a latency."""
    await _run(await Machine.power_on(dut, Registers(HEADER), LATENCY), interrupt=True)


@cocotb.test()
async def every_launch_is_right_while_buses_wait(dut: Any) -> None:
    """By polling, while every channel waits at random."""
    machine = await Machine.power_on(dut, Registers(HEADER))
    machine.hinder(STALLS)
    await _run(machine, interrupt=False)


async def _run(machine: Machine, *, interrupt: bool) -> None:
    """Load the streams, and do all launches."""
    launches = read_launches(NETWORK)
    streams: dict[str, tuple[Stream, int]] = {}
    bits = len(machine.dut.m_axi_araddr)
    free = MEMORY if MEMORY < 1 << bits else 1 << (bits - 1)
    for name in dict.fromkeys(launch.stream for launch in launches):
        stream = Stream.read(NETWORK / name)
        await machine.load(stream, free)
        streams[name] = stream, free
        free += -(-len(stream.memory) // PAGE) * PAGE
    cycles = 0
    for number, launch in enumerate(launches):
        cycles += await _launch(machine, *streams[launch.stream], launch, number, interrupt)
    size = sum(len(part.content) for launch in launches for part in launch.outputs)
    machine.dut._log.info(
        f"{NETWORK.name}: {len(launches)} launches, {cycles:,} cycles, {size:,} bytes as expected"
    )


async def _launch(
    machine: Machine, stream: Stream, address: int, launch: Launch, number: int, interrupt: bool
) -> int:
    """One launch: its inputs go to memory, its outputs are compared; returns its cycles."""
    for part in launch.inputs:
        machine.memory.put(address + part.address, part.content)
    await machine.start(stream, address)
    await (machine.interrupted(LIMIT) if interrupt else machine.poll(LIMIT))
    cycles = await machine.check_done()
    for part in launch.outputs:
        found = machine.memory.get(address + part.address, len(part.content))
        wrong = [at for at, byte in enumerate(part.content) if found[at] != byte]
        assert not wrong, (
            f"launch {number}, {part.name}: {len(wrong)} of {len(part.content)} bytes are wrong, "
            f"the first at {wrong[0]}: {found[wrong[0]]:#x} and not {part.content[wrong[0]]:#x}"
        )
    return cycles
