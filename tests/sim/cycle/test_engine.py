"""The cycle engine as a machine: options, limits, state between launches, time alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import (
    AluOp,
    Assembler,
    Loop,
    MemoryId,
    MicroOp,
    Opcode,
    Program,
    Unit,
    pack_uops,
    work_of,
)
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch, Stalls
from tandem.sim.engines import make_engine
from tandem.sim.errors import BusError, CycleLimitError, EngineError, MemoryImageError
from tandem.sim.memory import place_program
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program
from tests.support.sim.reference import Image

TINY = load_config("tiny")
UOPS, DATA, RESULT = 0x1000, 0x200, 0x400


def image_with(*micro_ops: MicroOp) -> Image:
    image = np.random.default_rng(0).integers(0, 256, 1 << 14, dtype=np.uint8)
    words = np.frombuffer(pack_uops(TINY, micro_ops), dtype=np.uint8)
    image[UOPS : UOPS + len(words)] = words
    return image


def program_of(*, shifts: bool = False) -> Program:
    """LOAD, ADD 5 or SHR by accumulators, STORE."""
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=DATA // 16, columns=8)
    if not shifts:
        asm.alu(AluOp.ADD, (0, 1), (Loop(4, dst=1),), imm=5, signals=Unit.STORE)
    else:
        asm.alu(AluOp.SHR, (0, 1), (Loop(4, dst=1, src=1),), signals=Unit.STORE)
    asm.store(sram=0, dram=RESULT // 4, columns=4, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.finish()
    return asm.build()


def engine() -> CycleEngine:
    return CycleEngine(TINY, MEMORY_PRESETS["fast"])


def test_options_that_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no random stalls: rtl and pysim have them"):
        launch(engine(), program_of(), stalls=Stalls(0.1))
    with pytest.raises(EngineError, match="no waveform"):
        launch(engine(), program_of(), waveform=tmp_path / "wave.fst")


def test_programs_and_memories_that_do_not_fit() -> None:
    asm = Assembler(load_config("small8"))
    asm.finish()
    with pytest.raises(EngineError, match=r"configuration small8, .* made for tiny"):
        launch(engine(), asm.build())
    with pytest.raises(MemoryImageError, match=r"16387 bytes: .* a multiple of 8"):
        engine().launch(program_of(), np.zeros(16387, np.uint8), Launch(address=0x2000))


def test_results_work_and_counters() -> None:
    image = image_with(MicroOp(0))
    result, after = launch(engine(), program_of(), image)
    values = image[DATA : DATA + 64].view("<i4") + 5
    assert after[RESULT : RESULT + 16].tolist() == (values & 0xFF).tolist()
    assert result.engine == "cycle"
    assert result.work == work_of(program_of())
    assert result.events == ()
    assert result.cycles is not None
    assert result.units is not None
    for spent in result.units.values():
        assert 0 <= spent.busy + spent.token + spent.memory <= result.cycles


def test_the_limit_is_exact() -> None:
    machine, image = engine(), image_with(MicroOp(0))
    cycles = launch(machine, program_of(), image)[0].cycles
    assert cycles is not None
    assert launch(machine, program_of(), image, max_cycles=cycles)[0].cycles == cycles
    for limit in (1, cycles // 2, cycles - 1):
        with pytest.raises(CycleLimitError, match=rf"still running after {limit} cycles$"):
            launch(machine, program_of(), image, max_cycles=limit)


def test_the_limit_stops_long_programs() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    for op in (AluOp.ADD, AluOp.MUL):
        for _ in range(500):
            asm.alu(op, (0, 1), (Loop(16383), Loop(16383)), imm=1)
    asm.finish()
    for data in (True, False):
        with pytest.raises(CycleLimitError, match=r"still running after 2000 cycles$"):
            launch(engine(), asm.build(), image_with(MicroOp(0)), max_cycles=2000, data=data)


def test_a_fault_counts_before_the_limit_only_if_it_is_earlier() -> None:
    """The functional engine meets the limit first; the refused LOAD stops the machine long
    before."""
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    asm.alu(AluOp.ADD, (0, 1), (Loop(16383), Loop(16383)), imm=1)
    asm.load(MemoryId.INP, sram=1 << 15, dram=0, columns=1)
    asm.finish()
    with pytest.raises(ProgramError) as caught:
        launch(engine(), asm.build(), image_with(MicroOp(0)), max_cycles=2000, validate=False)
    assert (caught.value.fault, caught.value.instruction) == (Fault.SRAM_RANGE, 2)
    with pytest.raises(CycleLimitError):
        launch(engine(), asm.build(), image_with(MicroOp(0)), max_cycles=20, validate=False)


def test_interruption_and_progress() -> None:
    seen: list[int] = []

    def interrupt(done: int) -> None:
        seen.append(done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    machine, image = engine(), image_with(MicroOp(0))
    with pytest.raises(KeyboardInterrupt):
        launch(machine, long_program(), image, progress=interrupt)
    assert seen == sorted(seen)
    launch(machine, program_of(), image)


def long_program() -> Program:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    for _ in range(50):
        asm.alu(AluOp.ADD, (0, 1), (Loop(16383), Loop(16383)), imm=1)
    asm.finish()
    return asm.build()


def test_launches_share_on_chip_memories_until_the_engine_is_closed() -> None:
    machine, image = engine(), image_with(MicroOp(0))
    launch(machine, program_of(), image)
    read = Assembler(TINY)
    read.store(sram=0, dram=0, columns=1, signals=Unit.COMPUTE)
    read.finish(waits_for=Unit.STORE)
    values = image[DATA : DATA + 16].view("<i4") + 5
    _, after = launch(machine, read.build(), image)
    assert after[:4].tolist() == (values & 0xFF).tolist()
    machine.close()
    _, after = launch(machine, read.build(), image)
    assert after[:4].tolist() == [0] * 4


def test_bus_errors() -> None:
    image = image_with(MicroOp(0))
    for refused, instruction, write in (
        ((DATA, DATA + 8), 1, False),
        ((RESULT, RESULT + 8), 3, True),
        ((len(image), len(image) + 16), None, False),
    ):
        with pytest.raises(BusError) as caught:
            launch(engine(), program_of(), image, bus_errors=(refused,))
        assert (caught.value.instruction, caught.value.write) == (instruction, write)


def test_micro_ops_that_the_program_stores_are_refused() -> None:
    asm = Assembler(TINY)
    asm.store(sram=0, dram=UOPS // 4, columns=1, signals=Unit.COMPUTE)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1, waits_for=Unit.STORE)
    asm.finish()
    with pytest.raises(EngineError, match="instruction 1 loads micro-ops that instruction 0"):
        launch(engine(), asm.build(), image_with(MicroOp(0)))


# Time alone -----------------------------------------------------------------------------------


def shifts_by_accumulators(program: Program) -> bool:
    columns = program.columns()
    is_shift = (columns.opcode == Opcode.ALU) & (columns.alu_opcode == AluOp.SHR)
    return bool((is_shift & (columns.use_imm == 0)).any())


def test_time_alone_is_the_time() -> None:
    compared = 0
    for seed in range(30):
        drawn = random_program(TINY, seed, 30)
        if shifts_by_accumulators(drawn.program):
            continue
        compared += 1
        whole, _ = launch(engine(), drawn.program, drawn.image, events=True)
        memory, address = place_program(drawn.image, drawn.program)
        before = memory.copy()
        how = Launch(address=address, data=False, events=True)
        alone = engine().launch(drawn.program, memory, how)
        assert (alone.cycles, alone.units, alone.work) == (whole.cycles, whole.units, whole.work)
        assert alone.events == whole.events
        memory[address : address + len(drawn.program.data)] = 0
        before[address : address + len(drawn.program.data)] = 0
        np.testing.assert_array_equal(memory, before)
    assert compared > 3


def test_shifts_without_data() -> None:
    """By constants in range they cannot fault; by others they may."""
    image = image_with(MicroOp(0, 4))
    with pytest.raises(EngineError, match="instruction 2 shifts by accumulators that depend on"):
        launch(engine(), program_of(shifts=True), image, data=False)
    image[DATA + 64 : DATA + 128] = np.tile(np.array([31, -31, 0, 7], "<i4"), 4).view(np.uint8)
    assert launch(engine(), program_of(shifts=True), image, data=False)[0].cycles
    image[DATA + 64] = 32
    with pytest.raises(EngineError, match="run the program with data"):
        launch(engine(), program_of(shifts=True), image, data=False)


def test_shifts_by_inputs_need_data_whatever_the_accumulators_hold() -> None:
    config = load_config("tiny-x")
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=DATA // 16, columns=8)
    asm.alu(AluOp.SHR, (0, 1), (Loop(4, dst=1, src=1),), from_inp=True)
    asm.finish()
    image = image_with(MicroOp(0, 4))
    image[DATA : DATA + 128] = 0
    with pytest.raises(EngineError, match="instruction 2 shifts by elements of INP that depend on"):
        launch(CycleEngine(config, MEMORY_PRESETS["fast"]), asm.build(), image, data=False)


def test_indices_are_checked_without_data() -> None:
    with pytest.raises(ProgramError) as caught:
        launch(engine(), program_of(), image_with(MicroOp(31)), data=False)
    assert (caught.value.fault, caught.value.micro_op) == (Fault.SRAM_INDEX, 1)


@pytest.mark.parametrize("name", ["functional", "rtl", "pysim"])
def test_other_engines_need_data(name: str) -> None:
    other = make_engine(name, TINY)
    with pytest.raises(EngineError, match="no engine but cycle runs a program without its data"):
        launch(other, program_of(), data=False)
    other.close()
