"""On-chip memories filled with a pattern, to find programs that rely on their initial contents.

Memories start with arbitrary values in hardware, with zeros in simulators. A program whose result
depends on the pattern reads elements that it never wrote.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tandem.hw.codings import TABLE_ENTRIES
from tandem.hw.isa import Assembler, MemoryId
from tandem.sim.engine import Engine, Launch
from tandem.sim.errors import EngineError
from tandem.sim.memory import place_program

FILLED = (MemoryId.UOP, MemoryId.WGT, MemoryId.INP, MemoryId.PAR, MemoryId.ACC)
"""The memories to fill, where the machine has them: all but OUT, which LOADs of ACC write too."""
SOURCE_BYTES = 1024
"""Minimum size of the pattern in DRAM: short bursts would make the loads slow."""


def fill_on_chip(engine: Engine, pattern: int, *, waveform: Path | None = None) -> None:
    """Fill every byte of the on-chip memories, and of the table of codes, with `pattern` (0..255),
    by a program of LOADs.

    The fill is an ordinary launch, so it works on every engine. `waveform` is for engines that can
    trace only from their first launch on; the next launch overwrites the file.

    Raises
    ------
    EngineError
        The pattern is not in 0..255.
    """
    if not 0 <= pattern <= 0xFF:
        raise EngineError(f"the pattern is {pattern:#x}: it must be a byte, 0x00..0xff")
    config = engine.config
    filled = [memory for memory in FILLED if memory in config.memories]
    source = max(SOURCE_BYTES, *(2 * config.element_bytes(memory) for memory in filled))
    asm = Assembler(config)
    for memory in filled:
        depth = config.depth(memory)
        columns = min(depth, source // config.element_bytes(memory))
        # Stride 0: every row loads the same elements of DRAM.
        asm.load(memory, sram=0, dram=0, rows=depth // columns, columns=columns, stride=0)
    if MemoryId.WGT_CODES in config.memories:
        asm.table([(pattern ^ 0x80) - 0x80] * TABLE_ENTRIES)
    asm.finish()
    program = asm.build()
    dram, address = place_program(np.full(source, pattern, dtype=np.uint8), program)
    engine.launch(program, dram, Launch(address=address, waveform=waveform))
