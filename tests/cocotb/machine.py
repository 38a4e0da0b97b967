"""The design between its two buses, as a driver and a memory see it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import repeat

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiResp, AxiSlaveRead, AxiSlaveWrite

from tandem.hw.config import HardwareConfig
from tandem.hw.faults import Fault
from tandem.hw.isa import Program
from tandem.hw.register_model import Register
from tandem.hw.registers import Control, Status, register_map
from tandem.hw.topology import MemoryId
from tandem.sim.memory import place_program
from tests.cocotb.axi_rules import AxiRules, pin, wire
from tests.cocotb.machines import machine_under_test
from tests.support.sim.programs import RandomProgram
from tests.support.sim.reference import Image

NANOSECONDS = 10
RESET_CYCLES = 4
LONG = 10
MEMORY_BYTES = 1 << 24
"""Size of memory, which ends at the last address."""
BOTH = 0b11
"""Both causes of an interrupt: done and error."""
REGISTERS: Mapping[str, Register] = {register.name: register for register in register_map()}
INPUTS = (
    *("m_axi_arready", "m_axi_rvalid", "m_axi_rid", "m_axi_rdata", "m_axi_rresp", "m_axi_rlast"),
    *("m_axi_awready", "m_axi_wready", "m_axi_bvalid", "m_axi_bid", "m_axi_bresp"),
    *("s_axi_awvalid", "s_axi_awaddr", "s_axi_awprot", "s_axi_wvalid", "s_axi_wdata"),
    *("s_axi_wstrb", "s_axi_bready", "s_axi_arvalid", "s_axi_araddr", "s_axi_arprot"),
    *("s_axi_rready", "aresetn", "aclk"),
)
CHANNELS = (
    *("m_axi_ar", "m_axi_r", "m_axi_aw", "m_axi_w", "m_axi_b"),
    *("s_axi_aw", "s_axi_w", "s_axi_b", "s_axi_ar", "s_axi_r"),
)
"""Channels that can be made to wait."""


class _Memory:
    """Bytes from `origin` on. Everything else, and what is `refused`, is answered with an error."""

    def __init__(self, origin: int) -> None:
        self.origin = origin
        self.content = bytearray()
        self.refused: tuple[tuple[int, int], ...] = ()
        """First and last-but-one offset."""

    def _offset(self, address: int, length: int) -> int:
        first = address - self.origin
        last = first + length
        if first < 0 or last > len(self.content):
            raise LookupError(f"nothing at {address:#x}")
        if any(first < end and start < last for start, end in self.refused):
            raise LookupError(f"{address:#x} is refused")
        return first

    async def read(self, address: int, length: int) -> bytes:
        """For cocotbext's slave."""
        first = self._offset(address, length)
        return bytes(self.content[first : first + length])

    async def write(self, address: int, data: bytes) -> None:
        """For cocotbext's slave."""
        first = self._offset(address, len(data))
        self.content[first : first + len(data)] = data


