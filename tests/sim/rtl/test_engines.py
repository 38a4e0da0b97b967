"""The RTL engines as machines: results, time, state, limits, interruption, errors, waveforms.

What both can do is tested on both, on a small configuration.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import (
    AluOp,
    Assembler,
    Loop,
    MemoryId,
    MicroOp,
    Program,
    TokenQueue,
    Unit,
    pack_uops,
    work_of,
)
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.engine import Engine, Launch, Stalls
from tandem.sim.errors import BusError, CycleLimitError, EngineError, MemoryImageError
from tandem.sim.events import EventKind
from tandem.sim.pysim import PysimEngine
from tandem.sim.rtl.engine import RtlEngine
from tests.support.hw.vectors import load_vector, vector_names
from tests.support.sim.fst import FST_GEOMETRY, FST_HIERARCHY, fst_blocks, unpack_lz4
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY = load_config("tiny")
UOPS, DATA, RESULT = 0x1000, 0x200, 0x400
EngineClass = type[RtlEngine] | type[PysimEngine]
SMALL_VECTORS = [name for name in vector_names() if "small8" in name]


@pytest.fixture(params=[RtlEngine, PysimEngine], ids=["rtl", "pysim"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A new machine of either kind."""
    made = request.param(TINY)
    yield made
    made.close()


VCD = pytest.mark.parametrize(
    "engine",
    [
        # A simulator of its own; what differs from FST is a class of Verilator's.
        pytest.param(RtlEngine, id="rtl", marks=pytest.mark.exhaustive),
        pytest.param(PysimEngine, id="pysim"),
    ],
    indirect=True,
)


def image_with(*micro_ops: MicroOp) -> np.ndarray[Any, Any]:
    image = np.random.default_rng(0).integers(0, 256, 1 << 14, dtype=np.uint8)
    words = np.frombuffer(pack_uops(TINY, micro_ops), dtype=np.uint8)
    image[UOPS : UOPS + len(words)] = words
    return image


def program_of(*writes: Callable[[Assembler], object], finish: bool = True) -> Program:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    for write in writes:
        write(asm)
    if finish:
        asm.finish()
    return asm.build()


def add_and_store(asm: Assembler) -> None:
    asm.load(MemoryId.ACC, sram=0, dram=DATA // 16, columns=4)
    asm.alu(AluOp.ADD, (0, 1), (Loop(4, dst=1),), imm=5, signals=Unit.STORE)
    asm.store(sram=0, dram=RESULT // 4, columns=4, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)


def long_alu(asm: Assembler) -> None:
    asm.alu(AluOp.ADD, (0, 1), (Loop(16383), Loop(16383)), imm=1)


def expected(image: np.ndarray[Any, Any]) -> list[int]:
    return ((image[DATA : DATA + 64].view("<i4") + 5) & 0xFF).tolist()


# Results and time ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        # Machines that are built for these alone; the other engines run them always.
        pytest.param(name, marks=pytest.mark.exhaustive)
        if name.endswith(("block4", "batch2"))
        else name
        for name in vector_names()
    ],
)
def test_rtl_gives_the_vectors_results(name: str) -> None:
    vector = load_vector(name)
    engine = RtlEngine(vector.config)
    result, after = launch(engine, vector.program, vector.before, events=True)
    engine.close()
    assert np.array_equal(after, vector.after)
    assert result.work == work_of(vector.program)
    assert result.cycles is not None
    assert result.units is not None
    for spent in result.units.values():
        assert 0 <= spent.busy + spent.token + spent.memory <= result.cycles


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name",
    [
        "045_conv_small8",
        *(
            pytest.param(name, marks=pytest.mark.exhaustive)
            for name in SMALL_VECTORS
            if name != "045_conv_small8"
        ),
    ],
)
def test_pysim_is_rtl_to_the_cycle(name: str) -> None:
    vector = load_vector(name)
    for stalls in (None, Stalls(0.25, seed=5)):
        runs = []
        for kind in (RtlEngine, PysimEngine):
            engine = kind(vector.config, MEMORY_PRESETS["edge"])
            result, after = launch(
                engine, vector.program, vector.before, events=True, stalls=stalls
            )
            engine.close()
            assert np.array_equal(after, vector.after)
            runs.append((result.cycles, result.units, result.events))
        assert runs[0] == runs[1]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_under_random_stalls(seed: int) -> None:
    drawn = random_program(TINY, seed, size=40)
    rng = random.Random(f"memory {seed}")
    engine = RtlEngine(TINY, MemoryModel(latency=rng.randint(1, 7), interval=rng.randint(1, 3)))
    for stalls in (None, Stalls(0.1, seed), Stalls(0.6, seed)):
        _, after = launch(engine, drawn.program, drawn.image, stalls=stalls, max_cycles=1_000_000)
        assert np.array_equal(after, drawn.expected), f"seed {seed}, {stalls}"
    engine.close()


