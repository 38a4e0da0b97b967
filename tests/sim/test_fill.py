"""`sim.fill`: what a program finds on the chip before it wrote there."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Assembler, Loop, MemoryId, Unit
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import ENGINES, make_engine
from tandem.sim.errors import EngineError
from tandem.sim.fill import fill_on_chip
from tandem.sim.memory import place_program
from tests.support.hw.configs import presets
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

TINY = load_config("tiny")
OUT_BYTES = TINY.element_bytes(MemoryId.OUT)


@pytest.mark.parametrize("pattern", [-1, 256])
def test_a_pattern_is_a_byte(pattern: int) -> None:
    with pytest.raises(EngineError, match=rf"the pattern is {pattern:#x}: it must be a byte"):
        fill_on_chip(make_engine("functional", TINY), pattern)


@pytest.mark.parametrize("name", ENGINES)
def test_every_accumulator_has_it(name: str) -> None:
    depth = TINY.depth(MemoryId.ACC)
    asm = Assembler(TINY)
    asm.store(sram=0, dram=0, columns=depth)
    asm.finish()
    engine = make_engine(name, TINY)

    fill_on_chip(engine, 0xA5)
    _, memory = launch(engine, asm.build())
    engine.close()

    assert set(memory[: depth * OUT_BYTES].tolist()) == {0xA5}
    assert not memory[depth * OUT_BYTES :].any()


# The RTL of this machine is built for this test alone.
@pytest.mark.parametrize("name", ["functional", pytest.param("rtl", marks=pytest.mark.exhaustive)])
def test_parameters_have_it(name: str) -> None:
    """Addend 0x03030303, multiplier 0x0303, shift 3, of every element."""
    config = TINY.replace(features=frozenset(Feature))
    count = min(config.depth(MemoryId.PAR), config.depth(MemoryId.ACC) - 3)
    last = config.depth(MemoryId.PAR) - count
    asm = Assembler(config)
    asm.requantise(last, (0, 1), low=-100, high=100)
    asm.gemm((0, 1), [Loop(count, dst=1)], reset=True, signals=Unit.STORE)
    asm.store(sram=3, dram=0, columns=count, waits_for=Unit.COMPUTE)
    asm.finish()
    engine = make_engine(name, config)

    fill_on_chip(engine, 3)
    _, memory = launch(engine, asm.build())
    engine.close()

    assert set(memory[: count * OUT_BYTES].tolist()) == {100}


@pytest.mark.parametrize("name", ["functional", "rtl"])
def test_micro_ops_inputs_and_weights_have_it(name: str) -> None:
    # Bytes of 3 are a micro-op: 0x03030303 is dst 3, src 24, wgt 0.
    end = TINY.depth(MemoryId.UOP)
    asm = Assembler(TINY)
    asm.gemm((0, 1), [Loop(TINY.depth(MemoryId.INP) - 24, src=1)])
    asm.gemm((end - 1, end), [Loop(TINY.depth(MemoryId.WGT), wgt=1)], signals=Unit.STORE)
    asm.store(sram=3, dram=0, columns=1, waits_for=Unit.COMPUTE)
    asm.finish()
    engine = make_engine(name, TINY)

    fill_on_chip(engine, 3)
    _, memory = launch(engine, asm.build())
    engine.close()

    micro_ops = TINY.depth(MemoryId.INP) - 24 + TINY.depth(MemoryId.WGT)
    value = (3 + micro_ops * TINY.block_in * 3 * 3) % 256
    assert memory[:OUT_BYTES].tolist() == [value] * OUT_BYTES


def _results(engine: Engine, seed: int, pattern: int) -> tuple[bytes, bytes]:
    drawn = random_program(engine.config, seed, 30)
    fill_on_chip(engine, pattern)
    memory, address = place_program(drawn.image, drawn.program)
    engine.launch(drawn.program, memory, Launch(address=address))
    return memory[: len(drawn.image)].tobytes(), drawn.expected.tobytes()


@pytest.mark.parametrize("config", presets(), ids=lambda config: config.name)
def test_programs_that_write_before_they_read_do_not_see_it(config: HardwareConfig) -> None:
    engine = make_engine("functional", config)
    for seed, pattern in enumerate((0x00, 0x5A, 0x80, 0xFF)):
        found, expected = _results(engine, seed, pattern)
        assert found == expected


def test_neither_do_they_on_the_rtl() -> None:
    engine = make_engine("rtl", TINY)
    for seed, pattern in enumerate((0x5A, 0xFF)):
        found, expected = _results(engine, seed, pattern)
        assert found == expected
    engine.close()
