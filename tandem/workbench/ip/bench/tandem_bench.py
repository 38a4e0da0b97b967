"""The accelerator between two bus models, and networks that run on it: for cocotb.

It needs cocotb, cocotbext-axi, the generated Verilog and its tandem_registers.h, and no Tandem.
"""

from __future__ import annotations

import json
import logging
import random
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiSlaveRead,
    AxiSlaveWrite,
)

NANOSECONDS = 10
RESET_CYCLES = 4
PAGE = 4096


class Registers:
    """What tandem_registers.h defines, by names without `TANDEM_`."""

    def __init__(self, header: Path) -> None:
        text = header.read_text("utf-8")
        found = re.findall(r"#define TANDEM_(\w+)\s+(0x[0-9A-Fa-f]+|\d+)u\b", text)
        self._values = {name: int(value, 0) for name, value in found}

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def name_of(self, prefix: str, value: int) -> str:
        """The name with this prefix that has a value, as of a fault."""
        names = (name for name in self._values if name.startswith(prefix))
        return next((name for name in names if self._values[name] == value), str(value))


@dataclass(frozen=True)
class Stream:
    """A file of instructions and constants; docs/ip.md has its format."""

    checks: tuple[tuple[int, int], ...]
    bases: tuple[int, ...]
    memory: bytes
    program: int
    count: int

    @classmethod
    def read(cls, path: Path) -> Stream:
        """The stream of a file; refuses a damaged one."""
        data = path.read_bytes()
        assert data[:4] == b"TDNS", f"{path} is no stream"
        words = [int.from_bytes(data[at : at + 4], "little") for at in range(4, 40, 4)]
        version, size, checksum, memory, program, count, checks, bases, segments = words
        assert version == 1, f"{path} has version {version} of the format"
        assert size == len(data), f"{path} has {len(data)} bytes of {size}"
        assert checksum == crc32(data[16:]), f"{path} is damaged"
        end = 40 + 8 * checks + 4 * bases + 8 * segments
        lists = [int.from_bytes(data[at : at + 4], "little") for at in range(40, end, 4)]
        places = lists[2 * checks + bases :]
        content = bytearray(memory)
        for begin, length in zip(places[::2], places[1::2], strict=True):
            content[begin : begin + length] = data[end : end + length]
            end += length
        return cls(
            tuple(zip(lists[: 2 * checks : 2], lists[1 : 2 * checks : 2], strict=True)),
            tuple(lists[2 * checks : 2 * checks + bases]),
            bytes(content),
            program,
            count,
        )


@dataclass(frozen=True)
class Part:
    """A tensor in the memory of a stream."""

    name: str
    address: int
    content: bytes


@dataclass(frozen=True)
class Launch:
    """One run of a stream: what is written before it, and what is there after it."""

    stream: str
    inputs: tuple[Part, ...]
    outputs: tuple[Part, ...]


def read_launches(folder: Path) -> tuple[Launch, ...]:
    """The launches of a network, in their order, as an exported folder has them."""
    files = sorted(folder.glob("*_launches.json"))
    assert len(files) == 1, f"{folder} has {len(files)} files *_launches.json: one is needed"
    described = json.loads(files[0].read_text("utf-8"))
    data = (folder / described["data"]).read_bytes()

    def part(tensor: Any) -> Part:
        begin = tensor["offset"]
        return Part(tensor["name"], tensor["address"], data[begin : begin + tensor["bytes"]])

    return tuple(
        Launch(
            launch["stream"],
            tuple(map(part, launch["inputs"])),
            tuple(map(part, launch["outputs"])),
        )
        for launch in described["launches"]
    )