class Machine:
    """One accelerator out of reset, with memory high up in its address space.

    Attributes
    ----------
    rules
        The watcher of the buses.
    memory
        What lies behind the machine.
    """

    def __init__(self, dut: HierarchyObject) -> None:
        self.dut = dut
        self.config: HardwareConfig = machine_under_test()
        self.memory = _Memory((1 << self.config.address_bits) - MEMORY_BYTES)
        self.rules = AxiRules(dut, self.config)
        ends = (dut.aclk, dut.aresetn)
        how = {"reset_active_level": False}
        bus = AxiBus.from_prefix(dut, "m_axi")
        self._read = AxiSlaveRead(bus.read, *ends, target=self.memory, **how)
        self._write = AxiSlaveWrite(bus.write, *ends, target=self.memory, **how)
        self._lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), *ends, **how)

    @classmethod
    async def power_on(cls, dut: HierarchyObject) -> Machine:
        """Clock, reset, and the models on both buses."""
        for name in INPUTS:
            wire(dut, name).value = 0
        Clock(pin(dut, "aclk"), NANOSECONDS, "ns").start()
        # The models look at the outputs from their first moment on: these must be known by then.
        await ClockCycles(pin(dut, "aclk"), RESET_CYCLES)
        machine = cls(dut)
        cocotb.start_soon(machine.rules.watch())
        await machine.cycles(1)
        await machine.release()
        return machine

    async def cycles(self, count: int) -> None:
        """Let time pass."""
        await ClockCycles(pin(self.dut, "aclk"), count)

    async def hold_reset(self) -> None:
        """Pull `aresetn` in the middle of whatever is going on."""
        pin(self.dut, "aresetn").value = 0
        await self.cycles(RESET_CYCLES)

    async def release(self) -> None:
        """Out of reset."""
        pin(self.dut, "aresetn").value = 1
        await self.cycles(2)

    def hinder(self, channels: tuple[str, ...], seed: int, share: float) -> None:
        """From now on `channels` wait at random, in this share of the cycles."""
        ends = {
            "m_axi_ar": self._read.ar_channel,
            "m_axi_r": self._read.r_channel,
            "m_axi_aw": self._write.aw_channel,
            "m_axi_w": self._write.w_channel,
            "m_axi_b": self._write.b_channel,
            "s_axi_aw": self._lite.write_if.aw_channel,
            "s_axi_w": self._lite.write_if.w_channel,
            "s_axi_b": self._lite.write_if.b_channel,
            "s_axi_ar": self._lite.read_if.ar_channel,
            "s_axi_r": self._lite.read_if.r_channel,
        }
        for number, name in enumerate(channels):
            ends[name].set_pause_generator(_pauses(random.Random(31 * seed + number), share))

    # Registers --------------------------------------------------------------------------

    async def read_word(self, offset: int) -> tuple[int, bool]:
        """A word of the register space, and whether the answer was OKAY."""
        data, okay = await self.read_bytes(offset, 4)
        return int.from_bytes(data, "little"), okay

    async def read_bytes(self, offset: int, size: int) -> tuple[bytes, bool]:
        """`size` bytes, read as words without a pause; and whether all answers were OKAY."""
        answer = await self._lite.read(offset, size)
        return bytes(answer.data), bool(answer.resp == AxiResp.OKAY)

    async def write_bytes(self, offset: int, data: bytes) -> bool:
        """Write some bytes; whether all answers were OKAY."""
        answer = await self._lite.write(offset, data)
        return bool(answer.resp == AxiResp.OKAY)

    async def get(self, name: str) -> int:
        """A register's value."""
        register = REGISTERS[name]
        value = 0
        for part in range(register.bits // 32):
            word, okay = await self.read_word(register.offset + 4 * part)
            assert okay, name
            value |= word << 32 * part
        return value

    async def put(self, name: str, value: int) -> None:
        """Write a register."""
        register = REGISTERS[name]
        assert await self.write_bytes(register.offset, value.to_bytes(register.bits // 8, "little"))

    async def status(self) -> Status:
        """The status register."""
        return Status(await self.get("status"))

    # Programs ---------------------------------------------------------------------------

    async def launch(
        self,
        program: Program,
        image: Image,
        bases: Mapping[MemoryId, int] | None = None,
        refused: tuple[tuple[int, int], ...] = (),
    ) -> None:
        """Put `image` and `program` into memory, and start. `bases` are offsets in the image."""
        content, offset = place_program(image, program)
        self.memory.content = bytearray(content.tobytes())
        self.memory.refused = refused
        for memory in {memory.base for memory in self.config.memories}:
            base = self.memory.origin + (bases or {}).get(memory, 0)
            await self.put(f"base_{memory.name.lower()}", base)
        await self.put("instruction_address", self.memory.origin + offset)
        await self.put("instruction_count", len(program))
        await self.put("control", Control.LAUNCH)

    async def poll(self, limit: int = 2000) -> Status:
        """Read the status until nothing runs any more."""
        for _ in range(limit):
            status = await self.status()
            if not status & (Status.RUNNING | Status.DRAINING):
                return status
        raise AssertionError(f"still running after {limit} polls")

    async def interrupted(self, limit: int = 20_000) -> int:
        """Wait for the interrupt; its causes, which are cleared."""
        line = pin(self.dut, "irq")
        for _ in range(limit):
            if int(line.value):
                break
            await self.cycles(1)
        else:
            raise AssertionError(f"no interrupt in {limit} cycles")
        causes = await self.get("irq_status")
        await self.put("irq_status", causes)
        await self.cycles(1)
        assert not int(line.value)
        return causes

    async def run(self, drawn: RandomProgram) -> None:
        """A whole program, to its right result."""
        await self.launch(drawn.program, drawn.image)
        assert await self.poll() == Status.DONE
        await self.check(drawn.expected)

    async def check(self, expected: Image) -> None:
        """Memory holds `expected`, the bus is quiet, and no fault is on record."""
        assert self.rules.quiet
        found = np.frombuffer(self.memory.content, np.uint8)[: len(expected)]
        np.testing.assert_array_equal(found, expected)
        assert await self.get("error_code") == Fault.NONE


def _pauses(rng: random.Random, share: float) -> Iterator[bool]:
    """Single cycles, and runs long enough for what is behind to fill up, or to empty."""
    while True:
        paused = rng.random() < share
        yield from repeat(paused, rng.choice((1, 1, 1, LONG)))
