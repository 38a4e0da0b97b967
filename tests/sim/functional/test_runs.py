"""How the functional engine behaves as a machine: state, limits, interruption, records."""

from __future__ import annotations

import _thread
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
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
)
from tandem.sim.engine import Launch, Stalls
from tandem.sim.errors import CycleLimitError, EngineError
from tandem.sim.events import Event, EventKind
from tandem.sim.functional import FunctionalEngine
from tests.support.sim.launching import launch

TINY = load_config("tiny")
EXTENDED = TINY.replace(name="extended", features=frozenset(Feature))
UOPS = 0x1000
"""Where images of these tests hold micro-ops."""


def image_with(config: HardwareConfig, *micro_ops: MicroOp) -> np.ndarray[Any, Any]:
    image = np.zeros(1 << 14, dtype=np.uint8)
    words = np.frombuffer(pack_uops(config, micro_ops), dtype=np.uint8)
    image[UOPS : UOPS + len(words)] = words
    return image


def load_uops(asm: Assembler, count: int) -> None:
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=count)


def long_gemm(config: HardwareConfig) -> Program:
    """One instruction of 16383 x 16383 x 64 micro-ops: over a minute at any speed we reach."""
    asm = Assembler(config)
    load_uops(asm, 1)
    asm.gemm((0, config.depth(MemoryId.UOP)), (Loop(16383), Loop(16383)))
    asm.finish()
    return asm.build()