class Memory:
    """Memory of a machine: blocks of bytes. An access to anything else is answered with an error.

    Parameters
    ----------
    latency
        Cycles from the address of a read burst to its first beat; the next bursts' run meanwhile.
    """

    def __init__(self, dut: Any, latency: int) -> None:
        self._clock = dut.aclk
        self._latency = latency
        self._blocks: dict[int, bytearray] = {}
        self._cycle = 0
        self._bursts: deque[tuple[int, int]] = deque()
        self._beats = 0
        if latency:
            cocotb.start_soon(self._watch(dut.m_axi_arvalid, dut.m_axi_arready, dut.m_axi_arlen))

    def add(self, address: int, content: bytes) -> None:
        """Put a block of whole pages there: bursts have whole beats."""
        self._blocks[address] = bytearray(content) + bytes(-len(content) % PAGE)

    async def read(self, address: int, length: int) -> bytes:
        """A beat, for cocotbext's slave."""
        if self._latency:
            await self._wait()
        return self.get(address, length)

    async def write(self, address: int, data: bytes) -> None:
        """A beat, for cocotbext's slave."""
        self.put(address, data)

    def get(self, address: int, length: int) -> bytes:
        """Some bytes of one block."""
        block, begin = self._find(address, length)
        return bytes(block[begin : begin + length])

    def put(self, address: int, data: bytes) -> None:
        """Write to one block."""
        block, begin = self._find(address, len(data))
        block[begin : begin + len(data)] = data

    def _find(self, address: int, length: int) -> tuple[bytearray, int]:
        for begin, block in self._blocks.items():
            if begin <= address and address + length <= begin + len(block):
                return block, address - begin
        raise LookupError(f"no memory at {address:#x}")

    async def _watch(self, valid: Any, ready: Any, beats: Any) -> None:
        """Note when which read bursts were accepted."""
        while True:
            await RisingEdge(self._clock)
            self._cycle += 1
            if int(valid.value) and int(ready.value):
                self._bursts.append((self._cycle, int(beats.value) + 1))

    async def _wait(self) -> None:
        """Until the latency of the burst that the next beat is of has passed."""
        if not self._beats:
            while not self._bursts:
                await RisingEdge(self._clock)
            accepted, self._beats = self._bursts.popleft()
            if (rest := accepted + self._latency - self._cycle) > 0:
                await ClockCycles(self._clock, rest)
        self._beats -= 1