def test_same_run_same_time(engine: Engine) -> None:
    program, image = program_of(add_and_store), image_with(MicroOp(0))
    runs = []
    for _ in range(3):
        result, after = launch(engine, program, image, events=True)
        assert (after[RESULT : RESULT + 16]).tolist() == expected(image)
        runs.append((result.cycles, result.units, result.events))
    assert runs[0] == runs[1] == runs[2]


def test_bases_are_added(engine: Engine) -> None:
    program, image = program_of(add_and_store), image_with(MicroOp(0))
    moved = np.roll(image, 0x800)
    _, after = launch(engine, program, moved, bases=(0x800,) * BASE_REGISTERS)
    assert after[0x800 + RESULT :][:16].tolist() == expected(image)


def test_events_tell_the_story(engine: Engine) -> None:
    program = program_of(add_and_store)
    result, _ = launch(engine, program, image_with(MicroOp(0)), events=True)
    events = list(result.events)
    cycles = [event.cycle for event in events]
    assert cycles == sorted(cycles, key=lambda cycle: cycle or 0)
    assert all(0 <= cycle < (result.cycles or 0) for cycle in cycles if cycle is not None)
    for instruction in range(len(program)):
        kinds = [event.kind for event in events if event.instruction == instruction]
        assert [kind for kind in kinds if kind not in (EventKind.POP, EventKind.PUSH)] == [
            EventKind.FETCH,
            EventKind.DISPATCH,
            EventKind.START,
            EventKind.END,
        ]
    tokens = [(event.unit, event.instruction, event.kind, event.queue) for event in events]
    assert [token for token in tokens if token[3] is not None] == [
        (Unit.COMPUTE, 2, EventKind.PUSH, TokenQueue.COMPUTE_TO_STORE),
        (Unit.STORE, 3, EventKind.POP, TokenQueue.COMPUTE_TO_STORE),
        (Unit.STORE, 3, EventKind.PUSH, TokenQueue.STORE_TO_COMPUTE),
        (Unit.COMPUTE, 4, EventKind.POP, TokenQueue.STORE_TO_COMPUTE),
    ]


def test_no_events_unless_asked(engine: Engine) -> None:
    result, _ = launch(engine, program_of(add_and_store), image_with(MicroOp(0)))
    assert result.events == ()


# State --------------------------------------------------------------------------------------


def test_on_chip_memories_persist_between_launches(engine: Engine) -> None:
    image = image_with(MicroOp(1))
    launch(engine, program_of(lambda asm: asm.alu(AluOp.ADD, (0, 1), imm=77)), image)
    read = Assembler(TINY)
    read.store(sram=0, dram=0, columns=3, signals=Unit.COMPUTE)
    read.finish(waits_for=Unit.STORE)
    _, after = launch(engine, read.build(), image)
    assert after[:12].tolist() == [0] * 4 + [77] * 4 + [0] * 4


def test_closed_engine_starts_anew(engine: Engine) -> None:
    image = image_with(MicroOp(0))
    launch(engine, program_of(lambda asm: asm.alu(AluOp.ADD, (0, 1), imm=77)), image)
    engine.close()
    engine.close()
    read = Assembler(TINY)
    read.store(sram=0, dram=0, columns=1, signals=Unit.COMPUTE)
    read.finish(waits_for=Unit.STORE)
    _, after = launch(engine, read.build(), image)
    assert after[:4].tolist() == [0] * 4


# Limits and interruption --------------------------------------------------------------------


def assert_usable(engine: Engine) -> None:
    image = image_with(MicroOp(0))
    _, after = launch(engine, program_of(add_and_store), image)
    assert after[RESULT : RESULT + 16].tolist() == expected(image)


