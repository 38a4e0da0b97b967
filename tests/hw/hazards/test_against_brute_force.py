"""The checker against every pair of instructions and every chain of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.hazards import HazardReport, Unknown, check_hazards
from tandem.hw.isa import (
    AluOp,
    Assembler,
    Finish,
    Instruction,
    Loop,
    MemoryId,
    MicroOp,
    Program,
    TokenQueue,
    Tokens,
    Unit,
    pack_uops,
    unit_of,
)
from tandem.scripts.matmul import matmul_program
from tests.hw.hazards.orders import Conflict, Run, clashes_of, run_of
from tests.support.hw.hazards.dependences import DRAM
from tests.support.hw.vectors import load_vector
from tests.support.sim.programs import random_program
from tests.support.sim.reference import run_shuffled

# Brute force knows no full queues, which can stop a program as well.
TINY = load_config("tiny").replace(instruction_queue=64)
EXTENDED = TINY.replace(name="extended", features=frozenset(Feature))
LOAD, COMPUTE, STORE = Unit
NEIGHBOURS = {LOAD: (COMPUTE,), COMPUTE: (LOAD, STORE), STORE: (COMPUTE,)}
Image = npt.NDArray[np.uint8]


def compare(program: Program, image: Image, clashes: list[Conflict] | None = None) -> HazardReport:
    """Check that the checker and brute force agree on everything; the report."""
    report = check_hazards(program, image=image)
    run = run_of(program)
    every = clashes_of(program, image) if clashes is None else clashes
    races = [clash for clash in every if not run.ordered(clash.first, clash.second)]
    compare_tokens(program, report, run)
    assert bool(report.races) == bool(races)
    assert report.race_count == len(report.races) or len(report.races) == 100
    for race in report.races:
        resource = DRAM if race.memory is None else int(race.memory)
        (same,) = (
            clash
            for clash in races
            if (clash.first, clash.second, clash.resource) == (race.first, race.second, resource)
            and clash.first_writes == race.first_writes
        )
        assert race.address in same.addresses
    if report.race_count == len(report.races):
        # Of an unordered pair, the later in the execution order is reported, maybe with another.
        reported = {(race.memory, at) for race in report.races for at in (race.first, race.second)}
        for clash in races:
            memory = None if clash.resource == DRAM else MemoryId(clash.resource)
            assert {(memory, clash.first), (memory, clash.second)} & reported
    return report


def compare_tokens(program: Program, report: HazardReport, run: Run) -> None:
    fault = report.token_fault
    never = tuple(sorted(set(range(len(program))) - run.before.keys()))
    if never:
        assert isinstance(fault, DeadlockError)
        unchecked = {entry.reason: entry.instructions for entry in report.unchecked}
        assert unchecked[Unknown.NEVER_STARTS] == never
    elif any(run.left.values()):
        assert fault is not None
        assert fault.fault is Fault.TOKENS_LEFT
    else:
        assert fault is None
        assert not report.unchecked


# Programs drawn at random -------------------------------------------------------------------

TABLE = 0x40
"""Where the micro-ops lie; no STORE of `small_programs` reaches them."""
UOPS = [MicroOp(dst, src, wgt) for dst, src, wgt in ((0, 0, 0), (1, 2, 1), (5, 3, 0), (4, 4, 2))]


def image_with_micro_ops() -> Image:
    image = np.arange(0x400, dtype=np.uint8)
    words = np.frombuffer(pack_uops(TINY, UOPS), np.uint8)
    image[TABLE : TABLE + len(words)] = words
    return image


@st.composite
def small_programs(draw: st.DrawFn, config: HardwareConfig) -> Program:
    """A few instructions of every kind, close together in every memory, with tokens that are
    mostly popped after they were pushed."""
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=TABLE // 4, columns=len(UOPS))
    for _ in range(draw(st.integers(2, 9))):
        _draw_one(draw, asm)
    asm.finish()
    return Program.from_instructions(config, _with_tokens(draw, list(asm.build())))


def _draw_one(draw: st.DrawFn, asm: Assembler) -> None:
    sram, rows, columns = draw(st.integers(0, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    stride = draw(st.integers(0, 4))
    begin = draw(st.integers(0, 2))
    uops = (begin, draw(st.integers(begin + 1, len(UOPS))))
    loops = [Loop(draw(st.integers(1, 3)), *draw(st.tuples(*[st.integers(0, 3)] * 2)))]
    config = asm.config
    extended = bool(config.features)
    match draw(st.integers(0, 11 if extended else 8)):
        case 0 | 1:
            parameters = (MemoryId.PAR,) if extended else ()
            memory = draw(st.sampled_from((MemoryId.INP, MemoryId.WGT, *parameters)))
            dram = 0x100 // config.element_bytes(memory) + draw(st.integers(0, 3))
            pad = draw(st.sampled_from(((0, 0, 0, 0), (1, 0, 1, 0), (0, 1, 0, 1))))
            asm.load(
                memory,
                sram=sram,
                dram=dram,
                rows=rows,
                columns=columns,
                stride=stride,
                pad=pad,
            )
        case 2:
            memory = draw(st.sampled_from((MemoryId.ACC, MemoryId.ACC_8BIT)))
            dram = 0x100 // TINY.element_bytes(memory) + draw(st.integers(0, 3))
            asm.load(memory, sram=sram, dram=dram, rows=rows, columns=columns, stride=stride)
        case 3 | 4:
            overwrite = extended and draw(st.booleans())
            asm.gemm(uops, loops, reset=draw(st.booleans()), overwrite=overwrite)
        case 5:
            imm = draw(st.sampled_from((None, 1)))
            asm.alu(AluOp.ADD, uops, loops, imm=imm)
        case 6 | 7:
            dram = 0x100 // 4 + draw(st.integers(0, 12))
            asm.store(sram=sram, dram=dram, rows=rows, columns=columns, stride=stride)
        case 9:
            op = draw(st.sampled_from((AluOp.MOVE, AluOp.RESIDUAL)))
            asm.alu(op, uops, loops, from_inp=True)
        case 10:
            factors = draw(st.tuples(*[st.integers(0, 2)] * 2))
            asm.requantise(sram, factors, scale=draw(st.integers(0, 9)))
        case 11:
            asm.end_requantisation()
        case _:
            asm.nop(draw(st.sampled_from(Unit)))


def _with_tokens(draw: st.DrawFn, bare: list[Instruction]) -> list[Instruction]:
    there = dict.fromkeys(((a, b) for a in Unit for b in Unit), 0)
    likely = draw(st.integers(3, 9))
    done = []
    for one in bare:
        unit = unit_of(one)
        flags: dict[str, bool] = {}
        for other in NEIGHBOURS[unit]:
            side = "prev" if other < unit else "next"
            pops = draw(st.integers(0, 99)) < (10 * likely if there[other, unit] > 0 else 3)
            pushes = draw(st.integers(0, 9)) < likely and not isinstance(one, Finish)
            there[other, unit] -= pops
            there[unit, other] += pushes
            flags |= {f"pop_{side}": pops, f"push_{side}": pushes}
        done.append(replace(one, tokens=Tokens(**flags)))
    # Most programs are to balance: what is left is popped before the end.
    finish = done.pop()
    empty = Assembler(TINY)
    for (producer, consumer), count in there.items():
        for _ in range(count - draw(st.sampled_from((0, 0, 0, 1)))):
            empty.nop(consumer, waits_for=producer)
    return [*done, *([] if not len(empty) else empty.build()), finish]


@settings(max_examples=200)
@given(program=small_programs(TINY) | small_programs(EXTENDED))
def test_small_programs(program: Program) -> None:
    compare(program, image_with_micro_ops())


@settings(max_examples=120)
@given(program=small_programs(TINY) | small_programs(EXTENDED))
def test_a_proved_program_has_one_result(program: Program) -> None:
    image = image_with_micro_ops()
    if check_hazards(program, image=image).proved:
        first, *others = (run_shuffled(program, image, seed) for seed in range(5))
        for other in others:
            np.testing.assert_array_equal(other, first)


@pytest.mark.every(2)
@pytest.mark.parametrize("config", [TINY, EXTENDED], ids=lambda config: config.name)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), data=st.data())
def test_random_programs_and_one_token_less(
    config: HardwareConfig, seed: int, data: st.DataObject
) -> None:
    made = random_program(config, seed, 30, 1 << 14)
    report = check_hazards(made.program, image=made.image)
    assert report.proved, report
    pairs = list(matched(made.program))
    if pairs:
        producer, consumer, queue = data.draw(st.sampled_from(pairs))
        compare(without_pair(made.program, producer, consumer, queue), made.image)


# Mutations ----------------------------------------------------------------------------------


def flag(queue: TokenQueue, *, push: bool) -> str:
    """The flag of the instruction that pushes `queue`, or pops it."""
    towards_next = (queue.producer < queue.consumer) is push
    return f"{'push' if push else 'pop'}_{'next' if towards_next else 'prev'}"


def holders(program: Program, queue: TokenQueue, *, push: bool) -> list[int]:
    unit = queue.producer if push else queue.consumer
    return [
        at
        for at, one in enumerate(program)
        if unit_of(one) is unit and getattr(one.tokens, flag(queue, push=push))
    ]


def matched(program: Program) -> Iterator[tuple[int, int, TokenQueue]]:
    """Each token: the instruction that pushes it, the one that pops it, and its queue."""
    for queue in TokenQueue:
        ends = (holders(program, queue, push=push) for push in (True, False))
        for producer, consumer in zip(*ends, strict=True):
            yield producer, consumer, queue


def changed(program: Program, at: int, name: str, value: bool) -> Program:
    instructions = list(program)
    one = instructions[at]
    instructions[at] = replace(one, tokens=replace(one.tokens, **{name: value}))
    return Program.from_instructions(program.config, instructions)


def without_pair(program: Program, producer: int, consumer: int, queue: TokenQueue) -> Program:
    program = changed(program, producer, flag(queue, push=True), False)
    return changed(program, consumer, flag(queue, push=False), False)


def moved(program: Program, at: int, name: str, step: int) -> Program | None:
    """The flag on the next instruction of the same unit, or (step -1) the one before; None where
    there is none, or it has the flag too."""
    instructions = list(program)
    own = [
        other for other, one in enumerate(instructions) if unit_of(one) is unit_of(instructions[at])
    ]
    neighbour = own.index(at) + step
    if not 0 <= neighbour < len(own) or getattr(instructions[own[neighbour]].tokens, name):
        return None
    return changed(changed(program, at, name, False), own[neighbour], name, True)


def mutants(program: Program) -> Iterator[tuple[str, Program]]:
    for producer, consumer, queue in matched(program):
        push, pop = flag(queue, push=True), flag(queue, push=False)
        yield "drop", changed(program, producer, push, False)
        yield "drop", changed(program, consumer, pop, False)
        yield "pair", without_pair(program, producer, consumer, queue)
        for kind, one in (
            ("later pop", moved(program, consumer, pop, 1)),
            ("earlier push", moved(program, producer, push, -1)),
        ):
            if one is not None:
                yield kind, one


def small_matmul() -> tuple[Program, Image]:
    """The demo's program where every kind of token is in use: tiles and chunks come round again."""
    config = TINY.replace(log_acc_buffer=7, log_inp_buffer=5, log_wgt_buffer=7)
    m, n, k = 4 * config.batch, 4 * config.block_out, 3 * config.block_in
    program, layout = matmul_program(config, m, n, k)
    zeros = np.zeros((m, k), np.int8), np.zeros((n, k), np.int8)
    return program, layout.image(*zeros)