class Machine:
    """The accelerator out of reset, with its memory, as a driver sees it."""

    def __init__(self, dut: Any, registers: Registers, latency: int) -> None:
        self.dut = dut
        self.registers = registers
        self.memory = Memory(dut, latency)
        ends, how = (dut.aclk, dut.aresetn), {"reset_active_level": False}
        bus = AxiBus.from_prefix(dut, "m_axi")
        self._read = AxiSlaveRead(bus.read, *ends, target=self.memory, **how)
        self._write = AxiSlaveWrite(bus.write, *ends, target=self.memory, **how)
        self._lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), *ends, **how)
        for name in ("m_axi", "s_axi"):
            # A line for each transfer is too much.
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)

    @classmethod
    async def power_on(cls, dut: Any, registers: Registers, latency: int = 0) -> Machine:
        """Clock, reset, and the models on both buses."""
        dut.aresetn.value = 0
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            dut[f"m_axi_{name}"].value = 0
        for name in ("arvalid", "rready", "awvalid", "wvalid", "bready"):
            dut[f"s_axi_{name}"].value = 0
        Clock(dut.aclk, NANOSECONDS, "ns").start()
        # The models look at the outputs from their first moment on: these must be known by then.
        await ClockCycles(dut.aclk, RESET_CYCLES)
        machine = cls(dut, registers, latency)
        await ClockCycles(dut.aclk, 2)
        dut.aresetn.value = 1
        await ClockCycles(dut.aclk, 2)
        return machine

    def hinder(self, share: float, seed: int = 1) -> None:
        """From now on every channel of both buses waits in this share of the cycles."""
        channels = (
            *(self._read.ar_channel, self._read.r_channel),
            *(self._write.aw_channel, self._write.w_channel, self._write.b_channel),
            *(self._lite.read_if.ar_channel, self._lite.read_if.r_channel),
            *(self._lite.write_if.aw_channel, self._lite.write_if.w_channel),
            self._lite.write_if.b_channel,
        )
        for number, channel in enumerate(channels):
            channel.set_pause_generator(_pauses(random.Random(31 * seed + number), share))

    async def read_word(self, offset: int) -> tuple[int, bool]:
        """A word of the registers, and whether the answer was OKAY."""
        answer = await self._lite.read(offset, 4)
        return int.from_bytes(answer.data, "little"), answer.resp == AxiResp.OKAY

    async def read(self, name: str) -> int:
        """A register of 32 bits."""
        value, okay = await self.read_word(self.registers[name])
        assert okay, f"reading {name} was answered with an error"
        return value

    async def write(self, name: str, value: int) -> None:
        """Write a register of 32 bits."""
        await self.write_word(self.registers[name], value)

    async def write_word(self, offset: int, value: int) -> None:
        """Write a word of the registers."""
        answer = await self._lite.write(offset, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"writing {offset:#x} was answered with an error"

    async def write_long(self, offset: int, value: int) -> None:
        """Write a register of 64 bits: two words, the low one first."""
        await self.write_word(offset, value & 0xFFFF_FFFF)
        await self.write_word(offset + 4, value >> 32)

    async def load(self, stream: Stream, address: int) -> None:
        """Put a stream into memory, a multiple of 4,096; asserts that it is for this machine."""
        assert address % PAGE == 0
        for register, expected in stream.checks:
            value, okay = await self.read_word(register)
            assert okay, f"register {register:#x} is not there"
            assert value == expected, (
                f"the stream is for another machine: register {register:#x} is {value:#x} and not "
                f"{expected:#x}"
            )
        self.memory.add(address, stream.memory)

    async def start(self, stream: Stream, address: int) -> None:
        """Launch a stream that is in memory."""
        both = self.registers["INTERRUPT_DONE"] | self.registers["INTERRUPT_ERROR"]
        await self.write("IRQ_STATUS", both)
        await self.write_long(self.registers["INSTRUCTION_ADDRESS"], address + stream.program)
        await self.write("INSTRUCTION_COUNT", stream.count)
        for base in stream.bases:
            await self.write_long(base, address)
        await self.write("IRQ_ENABLE", both)
        await self.write("CONTROL", self.registers["CONTROL_LAUNCH"])

    async def interrupted(self, limit: int) -> None:
        """Wait for the interrupt, and clear it."""
        for _ in range(limit):
            if int(self.dut.irq.value):
                break
            await RisingEdge(self.dut.aclk)
        else:
            raise AssertionError(f"no interrupt within {limit:,} cycles")
        await self.write("IRQ_STATUS", await self.read("IRQ_STATUS"))
        await RisingEdge(self.dut.aclk)
        assert not int(self.dut.irq.value), "the interrupt stays after it was cleared"

    async def poll(self, limit: int) -> None:
        """Read the status until nothing runs."""
        busy = self.registers["STATUS_RUNNING"] | self.registers["STATUS_DRAINING"]
        for _ in range(limit):
            if not await self.read("STATUS") & busy:
                return
        raise AssertionError(f"it still runs after {limit:,} polls")

    async def check_done(self) -> int:
        """Assert that the last launch ended well; returns its cycles."""
        status = await self.read("STATUS")
        if not status & self.registers["STATUS_DONE"]:
            code = self.registers.name_of("FAULT_", await self.read("ERROR_CODE"))
            at = await self.read("ERROR_INSTRUCTION")
            raise AssertionError(f"status {status:#x}: {code} at instruction {at:#x}")
        return await self.read("CYCLES") | await self.read("CYCLES_HIGH") << 32


def _pauses(draw: random.Random, share: float) -> Iterator[bool]:
    """Single cycles, and runs of ten."""
    while True:
        paused = draw.random() < share
        for _ in range(draw.choice((1, 1, 1, 10))):
            yield paused
