"""What commands touch of DRAM, compared with byte by byte; who touched it last."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.lower.accelerator.commands import Copy
from compiler.lower.accelerator.footprints import Footprints
from compiler.lower.accelerator.last_accesses import NOBODY, LastAccesses
from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.memories import MemoryId, Module
from tests.support.random_commands import random_copy

CONFIG = load_config("tiny")
DRAM = 4096


def touched_steps(accesses: LastAccesses, copy: Copy) -> set[int]:
    touched = accesses.touched(copy)
    (where,) = (where for memory, where in (*touched.reads, *touched.writes) if memory is None)
    return set(np.arange(DRAM)[where].tolist())


def steps_by_bytes(copy: Copy, config: HardwareConfig) -> set[int]:
    size = config.element_bytes(copy.memory)
    grain = min(config.element_bytes(each) for each in (MemoryId.INP, MemoryId.OUT))
    starts = [(copy.dram + row * copy.stride) * size for row in range(copy.rows)]
    length = copy.columns * size
    return {byte // grain for start in starts for byte in range(start, start + length)}


@given(st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_copies_touch_the_bytes_that_they_move(rng: random.Random) -> None:
    # Several by one object: what it keeps of a copy serves others of the same shape elsewhere.
    accesses = LastAccesses(Footprints(CONFIG), DRAM)
    memories = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.ACC_8BIT, MemoryId.OUT)
    for _ in range(40):
        copy = random_copy(rng, CONFIG, rng.choice(memories), range(0, DRAM // 4))
        assert touched_steps(accesses, copy) == steps_by_bytes(copy, CONFIG)


def test_the_last_is_found_where_it_touched() -> None:
    rng = random.Random(0)
    accesses = LastAccesses(Footprints(CONFIG), DRAM)
    load = accesses.touched(random_copy(rng, CONFIG, MemoryId.INP, range(0, 1024)))
    elsewhere = accesses.touched(random_copy(rng, CONFIG, MemoryId.OUT, range(1024, 2048)))
    assert accesses.needed(load, Module.STORE) == NOBODY
    accesses.add(elsewhere, Module.STORE, 3)
    assert accesses.needed(load, Module.STORE) == NOBODY
    assert accesses.needed(elsewhere, Module.STORE) == 3
    accesses.add(elsewhere, Module.STORE, 7)
    assert accesses.needed(elsewhere, Module.STORE) == 7
    assert accesses.needed(elsewhere, Module.LOAD) == NOBODY
