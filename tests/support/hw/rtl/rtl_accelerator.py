"""A whole accelerator with its memory, as a driver sees it: registers by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.registers import Control, Status, register_map
from tandem.hw.rtl.top import Accelerator
from tests.support.hw.rtl.rtl import Agent, Context, built, simulate
from tests.support.hw.rtl.rtl_bus import AxiLiteDriver, AxiReadMemory, AxiWriteMemory

PAGE = 4096
POLLS = 3000
_REGISTERS = {register.name: register for register in register_map()}


def physical(image: bytes | bytearray, program: Program) -> tuple[bytearray, int]:
    """Memory with `program` on the first page above `image`; and the program's address."""
    address = -(-len(image) // PAGE) * PAGE
    content = bytearray(image) + bytearray(address - len(image)) + bytearray(program.data)
    content += bytearray(-len(content) % PAGE)
    return content, address


class Machine:
    """An accelerator in the simulator. `options` are passed to both memory agents."""

    def __init__(
        self,
        config: HardwareConfig,
        content: bytearray,
        rng: random.Random,
        *,
        read: dict[str, Any] | None = None,
        write: dict[str, Any] | None = None,
    ) -> None:
        self.block: Accelerator = built(Accelerator, config)
        self.content = content
        self.driver = AxiLiteDriver(self.block.s_axi, rng)
        self.reads = AxiReadMemory(config, self.block.m_axi, content, rng, **(read or {}))
        self.writes = AxiWriteMemory(config, self.block.m_axi, content, rng, **(write or {}))
        self.watched: list[Agent] = []

    def run(self, bench: Callable[[Context], Any]) -> None:
        """Simulate `bench` with both memory agents."""

        async def serve(ctx: Context) -> None:
            agents: list[Agent] = [self.reads, self.writes, *self.watched]
            while True:
                for agent in agents:
                    agent.drive(ctx)
                for agent in agents:
                    agent.sample(ctx)
                await ctx.tick()

        simulate(self.block, bench, serve)

    async def get(self, ctx: Context, name: str) -> int:
        """A register's value; a 64-bit register takes two reads."""
        register = _REGISTERS[name]
        value = 0
        for part in range(register.bits // 32):
            response, word = await self.driver.read(ctx, register.offset + 4 * part)
            assert response == 0
            value |= word << 32 * part
        return value

    async def put(self, ctx: Context, name: str, value: int) -> None:
        """Write a register."""
        register = _REGISTERS[name]
        for part in range(register.bits // 32):
            word = value >> 32 * part & 0xFFFF_FFFF
            assert await self.driver.write(ctx, register.offset + 4 * part, word) == 0

    async def launch(self, ctx: Context, address: int, count: int) -> None:
        """Start a program, with both interrupts enabled."""
        await self.put(ctx, "irq_enable", 0b11)
        await self.put(ctx, "instruction_address", address)
        await self.put(ctx, "instruction_count", count)
        await self.put(ctx, "control", Control.LAUNCH)

    async def wait(self, ctx: Context, limit: int = 60000) -> Status:
        """Wait for the interrupt, clear it, and return the status."""
        for _ in range(limit):
            if ctx.get(self.block.irq):
                break
            await ctx.tick()
        else:
            raise AssertionError(f"no interrupt in {limit} cycles")
        await self.put(ctx, "irq_status", 0b11)
        assert not ctx.get(self.block.irq)
        return Status(await self.get(ctx, "status"))

    async def soft_reset(self, ctx: Context) -> None:
        """Reset, and wait until outstanding bus transactions are complete."""
        await self.put(ctx, "control", Control.SOFT_RESET)
        for _ in range(POLLS):
            if not Status(await self.get(ctx, "status")) & (Status.RUNNING | Status.DRAINING):
                return
        raise AssertionError("the machine does not stop")