def test_cycle_limit(engine: Engine) -> None:
    with pytest.raises(CycleLimitError, match="still running after 2000 cycles") as caught:
        launch(engine, program_of(long_alu), image_with(MicroOp(0)), max_cycles=2000)
    assert caught.value.max_cycles == 2000
    assert_usable(engine)


def test_cycle_limit_is_exact(engine: Engine) -> None:
    program, image = program_of(add_and_store), image_with(MicroOp(0))
    cycles = launch(engine, program, image)[0].cycles
    assert cycles is not None
    assert launch(engine, program, image, max_cycles=cycles)[0].cycles == cycles
    with pytest.raises(CycleLimitError):
        launch(engine, program, image, max_cycles=cycles - 1)
    assert_usable(engine)


def test_limit_while_memory_owes_answers(engine: Engine) -> None:
    program, image = program_of(add_and_store), image_with(MicroOp(0))
    for limit in range(20, 100, 7):
        with pytest.raises(CycleLimitError):
            launch(engine, program, image, max_cycles=limit)
        assert_usable(engine)


def test_interruption_and_progress(engine: Engine) -> None:
    seen: list[int] = []

    def interrupt(cycles: int) -> None:
        seen.append(cycles)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch(engine, program_of(long_alu), image_with(MicroOp(0)), progress=interrupt)
    assert seen == sorted(seen)
    assert_usable(engine)


# Errors -------------------------------------------------------------------------------------


def test_illegal_program_is_refused_before_it_starts(engine: Engine) -> None:
    with pytest.raises(ProgramError, match="NO_FINISH"):
        launch(engine, program_of(finish=False))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("write", "fault", "instruction"),
    [
        (lambda asm: asm.load(MemoryId.OUT, sram=0, dram=0, columns=1), Fault.LOAD_OUT, 1),
        (lambda asm: asm.load(MemoryId.ACC, sram=31, dram=0, columns=2), Fault.SRAM_RANGE, 1),
        (lambda asm: asm.gemm((0, 1), (Loop(2, dst=31),)), Fault.SRAM_INDEX, 1),
        (lambda asm: asm.gemm((3, 3), ()), Fault.UOP_RANGE, 1),
        (lambda asm: asm.alu(AluOp.SHR, (0, 1), imm=32), Fault.SHIFT, 1),
        (lambda asm: asm.nop(Unit.COMPUTE, signals=Unit.LOAD), Fault.TOKENS_LEFT, None),
    ],
)
def test_the_machine_itself_refuses(
    engine: Engine,
    write: Callable[[Assembler], object],
    fault: Fault,
    instruction: int | None,
) -> None:
    with pytest.raises(ProgramError, match=rf"\[{fault.name}\]$") as caught:
        launch(engine, program_of(write), image_with(MicroOp(1)), validate=False)
    assert (caught.value.fault, caught.value.instruction) == (fault, instruction)
    assert_usable(engine)


def test_deadlock_names_what_each_unit_waits_for(engine: Engine) -> None:
    program = program_of(
        lambda asm: asm.nop(Unit.STORE, waits_for=Unit.COMPUTE),
        lambda asm: asm.nop(Unit.COMPUTE, waits_for=(Unit.LOAD, Unit.STORE)),
    )
    with pytest.raises(DeadlockError) as caught:
        launch(engine, program, validate=False)
    assert caught.value.waits == (
        UnitWait(Unit.LOAD, None, ()),
        UnitWait(Unit.COMPUTE, 2, (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE)),
        UnitWait(Unit.STORE, 1, (TokenQueue.COMPUTE_TO_STORE,)),
    )
    assert_usable(engine)


def test_bus_errors(engine: Engine) -> None:
    program, image = program_of(add_and_store), image_with(MicroOp(0))
    with pytest.raises(BusError, match=r"instruction 1: .* LOAD of ACC with an error") as caught:
        launch(engine, program, image, bus_errors=((DATA, DATA + 8),))
    assert (caught.value.instruction, caught.value.write) == (1, False)
    with pytest.raises(BusError, match=r"instruction 3: .* STORE of OUT with an error") as caught:
        launch(engine, program, image, bus_errors=((RESULT, RESULT + 8),))
    assert (caught.value.instruction, caught.value.write) == (3, True)
    with pytest.raises(BusError, match=r"program: .* the fetch of instructions") as caught:
        launch(engine, program, image, bus_errors=((len(image), len(image) + 16),))
    assert caught.value.instruction is None
    assert_usable(engine)