def stream_with_extensions() -> tuple[Program, Image]:
    """Three tiles in one place of every memory, requantised, with residuals; no token too many."""
    asm = Assembler(EXTENDED)
    asm.load(MemoryId.UOP, sram=0, dram=TABLE // 4, columns=2)
    loops = [Loop(2, dst=1, src=1)]
    for tile in range(3):
        first, last = tile == 0, tile == 2
        asm.load(MemoryId.PAR, sram=3, dram=8, columns=2, waits_for=() if first else COMPUTE)
        asm.load(MemoryId.INP, sram=0, dram=0x40, columns=2)
        asm.load(MemoryId.WGT, sram=0, dram=0x10, columns=1, signals=COMPUTE)
        asm.requantise(3, (0, 1), scale=5, waits_for=LOAD)
        asm.gemm((0, 1), loops, overwrite=True, waits_for=() if first else STORE)
        asm.alu(AluOp.MAX, (0, 1), loops, imm=0, signals=LOAD)
        # The residual has a place of its own in INP, and its parameters that of the others.
        asm.load(MemoryId.INP, sram=4, dram=0x48, columns=2, waits_for=COMPUTE)
        asm.load(MemoryId.PAR, sram=3, dram=8, columns=2, signals=COMPUTE)
        asm.nop(COMPUTE, waits_for=LOAD)
        neighbours = (STORE,) if last else (STORE, LOAD)
        asm.alu(AluOp.RESIDUAL, (1, 2), loops, from_inp=True, signals=neighbours)
        asm.store(sram=0, dram=0xC0, columns=4, waits_for=COMPUTE, signals=() if last else COMPUTE)
    asm.end_requantisation()
    asm.finish()
    image = np.zeros(0x400, np.uint8)
    words = np.frombuffer(pack_uops(EXTENDED, [MicroOp(0, 0, 0), MicroOp(0, 4, 0)]), np.uint8)
    image[TABLE : TABLE + len(words)] = words
    return asm.build(), image


def test_every_token_of_a_stream_with_extensions_is_needed() -> None:
    program, image = stream_with_extensions()
    report = compare(program, image)
    assert report.proved, report
    memories = set()
    for producer, consumer, queue in matched(program):
        found = compare(without_pair(program, producer, consumer, queue), image)
        assert found.races, (producer, consumer, queue)
        memories |= {race.memory for race in found.races}
    assert memories == {MemoryId.PAR, MemoryId.INP, MemoryId.WGT, MemoryId.ACC}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["matmul", "055_tiled_block4", "057_chain_block4"])
def test_mutants(name: str) -> None:
    if name == "matmul":
        program, image = small_matmul()
    else:
        vector = load_vector(name)
        program, image = vector.program, vector.before
    assert compare(program, image).proved
    assert {queue for _, _, queue in matched(program)} == set(TokenQueue)
    # Tokens change neither the accesses of an instruction nor the micro-ops.
    clashes = clashes_of(program, image)
    caught: dict[str, list[bool]] = {}
    for kind, mutant in mutants(program):
        report = compare(mutant, image, clashes)
        caught.setdefault(kind, []).append(bool(report.token_fault or report.races))
    assert all(caught["drop"]), "an odd number of tokens cannot balance"
    assert set(caught) == {"drop", "pair", "later pop", "earlier push"}
    for kind, results in caught.items():
        assert sum(results) > len(results) // 4, kind


def test_no_tokens_at_all() -> None:
    program, image = small_matmul()
    bare = [replace(one, tokens=Tokens()) for one in program]
    report = compare(Program.from_instructions(program.config, bare), image)
    assert {race.memory for race in report.races} >= {MemoryId.INP, MemoryId.WGT, MemoryId.ACC}
