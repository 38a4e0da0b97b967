"""LOADs alone on the bus."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.config import PAGE_BYTES
from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, Finish, Load, MemoryId, Program, Tokens
from tandem.hw.memory_model import MemoryModel
from tandem.sim.why.lone_loads import LoneLoads
from tandem.sim.why.times import RunTimes
from tests.support.sim.programs import random_program
from tests.support.sim.why_runs import MEMORIES, run_of


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(["tiny", "small8", "batch2"]), MEMORIES, st.integers(0, 1 << 32))
def test_nothing_is_faster_than_alone(name: str, memory: MemoryModel, seed: int) -> None:
    drawn = random_program(load_config(name), seed, 24)
    times = RunTimes.of(drawn.program, run_of(drawn.program, memory, drawn.image))
    alone = LoneLoads(drawn.program, memory)
    for at, instruction in enumerate(drawn.program):
        if isinstance(instruction, Load):
            assert alone(at) <= times.end[at] - times.start[at]


@pytest.mark.parametrize("memory", [MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.UOP])
def test_a_page_is_like_another(memory: MemoryId) -> None:
    """Where in its page a LOAD begins counts, and nothing else of its address."""
    config = load_config("small8")
    rng = random.Random(3)
    elements = PAGE_BYTES // config.element_bytes(memory)
    timing = MemoryModel(12, 2, 2)
    for _ in range(8):
        asm = Assembler(config)
        asm.load(
            memory,
            sram=0,
            dram=rng.randrange(8 * elements),
            rows=rng.randint(1, 4),
            columns=rng.randint(1, 8),
            stride=rng.randint(8, 700),
        )
        asm.finish()
        program = asm.build()
        times = RunTimes.of(program, run_of(program, timing, np.zeros(1 << 18, np.uint8)))
        assert LoneLoads(program, timing)(0) == times.end[0] - times.start[0]


def test_tokens_are_left_out() -> None:
    config = load_config("small8")
    load = Load(
        memory=MemoryId.INP,
        sram_base=0,
        dram_base=5,
        y_size=1,
        x_size=9,
        x_stride=9,
        tokens=Tokens(push_next=True),
    )
    program = Program.from_instructions(config, [load, Finish()])
    assert LoneLoads(program, MemoryModel(10))(0) > 9