def test_memory_that_ends_within_a_beat(engine: Engine) -> None:
    program = program_of(add_and_store)
    with pytest.raises(MemoryImageError, match=r"16387 bytes: .* a multiple of 8"):
        engine.launch(program, np.zeros(16387, dtype=np.uint8), Launch(address=0x2000))


def test_program_of_another_machine(engine: Engine) -> None:
    asm = Assembler(load_config("small8"))
    asm.finish()
    with pytest.raises(EngineError, match=r"configuration small8, .* made for tiny"):
        launch(engine, asm.build())


# Waveforms ----------------------------------------------------------------------------------


def rising_edges(vcd: str) -> int:
    """Changes to 1 of the clock in a VCD file."""
    code = next(
        words[3]
        for words in map(str.split, vcd.splitlines())
        if words[:1] == ["$var"] and words[4] in ("aclk", "clk")
    )
    return vcd.splitlines().count(f"1{code}")


@VCD
def test_vcd(engine: Engine, tmp_path: Path) -> None:
    program, image = program_of(add_and_store), image_with(MicroOp(0))
    path = tmp_path / "wave.vcd"
    result, after = launch(engine, program, image, waveform=path)
    assert after[RESULT : RESULT + 16].tolist() == expected(image)
    assert result.cycles == launch(engine, program, image)[0].cycles
    text = path.read_text()
    assert "$enddefinitions" in text
    # The registers are written and read around the run.
    assert result.cycles is not None
    assert result.cycles < rising_edges(text) < result.cycles + 1000


@VCD
def test_vcd_of_a_run_that_fails_is_kept(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "wave.vcd"
    with pytest.raises(CycleLimitError):
        launch(engine, program_of(long_alu), image_with(MicroOp(0)), max_cycles=300, waveform=path)
    assert rising_edges(path.read_text()) > 300


def test_fst(tmp_path: Path) -> None:
    engine = RtlEngine(TINY)
    path = tmp_path / "wave.fst"
    launch(engine, program_of(add_and_store), image_with(MicroOp(0)), waveform=path)
    launch(engine, program_of(add_and_store), image_with(MicroOp(0)))
    engine.close()
    blocks = dict(fst_blocks(path.read_bytes()))
    size = int.from_bytes(blocks[FST_HIERARCHY][:8], "big")
    hierarchy = unpack_lz4(blocks[FST_HIERARCHY][8:])
    assert len(hierarchy) == size
    assert all(name in hierarchy for name in (b"aclk\0", b"m_axi_araddr", b"tandem\0"))
    size, count = (int.from_bytes(blocks[FST_GEOMETRY][at : at + 8], "big") for at in (0, 8))
    geometry = blocks[FST_GEOMETRY][16:]
    if len(geometry) != size:
        geometry = zlib.decompress(geometry)
    assert len(geometry) == size
    assert count > 1000


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (RtlEngine, "wave.txt", r"the rtl engine writes \.fst and \.vcd"),
        (PysimEngine, "wave.fst", r"the pysim engine writes \.vcd"),
    ],
)
def test_unknown_waveforms(kind: EngineClass, name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=message):
        launch(kind(TINY), program_of(), waveform=tmp_path / name)


@pytest.mark.parametrize(("kind", "name"), [(RtlEngine, "wave.fst"), (PysimEngine, "wave.vcd")])
def test_waveform_that_cannot_be_written(kind: EngineClass, name: str, tmp_path: Path) -> None:
    engine = kind(TINY)
    with pytest.raises(EngineError, match="cannot be written"):
        launch(engine, program_of(), waveform=tmp_path / "none" / name)
    engine.close()


def test_late_waveform(engine: Engine, tmp_path: Path) -> None:
    launch(engine, program_of(), image_with(MicroOp(0)))
    with pytest.raises(EngineError, match="first launch"):
        launch(engine, program_of(), image_with(MicroOp(0)), waveform=tmp_path / "wave.vcd")
