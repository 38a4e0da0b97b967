"""Every cycle of a run has one cause: that of a plain reading of the definition, cycle by cycle."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, Program, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.sim.errors import EngineError
from tandem.sim.result import Result
from tandem.sim.trace import Labels
from tandem.sim.trace.layer_spans import layer_spans
from tandem.sim.why.causes import Cause, activities, layer_causes
from tandem.sim.why.times import RunTimes
from tests.support.sim.programs import random_program
from tests.support.sim.why_runs import MEMORIES, run_of


def plain_cause(times: RunTimes, busy: list[Cause], at: int, cycle: int) -> Cause:
    """The cause of a cycle in which compute executes instruction `at`, or waits for it."""
    if times.start[at] < cycle:
        return busy[at]
    if cycle <= times.dispatch[at]:
        return Cause.WAIT_FETCH
    pushes = {times.end[token.pushed_by]: token.pushed_by for token in times.tokens.get(at, ())}
    last = max(pushes, default=-1)
    if cycle > last:
        if last == times.start[at] - 1:
            return Cause.WAIT_TOKEN
        fetched = times.dispatch[at] == times.start[at] - 1
        return Cause.WAIT_FETCH if fetched else Cause.OTHER
    stream = times.streams[times.units[pushes[last]]]
    running = [each for each in stream if times.start[each] <= cycle <= times.end[each]]
    if running:
        # The last of several STOREs that wait for their acknowledgements.
        return busy[max(each for each in running if each <= pushes[last])]
    following = next(each for each in stream if times.start[each] > cycle)
    # The cycle before a start that follows at once belongs to it.
    return Cause.WAIT_FETCH if cycle <= times.dispatch[following] else Cause.WAIT_TOKEN


def check(program: Program, result: Result, layer_of: list[int]) -> None:
    times = RunTimes.of(program, result)
    layers = max(layer_of) + 1
    found = layer_causes(program, times, layer_of, layers)
    busy, layer = activities(program), 0
    wanted = [Counter[Cause]() for _ in range(layers)]
    last = 0
    for at in times.streams[Unit.COMPUTE]:
        layer = layer if layer_of[at] < 0 else layer_of[at]
        for cycle in range(last + 1, times.end[at] + 1):
            wanted[layer][plain_cause(times, busy, at, cycle)] += 1
        last = max(last, times.end[at])
    wanted[layer][Cause.OTHER] += times.cycles - last
    assert [{**dict.fromkeys(Cause, 0), **each} for each in wanted] == found
    labels = Labels(
        tuple(map(str, range(layers))), (0,) * layers, np.array(layer_of), [""] * len(program)
    )
    cycles = [0] * layers
    for span in layer_spans(result.events, labels, times.cycles):
        cycles[span.layer] += span.end - span.start
    assert [sum(each.values()) for each in found] == cycles


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(["tiny", "small8", "small8-x"]),
    MEMORIES,
    st.integers(0, 1 << 32),
    st.integers(2, 32),
)
def test_random_programs(name: str, memory: MemoryModel, seed: int, queue: int) -> None:
    config = load_config(name).replace(instruction_queue=1 << queue.bit_length() - 1)
    drawn = random_program(config, seed, 24)
    rng = random.Random(f"layers {seed}")
    layer_of = [rng.choice((-1, 0, 1, 2)) for _ in range(len(drawn.program))]
    check(drawn.program, run_of(drawn.program, memory, drawn.image), [2, *layer_of[1:]])


def causes_of(asm: Assembler, memory: MemoryModel) -> dict[Cause, int]:
    """The causes of a whole run, with their cycles, the greatest first."""
    program = asm.build()
    times = RunTimes.of(program, run_of(program, memory))
    (found,) = layer_causes(program, times, [0] * len(program), 1)
    assert sum(found.values()) == times.cycles
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def rounds(asm: Assembler, count: int, columns: int, products: int) -> Assembler:
    """Loads of `columns` inputs, `products` micro-ops on each, and tokens between them."""
    for number in range(count):
        asm.load(
            MemoryId.INP,
            sram=0,
            dram=0x100,
            columns=columns,
            waits_for=Unit.COMPUTE if number else (),
            signals=Unit.COMPUTE,
        )
        frees = Unit.LOAD if number < count - 1 else ()
        asm.gemm((0, 1), [Loop(products)], waits_for=Unit.LOAD, signals=frees)
    asm.finish()
    return asm


def test_bound_by_loads() -> None:
    found = causes_of(rounds(Assembler(HardwareConfig()), 8, 64, 4), MemoryModel(50, 2))
    assert next(iter(found)) is Cause.WAIT_LOAD
    assert found[Cause.WAIT_LOAD] > 8 * (50 + 2 * 128)
    assert found[Cause.WAIT_TOKEN] == 8


def test_bound_by_products() -> None:
    found = causes_of(rounds(Assembler(HardwareConfig()), 8, 4, 900), MemoryModel(10))
    assert next(iter(found)) is Cause.GEMM
    assert found[Cause.GEMM] > 8 * 900


def test_bound_by_the_alu() -> None:
    asm = Assembler(HardwareConfig())
    for _ in range(5):
        asm.alu(AluOp.ADD, (0, 1), [Loop(700, dst=1)], imm=1)
    asm.finish()
    found = causes_of(asm, MemoryModel(10))
    assert next(iter(found)) is Cause.ALU
    assert 5 * 700 < found[Cause.ALU] < 5 * 700 + 20


def test_bound_by_stores() -> None:
    asm = Assembler(HardwareConfig())
    for number in range(6):
        asm.gemm((0, 1), reset=True, signals=Unit.STORE, waits_for=Unit.STORE if number else ())
        asm.store(sram=0, dram=0x100, columns=9, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.finish()
    found = causes_of(asm, MemoryModel(200))
    assert next(iter(found)) is Cause.WAIT_STORE
    assert found[Cause.WAIT_STORE] > 6 * 200


def test_bound_by_tokens() -> None:
    """Tokens there and back, between instructions that do nothing else."""
    asm = Assembler(HardwareConfig(bus_bits=512))
    for number in range(60):
        waits = Unit.COMPUTE if number else ()
        asm.nop(Unit.LOAD, waits_for=waits, signals=Unit.COMPUTE)
        asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD, signals=Unit.LOAD if number < 59 else ())
    asm.finish()
    found = causes_of(asm, MemoryModel(1))
    assert next(iter(found)) is Cause.WAIT_TOKEN
    # Two cycles for the start and the end of each.
    assert found[Cause.WAIT_TOKEN] >= 60 * 4 - 2
    assert found[Cause.LOAD] == found[Cause.WAIT_LOAD] == 0


def test_bound_by_fetch() -> None:
    asm = Assembler(HardwareConfig())
    for _ in range(40):
        asm.gemm((0, 1), reset=True)
    asm.finish()
    found = causes_of(asm, MemoryModel(10, interval=20))
    assert next(iter(found)) is Cause.WAIT_FETCH
    assert found[Cause.WAIT_FETCH] > 40 * 2 * 20 / 2


def test_a_layer_has_the_cycles_of_its_instructions() -> None:
    asm = Assembler(HardwareConfig())
    asm.gemm((0, 1), [Loop(50)], reset=True)
    asm.alu(AluOp.ADD, (0, 1), [Loop(300, dst=1)], imm=1)
    asm.finish()
    program = asm.build()
    times = RunTimes.of(program, run_of(program, MemoryModel(10)))
    first, second = layer_causes(program, times, [0, 1, -1], 2)
    assert (first[Cause.ALU], second[Cause.RESET]) == (0, 0)
    assert sum(first.values()) == times.end[0]
    assert sum(second.values()) == times.cycles - times.end[0]


def test_no_layers() -> None:
    asm = Assembler(HardwareConfig())
    asm.finish()
    program = asm.build()
    times = RunTimes.of(program, run_of(program, MemoryModel(10)))
    assert layer_causes(program, times, [-1], 0) == []


@pytest.mark.parametrize(
    ("engine", "events", "message"),
    [
        ("functional", True, "causes need cycles: the functional engine has no time"),
        ("cycle", False, "causes need a run's events: launch with events=True"),
    ],
)
def test_runs_without_times(engine: str, events: bool, message: str) -> None:
    asm = Assembler(HardwareConfig())
    asm.finish()
    result = run_of(asm.build(), MemoryModel(10), engine=engine, events=events)
    with pytest.raises(EngineError, match=f"^{message}$"):
        RunTimes.of(asm.build(), result)
