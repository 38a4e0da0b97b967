"""A bus that stops answering: `rtl`, `pysim` and `cycle` see the same fault, with the same
instruction and address in the same cycle, and the next launch is right."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tandem.hw.axi import ID_BITS
from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.isa import Assembler, MemoryId, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.hw.registers import NO_INSTRUCTION, Control, Interrupt
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Channel, Engine, Launch, Silence
from tandem.sim.engines import make_engine
from tandem.sim.errors import BusTimeoutError, CycleLimitError, EngineError
from tandem.sim.memory import place_program
from tandem.sim.rtl.bench import BenchSetup
from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.programs import RandomProgram, random_program

MACHINES = [load_config("tiny"), load_config("tiny-x")]
FOREVER = 10_000_000
FAR_MACHINES = [*MACHINES, load_config("small8")]
FAR = (0x5555_5540, 0xAAAA_AA80)
"""Addresses that have, between them, every bit from the largest element's size up once at 0 and
once at 1."""
MANY = 1_000_000
SOME, ALL = range(9000, 9024), range(9024, 9300)
ANYTHING = Channel(31)


@dataclass(frozen=True)
class Moment:
    """A program, and when memory stops answering."""

    config: HardwareConfig
    model: MemoryModel
    drawn: RandomProgram
    how: Launch


def moment(seed: int) -> Moment:
    """Any moment of a random program, any channels, for a while about as long as the limit or for
    ever; what was not answered may come late or never."""
    rng = random.Random(seed)
    config = rng.choice(MACHINES)
    model = MemoryModel(rng.choice([1, 5, 16, 64]), rng.choice([1, 2, 4]), rng.choice([1, 2, 16]))
    drawn = random_program(config, seed, 30)
    cycles = run(CycleEngine(config, model), drawn, Launch(address=0))
    limit = rng.choice([1, 2, 3, 7, 30, 100, 300])
    channels = Channel(rng.choice([*Channel, ANYTHING, rng.randrange(1, 32)]))
    lasts = (max(1, limit - 1), limit, limit + 1, limit + 2, limit + rng.randint(0, 100), FOREVER)
    begin = rng.randint(2, cycles)
    silence = Silence(channels, begin, rng.choice(lasts), rng.random() < 0.5)
    how = Launch(address=0, bus_timeout=limit, silence=silence, max_cycles=MANY)
    return Moment(config, model, drawn, how)


def run(engine: Engine, drawn: RandomProgram, how: Launch) -> int:
    """The cycles of a run, whose result is right."""
    memory, address = place_program(drawn.image, drawn.program)
    result = engine.launch(drawn.program, memory, replace(how, address=address))
    np.testing.assert_array_equal(memory[: len(drawn.image)], drawn.expected)
    assert result.cycles is not None
    return result.cycles


def outcome(engine: Engine, drawn: RandomProgram, how: Launch) -> tuple[int | None, ...]:
    """The cycles, or the fault's instruction and address."""
    try:
        return (run(engine, drawn, how),)
    except BusTimeoutError as error:
        return error.instruction, error.address


def check(seed: int, kind: str) -> bool:
    """Compare with the cycle model; returns whether the bus timed out."""
    found = moment(seed)
    model = CycleEngine(found.config, found.model)
    wanted = outcome(model, found.drawn, found.how)
    engine = make_engine(kind, found.config, found.model)
    try:
        assert outcome(engine, found.drawn, found.how) == wanted, f"seed {seed}: {found.how}"
        if len(wanted) == 1:
            return False
        if isinstance(engine, RtlEngine):
            # The cycle model ends in the same cycle.
            assert engine._driver is not None
            cycles = engine._driver.read("cycles")
            at_end = replace(found.how, max_cycles=cycles)
            assert outcome(model, found.drawn, at_end) == wanted
            with pytest.raises(CycleLimitError):
                run(model, found.drawn, replace(found.how, max_cycles=cycles - 1))
        run(engine, found.drawn, Launch(address=0, max_cycles=MANY))
        return True
    finally:
        engine.close()


@pytest.mark.parametrize("seed", SOME)
def test_some_moments(seed: int) -> None:
    check(seed, "rtl")


@pytest.mark.exhaustive
def test_many_moments() -> None:
    assert sum(check(seed, "rtl") for seed in ALL) > 100


def test_a_moment_in_amaranths_simulator() -> None:
    seed = next(seed for seed in SOME if len(outcome_of_model(seed)) == 2)
    assert check(seed, "pysim")


def outcome_of_model(seed: int) -> tuple[int | None, ...]:
    found = moment(seed)
    return outcome(CycleEngine(found.config, found.model), found.drawn, found.how)


