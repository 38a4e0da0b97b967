"""Critical paths: edges end to end, each of them a true dependence of the run."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, Program, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import TokenQueue
from tandem.sim.result import Result
from tandem.sim.why.critical_path import Edge, EdgeKind, PathFinder
from tandem.sim.why.lone_loads import LoneLoads
from tandem.sim.why.times import RunTimes
from tests.support.examples import examples
from tests.support.sim.programs import random_program
from tests.support.sim.why_runs import MEMORIES, run_of


def check_edge(edge: Edge, program: Program, times: RunTimes) -> None:
    """An edge is a dependence with no slack; the first edge of a path may be cut off."""
    at = edge.instruction
    match edge.kind:
        case EdgeKind.TOKEN if edge.queue is not None:
            assert edge.end == times.start[at]
            (push,) = [each for each in times.tokens[at] if each.queue is edge.queue]
            assert times.end[push.pushed_by] == edge.start == edge.end - 1
        case EdgeKind.QUEUE:
            stream = times.streams[times.units[at]]
            ahead = stream[times.ordinals[at] - program.config.instruction_queue]
            assert (times.start[ahead] + 1, times.dispatch[at]) == (edge.end, edge.end)
        case EdgeKind.FETCH if edge.end == times.start[at]:
            assert times.dispatch[at] == edge.start == edge.end - 1
        case EdgeKind.FETCH:
            assert edge.end == times.dispatch[at] == times.fetch[at]
            assert edge.start >= (times.dispatch[at - 1] if at else 0)
        case EdgeKind.OTHER if edge.end == times.cycles:
            assert edge.start == max(times.end)
        case _:
            # To the end, or to the start of the next instruction, which may overlap.
            following = times.streams[times.units[at]][times.ordinals[at] + 1 :][:1]
            starts = [times.start[each] for each in following]
            ends = (times.end[at], *starts)
            assert times.start[at] <= edge.start < edge.end <= max(ends)
            assert edge.end in ends or edge.kind is EdgeKind.BUS


def check(program: Program, result: Result, memory: MemoryModel, begin: int = 0) -> None:
    times = RunTimes.of(program, result)
    finder = PathFinder.of(program, times, LoneLoads(program, memory))
    ends = {times.end[each] for each in times.streams[Unit.COMPUTE]}
    for end in (*ends, times.cycles):
        edges = finder.path(begin, end)
        if end <= begin:
            assert edges == ()
            continue
        assert (edges[0].start, edges[-1].end) == (begin, end)
        assert all(edge.end == following.start for edge, following in pairwise(edges))
        assert min(edge.cycles for edge in edges) > 0
        for edge in edges[1 if begin else 0 :]:
            check_edge(edge, program, times)


@examples(8, 80)
@given(
    st.sampled_from(["tiny", "small8", "small8-x"]),
    MEMORIES,
    st.integers(0, 1 << 32),
    st.sampled_from([2, 4, 32]),
    st.integers(0, 300),
)
def test_random_programs(name: str, memory: MemoryModel, seed: int, queue: int, begin: int) -> None:
    config = load_config(name).replace(instruction_queue=queue)
    drawn = random_program(config, seed, 24)
    result = run_of(drawn.program, memory, drawn.image)
    check(drawn.program, result, memory)
    check(drawn.program, result, memory, begin)


def test_the_rtl_has_the_same_path() -> None:
    drawn = random_program(load_config("small8"), 7, 40)
    memory = MemoryModel(30, 2, 4)
    paths = []
    for engine in ("rtl", "cycle"):
        result = run_of(drawn.program, memory, drawn.image, engine=engine)
        times = RunTimes.of(drawn.program, result)
        paths.append(PathFinder.of(drawn.program, times).path(0, times.cycles))
    assert paths[0] == paths[1]
    assert len(paths[0]) > 10


def cycles_by_kind(asm: Assembler, memory: MemoryModel) -> Counter[EdgeKind]:
    """The cycles of the path of a whole run."""
    program = asm.build()
    result = run_of(program, memory)
    check(program, result, memory)
    times = RunTimes.of(program, result)
    path = PathFinder.of(program, times, LoneLoads(program, memory)).path(0, times.cycles)
    found: Counter[EdgeKind] = Counter()
    for edge in path:
        found[edge.kind] += edge.cycles
    assert found.total() == times.cycles
    return found


def rounds(config: HardwareConfig, columns: int, products: int) -> Assembler:
    """Loads of `columns` inputs to one of two places, and `products` micro-ops on each."""
    asm = Assembler(config)
    for number in range(10):
        late = Unit.COMPUTE if number > 1 else ()
        place = 256 * (number % 2)
        asm.load(
            MemoryId.INP,
            sram=place,
            dram=0x100,
            columns=columns,
            waits_for=late,
            signals=Unit.COMPUTE,
        )
        frees = Unit.LOAD if number < 8 else ()
        asm.gemm((0, 1), [Loop(products)], waits_for=Unit.LOAD, signals=frees)
    asm.finish()
    return asm


def test_bound_by_loads() -> None:
    found = cycles_by_kind(rounds(HardwareConfig(), 128, 10), MemoryModel(20, 2))
    ((kind, cycles),) = found.most_common(1)
    assert kind is EdgeKind.LOAD
    # Each loads 256 beats, two cycles apart; what compute does is hidden.
    assert cycles > 10 * 2 * 256
    assert found[EdgeKind.GEMM] < 30


def test_bound_by_products() -> None:
    found = cycles_by_kind(rounds(HardwareConfig(), 8, 800), MemoryModel(20, 2))
    ((kind, cycles),) = found.most_common(1)
    assert kind is EdgeKind.GEMM
    assert 10 * 800 <= cycles < 10 * 800 + 40
    assert found[EdgeKind.LOAD] < 100


def test_bound_by_the_alu() -> None:
    asm = Assembler(HardwareConfig())
    for _ in range(5):
        asm.alu(AluOp.ADD, (0, 1), [Loop(700, dst=1)], imm=1)
    asm.finish()
    found = cycles_by_kind(asm, MemoryModel(10))
    assert found.most_common(1)[0][0] is EdgeKind.ALU
    assert found[EdgeKind.ALU] >= 5 * 700


def test_bound_by_tokens() -> None:
    asm = Assembler(HardwareConfig(bus_bits=512))
    for number in range(60):
        asm.nop(Unit.LOAD, waits_for=Unit.COMPUTE if number else (), signals=Unit.COMPUTE)
        asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD, signals=Unit.LOAD if number < 59 else ())
    asm.finish()
    found = cycles_by_kind(asm, MemoryModel(1))
    assert found.most_common(1)[0][0] is EdgeKind.TOKEN
    assert found[EdgeKind.TOKEN] >= 60 * 4 - 2


def test_bound_by_stores() -> None:
    asm = Assembler(HardwareConfig())
    asm.gemm((0, 1), reset=True, signals=Unit.STORE)
    asm.store(sram=0, dram=0x100, columns=900, waits_for=Unit.COMPUTE)
    asm.finish()
    found = cycles_by_kind(asm, MemoryModel(10, 3))
    assert found.most_common(1)[0][0] is EdgeKind.STORE
    assert found[EdgeKind.STORE] > 3 * 2 * 900


def test_bound_by_fetch() -> None:
    asm = Assembler(HardwareConfig())
    for _ in range(40):
        asm.gemm((0, 1), reset=True)
    asm.finish()
    found = cycles_by_kind(asm, MemoryModel(10, 20))
    assert found.most_common(1)[0][0] is EdgeKind.FETCH


def test_a_queue_that_is_full() -> None:
    """Behind four long GEMMs stands a LOAD that could have begun together with the first."""
    asm = Assembler(HardwareConfig(instruction_queue=2))
    for _ in range(4):
        asm.gemm((0, 1), [Loop(500)], reset=True)
    asm.load(MemoryId.INP, sram=0, dram=0x100, columns=2000, signals=Unit.COMPUTE)
    asm.gemm((0, 1), [Loop(4)], waits_for=Unit.LOAD)
    asm.finish()
    found = cycles_by_kind(asm, MemoryModel(10))
    assert found[EdgeKind.QUEUE] == 1
    assert found[EdgeKind.LOAD] > 4000
    assert found[EdgeKind.GEMM] + found[EdgeKind.RESET] < 4 * 500


def test_a_bus_that_others_use() -> None:
    """Compute's LOAD has priority: load's takes as much longer as compute's beats."""
    asm = Assembler(HardwareConfig())
    asm.load(MemoryId.INP, sram=0, dram=0x100, columns=1000, signals=Unit.COMPUTE)
    asm.load(MemoryId.ACC, sram=0, dram=0x40, columns=100)
    asm.gemm((0, 1), waits_for=Unit.LOAD)
    asm.finish()
    program = asm.build()
    memory = MemoryModel(10)
    times = RunTimes.of(program, run_of(program, memory))
    found = cycles_by_kind(asm, memory)
    alone = LoneLoads(program, memory)(0)
    assert found[EdgeKind.BUS] == times.end[0] - times.start[0] - alone
    # Elements of 64 bytes through a bus of 8; a few beats of fetch besides.
    assert 800 <= found[EdgeKind.BUS] < 850
    assert found[EdgeKind.LOAD] == alone


def test_the_queue_of_a_token() -> None:
    program = rounds(HardwareConfig(), 128, 10).build()
    times = RunTimes.of(program, run_of(program, MemoryModel(20, 2)))
    path = PathFinder.of(program, times).path(0, times.cycles)
    queues = {edge.queue for edge in path if edge.kind is EdgeKind.TOKEN}
    assert queues == {TokenQueue.LOAD_TO_COMPUTE}
    assert EdgeKind.BUS not in {edge.kind for edge in path}


@pytest.mark.parametrize("begin", [0, 50])
def test_a_path_of_no_length(begin: int) -> None:
    program = rounds(HardwareConfig(), 8, 8).build()
    times = RunTimes.of(program, run_of(program, MemoryModel(20)))
    first = times.streams[Unit.COMPUTE][0]
    finder = PathFinder.of(program, times)
    assert finder.path(times.end[first] + begin, times.end[first]) == ()
