"""The critical paths of layers: their cycles, by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Program, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch
from tandem.sim.errors import EngineError
from tandem.sim.trace import Labels
from tandem.sim.why.critical_path import Edge, EdgeKind
from tandem.sim.why.layer_paths import layer_paths

TINY = load_config("tiny")
MEMORY = MemoryModel(8, 1, 16)


def program() -> Program:
    """Two LOADs, and an instruction of compute behind each."""
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    asm.load(MemoryId.INP, sram=1, dram=2, columns=1, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.LOAD)
    return asm.build()


def paths_of(layer_of: list[int], layers: int, *, events: bool = True) -> list[tuple[Edge, ...]]:
    result = CycleEngine(TINY, MEMORY).launch(
        program(), np.zeros(4096, np.uint8), Launch(address=1024, events=events)
    )
    names = tuple(f"layer {number}" for number in range(layers))
    labels = Labels(names, (0,) * layers, np.array(layer_of), [""] * 4)
    return list(layer_paths(program(), result, labels, MEMORY))


def test_edges_of_each_layer_lie_end_to_end() -> None:
    """The first ends in cycle 32, with the instruction of compute, and the run in 48."""
    first, second, nothing = paths_of([0, 0, 1, 1], 3)
    assert nothing == ()
    for path, begin, end in ((first, 0, 32), (second, 32, 48)):
        assert [path[0].start, path[-1].end] == [begin, end]
        assert all(before.end == after.start for before, after in pairwise(path))
    # The LOAD from its start in 18, the token to 31 and on to 32; the second LOAD has begun in 31.
    found = [(edge.kind, edge.start, edge.end) for edge in first if edge.start >= 18]
    assert found == [(EdgeKind.LOAD, 18, 30), (EdgeKind.TOKEN, 30, 31), (EdgeKind.TOKEN, 31, 32)]
    found = [(edge.kind, edge.start, edge.end) for edge in second]
    assert found[:2] == [(EdgeKind.LOAD, 32, 43), (EdgeKind.TOKEN, 43, 44)]


def test_paths_of_the_spans_of_a_layer_follow_each_other() -> None:
    both, middle = paths_of([0, 1, 1, 0], 2)
    assert middle[0].start == 0
    assert sum(edge.cycles for edge in middle) == 32
    assert sum(edge.cycles for edge in both) == 16


def test_a_run_without_events() -> None:
    with pytest.raises(EngineError):
        paths_of([0, 0, 0, 0], 1, events=False)
