"""How long the LOADs of a program take on an otherwise idle bus."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hw.config import PAGE_BYTES
from hw.isa import Finish, Load, Program, Tokens
from hw.memory_model import MemoryModel
from sim.engine import Launch
from sim.engines import make_engine
from sim.memory import place_program
from sim.result import EventKind


@dataclass(frozen=True, slots=True)
class LoneLoads:
    """Cycles from start to end of LOADs that run alone, by the cycle engine.

    Base registers are 0. Only a LOAD's place within a page counts, not the page: bursts are cut
    at pages.
    """

    program: Program
    memory: MemoryModel
    _known: dict[Load, int] = field(default_factory=dict, repr=False)

    def __call__(self, instruction: int) -> int:
        """The cycles of the LOAD with this index in the program."""
        load = self.program[instruction]
        assert isinstance(load, Load), "asked of LOADs only"
        in_a_page = max(1, PAGE_BYTES // self.program.config.element_bytes(load.memory))
        load = replace(load, dram_base=load.dram_base % in_a_page, tokens=Tokens())
        if load not in self._known:
            self._known[load] = self._cycles(load)
        return self._known[load]

    def _cycles(self, load: Load) -> int:
        config = self.program.config
        last = load.dram_base + max(load.y_size - 1, 0) * load.x_stride + load.x_size
        image = np.zeros(max(1, last * config.element_bytes(load.memory)), np.uint8)
        program = Program.from_instructions(config, [load, Finish()])
        memory, address = place_program(image, program)
        engine = make_engine("cycle", config, self.memory)
        result = engine.launch(program, memory, Launch(address=address, events=True, data=False))
        engine.close()
        times = {event.kind: event.cycle or 0 for event in result.events if event.instruction == 0}
        return times[EventKind.END] - times[EventKind.START]