def test_the_error_says_what_was_asked() -> None:
    engine, drawn, cycles = machine()
    silence = Silence(Channel.R, cycles // 3, FOREVER)
    memory, address = place_program(drawn.image, drawn.program)
    how = Launch(address=address, bus_timeout=50, silence=silence)
    with pytest.raises(BusTimeoutError) as caught:
        engine.launch(drawn.program, memory, how)
    where = rf"LOAD of \w+ at {caught.value.address:#x} within 50 cycles \[BUS_TIMEOUT\]"
    assert re.fullmatch(rf"instruction \d+: memory did not answer {where}", str(caught.value))
    engine.close()


def machine() -> tuple[RtlEngine, RandomProgram, int]:
    """A machine, a program, and its cycles."""
    engine = RtlEngine(MACHINES[0], MemoryModel(16))
    drawn = random_program(MACHINES[0], 5, 30)
    return engine, drawn, run(engine, drawn, Launch(address=0))


@pytest.mark.parametrize("channel", list(Channel))
@pytest.mark.parametrize("lost", [False, True])
def test_without_a_limit_a_reset_ends_it(channel: Channel, lost: bool) -> None:
    """The driver's second soft reset gives up what memory owes."""
    engine, drawn, cycles = machine()
    silence = Silence(channel, cycles // 2, FOREVER, lost)
    how = Launch(address=0, silence=silence, max_cycles=2 * cycles)
    memory, address = place_program(drawn.image, drawn.program)
    with pytest.raises(CycleLimitError):
        engine.launch(drawn.program, memory, replace(how, address=address))
    assert run(engine, drawn, Launch(address=0)) == cycles
    engine.close()


@pytest.mark.parametrize("unit", list(Unit), ids=lambda unit: unit.name.lower())
@pytest.mark.parametrize("config", FAR_MACHINES, ids=lambda config: config.name)
def test_an_address_far_away(config: HardwareConfig, unit: Unit) -> None:
    """Every bit of the address is reported, of each unit's bursts."""
    asm, latency = Assembler(config), 200
    match unit:
        case Unit.LOAD:
            asm.load(MemoryId.INP, sram=0, dram=0, columns=1)
        case Unit.COMPUTE:
            asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
        case Unit.STORE:
            asm.store(sram=0, dram=0, columns=1)
    asm.finish()
    program = asm.build()
    # The program's beats come after the latency, and what the unit asks for then never comes.
    silence = Silence(ANYTHING, latency * 3 // 2, FOREVER)
    for address in FAR:
        memory, start = place_program(bytes(PAGE_BYTES), program)
        bases = (address,) * BASE_REGISTERS
        how = Launch(address=start, bases=bases, bus_timeout=2 * latency, silence=silence)
        for machine in (CycleEngine, RtlEngine):
            engine = machine(config, MemoryModel(latency))
            with pytest.raises(BusTimeoutError) as caught:
                engine.launch(program, memory, how)
            engine.close()
            assert (caught.value.instruction, caught.value.address) == (0, address), engine.name


def test_a_handshake_that_never_ends_is_seen_again() -> None:
    """ARVALID stays, as AXI4 wants, until memory takes the address; then everything works."""
    engine, drawn, cycles = machine()
    silence = Silence(Channel.AR, cycles // 3, FOREVER)
    first = Launch(address=0, bus_timeout=50, silence=silence, max_cycles=MANY)
    assert len(outcome(engine, drawn, first)) == 2
    always = replace(first, silence=Silence(Channel.AR, 2, FOREVER))
    instruction, _ = outcome(engine, drawn, always)
    assert instruction is None
    run(engine, drawn, Launch(address=0))
    engine.close()


@pytest.mark.parametrize("channel", [Channel.AR, Channel.AW])
def test_every_launch_reports_an_address_that_is_never_taken(channel: Channel) -> None:
    """The same address, of no instruction: that one was of the first launch."""
    engine, drawn, cycles = machine()
    bench, driver = engine._bench, engine._driver
    assert bench is not None
    assert driver is not None
    how = Launch(address=0, bus_timeout=50, silence=Silence(channel, cycles // 2, FOREVER))
    _, address = outcome(CycleEngine(engine.config, engine.memory_model), drawn, how)
    memory, start = place_program(drawn.image, drawn.program)
    # An engine's launch begins with a memory that answers: this one's never does again.
    bench.attach(BenchSetup.of(memory, how))
    driver.write("instruction_address", start)
    driver.write("instruction_count", len(drawn.program))
    driver.write("bus_timeout", how.bus_timeout)
    driver.write("irq_enable", Interrupt.ERROR)
    for launch in range(3):
        driver.write("control", Control.LAUNCH)
        assert bench.run(MANY)
        assert driver.read("error_code") == Fault.BUS_TIMEOUT
        assert driver.read("error_address") == address, f"launch {launch}"
        assert launch == 0 or driver.read("error_instruction") == NO_INSTRUCTION
        driver.write("irq_status", Interrupt.ERROR)
    bench.detach()
    run(engine, drawn, Launch(address=0))
    engine.close()


def test_there_are_as_many_fences_as_ids() -> None:
    engine, drawn, cycles = machine()
    silence = Silence(Channel.R, cycles // 3, FOREVER, lost=True)
    hangs = Launch(address=0, bus_timeout=50, silence=silence, max_cycles=MANY)
    for _ in range((1 << ID_BITS) - 1):
        assert len(outcome(engine, drawn, hangs)) == 2
        assert run(engine, drawn, Launch(address=0)) == cycles
    assert len(outcome(engine, drawn, hangs)) == 2
    with pytest.raises(EngineError, match=r"gave up bus transactions 4 times.*before ARESETn"):
        run(engine, drawn, Launch(address=0))
    engine.close()
