"""Programs that store their own micro-ops: refused if a LOAD reads a byte that was stored."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.hazards.dram import rectangles_of
from tandem.hw.isa import Finish, Load, MemoryId, Program, Store
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.cycle.micro_op_sources import check_micro_op_sources, check_program
from tandem.sim.errors import EngineError

TINY = load_config("tiny")
BASES = (64, 0, 0, 0, 128, 0, 0)


def rectangle(rng: random.Random, kind: type[Load] | type[Store], memory: MemoryId) -> Load | Store:
    rows, columns = rng.randint(1, 4), rng.randint(1, 4)
    return kind(
        memory=memory,
        sram_base=0,
        dram_base=rng.randrange(60),
        y_size=rows,
        x_size=columns,
        x_stride=columns + rng.randrange(6),
    )


def touched(instruction: Load | Store) -> set[int]:
    """The bytes of an access."""
    size, base = TINY.element_bytes(instruction.memory), BASES[instruction.memory]
    found: set[int] = set()
    for row in range(instruction.y_size):
        first = instruction.dram_base + row * instruction.x_stride
        begin, end = first * size, (first + instruction.x_size) * size
        found.update(range(base + begin, base + end))
    return found


def test_refused_exactly_where_bytes_overlap() -> None:
    rng, refused = random.Random(3), 0
    for _ in range(400):
        pair = [
            rectangle(rng, Store, MemoryId.OUT),
            rectangle(rng, Load, MemoryId.UOP),
        ]
        rng.shuffle(pair)
        columns = Program.from_instructions(TINY, [*pair, Finish()]).columns()
        overlap = bool(touched(pair[0]) & touched(pair[1]))
        accesses = rectangles_of(TINY, columns, BASES)
        if overlap and isinstance(pair[0], Store):
            refused += 1
            with pytest.raises(EngineError, match="loads micro-ops that instruction 0 stores"):
                check_micro_op_sources(columns, accesses)
        else:
            check_micro_op_sources(columns, accesses)
    assert 20 < refused < 350


def test_nothing_to_check() -> None:
    columns = Program.from_instructions(TINY, [Finish()]).columns()
    check_micro_op_sources(columns, rectangles_of(TINY, columns, BASES))
    assert np.count_nonzero(columns.opcode) == 1


def test_stores_to_the_program() -> None:
    size = TINY.element_bytes(MemoryId.OUT)
    store = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=2, x_size=2, x_stride=16)
    columns = Program.from_instructions(TINY, [store, Finish()]).columns()
    accesses = rectangles_of(TINY, columns, (0,) * BASE_REGISTERS)
    check_program(accesses, 2 * size, 14 * size, len(columns.opcode))
    for address, length in ((0, 1), (2 * size - 1, 16), (17 * size, 16), (0, 1 << 20)):
        with pytest.raises(EngineError, match="instruction 0 stores to where the program lies"):
            check_program(accesses, address, length, len(columns.opcode))
    check_program(accesses, address, length, 0)  # nothing of it executes
