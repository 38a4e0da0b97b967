"""An accelerator without registers and launch control, with its memory."""

from __future__ import annotations

import random
from typing import Any

from tandem.hw.faults import Fault
from tandem.hw.isa import Program, Unit
from tests.support.hw.rtl.on_bus import CoreOnBus
from tests.support.hw.rtl.rtl import Agent, Context, StatusLog, Watch, built, cycle, cycles
from tests.support.hw.rtl.rtl_accelerator import physical
from tests.support.hw.rtl.rtl_bus import AxiReadMemory, AxiWriteMemory


class Stand:
    """A core with its memory."""

    def __init__(
        self,
        program: Program,
        image: bytes,
        rng: random.Random,
        *,
        read: dict[str, Any] | None = None,
        write: dict[str, Any] | None = None,
    ) -> None:
        config = program.config
        self.program = program
        self.design = built(CoreOnBus, config)
        self.core, self.bus = self.design.core, self.design.bus
        self.content, self.address = physical(image, program)
        self.reads = AxiReadMemory(config, self.design.axi, self.content, rng, **(read or {}))
        self.writes = AxiWriteMemory(config, self.design.axi, self.content, rng, **(write or {}))
        self.logs = {unit: StatusLog(getattr(self.core, unit.name.lower())) for unit in Unit}
        self.faults: list[tuple[Fault, int]] = []
        self.agents: tuple[Agent, ...] = (
            self.reads,
            self.writes,
            *self.logs.values(),
            Watch(self.look),
        )

    def look(self, ctx: Context) -> None:
        fault = Fault(ctx.get(self.core.fault))
        if fault is not Fault.NONE:
            self.faults.append((fault, ctx.get(self.core.fault_index)))

    async def start(self, ctx: Context) -> None:
        """The first cycle."""
        core = self.core
        ctx.set(core.address, self.address)
        ctx.set(core.count, len(self.program))
        ctx.set(core.start, 1)
        await cycle(ctx, *self.agents)
        ctx.set(core.start, 0)

    async def finish(self, ctx: Context) -> None:
        """To completion."""
        await self.start(ctx)
        await cycles(
            ctx, *self.agents, until=lambda: bool(ctx.get(self.core.complete)), limit=30000
        )
