from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.lower.accelerator.commands import Command, Compute, Copy, Kernel, Loop
from compiler.lower.accelerator.footprints import Footprints, Where
from hw.config_files import load_config
from hw.encoding import AluOp
from hw.memories import MemoryId
from tests.support.command_machine import Place, touched
from tests.support.random_commands import ORIGIN, random_commands

TINY = load_config("tiny")


def places(parts: tuple[tuple[MemoryId, Where], ...]) -> set[Place]:
    found = set[Place]()
    for memory, where in parts:
        elements = np.arange(TINY.depth(memory))[where].tolist()
        assert len(elements) == len(set(elements))
        found |= {(memory.name.lower(), element) for element in elements}
    return found


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_footprints_are_what_is_touched(rng: random.Random) -> None:
    footprints = Footprints(TINY)
    for command in random_commands(rng, TINY, 8, range(512), range(512, 1024)):
        found = footprints.of(command)
        reads, writes = (
            {each for each in part if each[0] != "dram"} for part in touched(command, TINY)
        )
        assert places(found.writes) == writes
        # Accumulators that are changed are read too: `keeps` says so.
        assert places(found.reads) | (writes if found.keeps else set()) == reads


def test_commands_that_differ_in_operands_have_footprints_of_their_own() -> None:
    footprints = Footprints(TINY)
    kernel = Kernel((1,), (2,), (3,))

    def compute(op: AluOp | None, imm: int | None, reset: bool) -> Compute:
        return Compute(
            kernel=kernel, outer=Loop(1), inner=Loop(1), op=op, imm=imm, reset=reset, origin=ORIGIN
        )

    kinds = (
        compute(None, None, False),
        compute(None, None, True),
        compute(AluOp.ADD, None, False),
        compute(AluOp.ADD, 1, False),
    )
    found = [[memory for memory, _ in footprints.of(each).reads] for each in kinds]
    assert found == [[MemoryId.INP, MemoryId.WGT], [], [MemoryId.ACC], []]
    assert [footprints.of(each).keeps for each in kinds] == [True, False, True, True]
    assert footprints.of(kinds[2]) is footprints.of(compute(AluOp.MAX, None, False))


def test_micro_ops_are_left_out() -> None:
    load: Command = Copy(
        memory=MemoryId.UOP, sram=0, dram=0, rows=1, columns=4, stride=0, origin=ORIGIN
    )
    found = Footprints(TINY).of(load)
    assert (found.reads, found.writes) == ((), ())
