"""How long the LOADs of a program take on an otherwise idle bus."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tandem.hw.config import PAGE_BYTES
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.isa import Assembler, Finish, Load, Loop, Program, Tokens
from tandem.hw.isa.instructions import unit_of
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import Unit
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.sim.why.times import RunTimes


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
        in_a_page = max(1, PAGE_BYTES // self.program.config.dram_unit(load.memory))
        load = replace(load, dram_base=load.dram_base % in_a_page, tokens=Tokens())
        if load not in self._known:
            self._known[load] = self._cycles(load)
        return self._known[load]

    def _cycles(self, load: Load) -> int:
        """The cycles of a LOAD behind a GEMM that lasts until the whole program is fetched."""
        config, memory = self.program.config, self.memory
        last = load.dram_base + max(load.y_size - 1, 0) * load.x_stride
        size = load.x_size * config.element_bytes(load.memory, load.coding)
        image = np.zeros(max(1, last * config.dram_unit(load.memory) + size), np.uint8)
        beats = 3 * INSTRUCTION_BYTES // config.bus_bytes + 1
        asm = Assembler(config)
        loops = [Loop(_ROUND), Loop((memory.latency + beats * memory.interval) // _ROUND + 1)]
        waits = unit_of(load) is Unit.LOAD
        asm.gemm((0, 1), loops, reset=True, signals=Unit.LOAD if waits else ())
        tokens = Tokens(pop_next=waits)
        rest = Program.from_instructions(config, [replace(load, tokens=tokens), Finish()])
        program = Program(config, asm.build().data + rest.data)
        placed, address = place_program(image, program)
        engine = make_engine("cycle", config, memory)
        result = engine.launch(program, placed, Launch(address=address, events=True, data=False))
        engine.close()
        times = RunTimes.of(program, result)
        return times.end[1] - times.start[1]


_ROUND = 1000
"""Iterations of the GEMM's inner loop: more than what fetch takes besides memory's answers."""