def test_the_mode_ends_with_a_launch_and_out_and_par_stay() -> None:
    engine = FunctionalEngine(EXTENDED)
    image = image_with(EXTENDED, MicroOp(1))
    parameters = np.array([(0, 3, 1, 0)] * 4, dtype="<i4,<u2,u1,u1").view(np.uint8)
    image[0x400 : 0x400 + len(parameters)] = parameters

    def program(*, active: bool, adds: int | None) -> Program:
        asm = Assembler(EXTENDED)
        load_uops(asm, 1)
        if active:
            asm.load(MemoryId.PAR, sram=5, dram=0x400 // 32, columns=1, signals=Unit.COMPUTE)
            asm.requantise(5, waits_for=Unit.LOAD)
        if adds is not None:
            asm.alu(AluOp.ADD, (0, 1), imm=adds)
        asm.nop(Unit.COMPUTE, signals=Unit.STORE)
        asm.store(sram=1, dram=0, columns=1, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
        asm.finish(waits_for=Unit.STORE)
        return asm.build()

    def stored(code: Program) -> list[int]:
        _, memory = launch(engine, code, image)
        return [int(each) for each in memory[:4].view(np.int8)]

    assert stored(program(active=True, adds=21)) == [31] * 4
    assert stored(program(active=False, adds=None)) == [31] * 4
    assert stored(program(active=False, adds=1)) == [22] * 4

    asm = Assembler(EXTENDED)
    load_uops(asm, 1)
    asm.requantise(5)
    asm.alu(AluOp.ADD, (0, 1), imm=-222, signals=Unit.STORE)
    asm.store(sram=1, dram=0, columns=1, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.STORE)
    assert stored(asm.build()) == [-128] * 4


def test_a_load_of_accumulators_writes_low_bytes_whatever_the_mode() -> None:
    asm = Assembler(EXTENDED)
    asm.requantise(0)
    asm.load(MemoryId.ACC, sram=0, dram=1, columns=1, pad=(0, 0, 1, 0), signals=Unit.STORE)
    asm.store(sram=0, dram=0, columns=2, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.STORE)
    image = np.zeros(64, dtype=np.uint8)
    image[16:32] = np.array([-1, 128, 511, -300], dtype="<i4").view(np.uint8)

    _, memory = launch(FunctionalEngine(EXTENDED), asm.build(), image)

    assert memory[:8].tolist() == [0] * 4 + [255, 128, 255, -300 & 255]


def test_on_chip_memories_start_at_zero_and_persist_between_launches() -> None:
    engine = FunctionalEngine(TINY)
    image = image_with(TINY, MicroOp(1))
    write = Assembler(TINY)
    load_uops(write, 1)
    write.alu(AluOp.ADD, (0, 1), imm=77)
    write.finish()
    read = Assembler(TINY)
    read.store(sram=0, dram=0, columns=3, signals=Unit.COMPUTE)
    read.finish(waits_for=Unit.STORE)

    launch(engine, write.build(), image)
    _, memory = launch(engine, read.build())

    assert memory[:12].tolist() == [0] * 4 + [77] * 4 + [0] * 4
    _, memory = launch(FunctionalEngine(TINY), read.build())
    assert not memory.any()


def test_base_registers_are_added_to_every_access() -> None:
    engine = FunctionalEngine(TINY)
    bases = (0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700)
    image = np.zeros(1 << 12, dtype=np.uint8)
    image[0x100:0x104] = np.frombuffer(pack_uops(TINY, [MicroOp(0, 0, 0)]), dtype=np.uint8)
    image[0x200:0x210] = np.eye(4, dtype=np.uint8).ravel()
    image[0x300:0x304] = (1, 2, 3, 4)
    image[0x400:0x410:4] = (10, 20, 30, 40)
    image[0x600:0x604] = (5, 6, 7, 8)
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=1)
    asm.load(MemoryId.ACC_8BIT, sram=1, dram=0, columns=1)
    asm.load(MemoryId.WGT, sram=0, dram=0, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1, signals=Unit.COMPUTE)
    asm.gemm((0, 1), waits_for=Unit.LOAD, signals=Unit.STORE)
    asm.store(sram=0, dram=0, columns=2, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.STORE)

    _, memory = launch(engine, asm.build(), image, bases=bases)

    assert memory[0x500:0x508].tolist() == [11, 22, 33, 44, 5, 6, 7, 8]


def test_the_cycle_limit_stops_a_long_instruction_at_once() -> None:
    config = HardwareConfig()

    with pytest.raises(CycleLimitError, match=r"still running after 1000 cycles: 1001 micro-ops"):
        launch(FunctionalEngine(config), long_gemm(config), max_cycles=1000)


def test_a_run_of_exactly_the_limit_is_allowed() -> None:
    image = image_with(TINY, MicroOp(0))
    asm = Assembler(TINY)
    load_uops(asm, 1)
    asm.alu(AluOp.ADD, (0, 1), (Loop(10), Loop(10)), imm=1)
    asm.finish()

    result, _ = launch(FunctionalEngine(TINY), asm.build(), image, max_cycles=100)

    assert result.work.alu_uops == 100
    with pytest.raises(CycleLimitError, match="after 99 cycles"):
        launch(FunctionalEngine(TINY), asm.build(), image, max_cycles=99)


def test_control_c_is_taken_inside_one_instruction_and_the_engine_lives_on() -> None:
    config = HardwareConfig()
    engine = FunctionalEngine(config)
    short = Assembler(config)
    short.finish()
    launch(engine, short.build())
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        launch(engine, long_gemm(config))
    timer.join()
    launch(engine, short.build())


def test_progress_tells_the_micro_ops_done() -> None:
    config = HardwareConfig()
    seen: list[int] = []

    with pytest.raises(CycleLimitError):
        launch(
            FunctionalEngine(config),
            long_gemm(config),
            max_cycles=30_000_000,
            progress=seen.append,
        )

    assert seen == sorted(seen)
    assert len(seen) > 1
    assert 0 < seen[0] < seen[-1] <= 30_000_000


def test_events_tell_tokens_starts_and_ends_in_the_order_they_happened() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.finish()

    result, _ = launch(FunctionalEngine(TINY), asm.build(), events=True)

    load, compute, queue = Unit.LOAD, Unit.COMPUTE, TokenQueue.LOAD_TO_COMPUTE
    assert result.events == (
        Event(None, load, 1, EventKind.START),
        Event(None, load, 1, EventKind.END),
        Event(None, load, 1, EventKind.PUSH, queue),
        Event(None, compute, 0, EventKind.POP, queue),
        Event(None, compute, 0, EventKind.START),
        Event(None, compute, 0, EventKind.END),
        Event(None, compute, 2, EventKind.START),
        Event(None, compute, 2, EventKind.END),
    )
    result, _ = launch(FunctionalEngine(TINY), asm.build())
    assert result.events == ()


def test_programs_of_another_configuration_are_refused() -> None:
    asm = Assembler(TINY)
    asm.finish()

    with pytest.raises(EngineError, match=r"is for configuration tiny, this .* made for pynq"):
        launch(FunctionalEngine(HardwareConfig()), asm.build())

    launch(FunctionalEngine(TINY.replace(name="the-same-by-another-name")), asm.build())


@pytest.mark.parametrize(
    ("option", "value"), [("waveform", Path("run.vcd")), ("stalls", Stalls(0.5))]
)
def test_options_of_other_engines_are_refused(option: str, value: Any) -> None:
    asm = Assembler(TINY)
    asm.finish()

    with pytest.raises(EngineError, match=f"functional engine has no {option}"):
        launch(FunctionalEngine(TINY), asm.build(), **{option: value})


def test_the_engine_names_itself_and_closes() -> None:
    engine = FunctionalEngine(TINY)

    assert engine.name == "functional"
    engine.close()
    assert Launch(address=0).bases == (0,) * 7
