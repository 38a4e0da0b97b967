"""How runs end in the cycle engine: as in the RTL, with the same fault, instruction and limit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, MemoryId, Program
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import BASED
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Engine, Launch
from tandem.sim.engine_pair import ending_of, run_to_end
from tandem.sim.errors import EngineError
from tandem.sim.functional.engine import FunctionalEngine
from tandem.sim.memory import place_program
from tandem.sim.rtl.engine import RtlEngine
from tests.cosim.test_cycle_engine import drawn_memory
from tests.support.sim.programs import RandomProgram, random_program
from tests.support.sim.reference import Image

TINY = load_config("tiny")
MOST_CYCLES = 300_000
FAR = 1 << 31


def ending(engine: Engine, program: Program, image: Image, how: Launch) -> tuple[object, ...]:
    """How a run ends: its cycles, or what its error says."""
    memory, address = place_program(image, program)
    return ending_of(run_to_end(engine, program, memory, replace(how, address=address)))


def damaged(drawn: RandomProgram, rng: random.Random, bits: int) -> Program:
    """The program with some bits flipped, but none that makes it move data far away: a machine of
    32 bits cannot address what lies there."""
    config, data = drawn.program.config, bytearray(drawn.program.data)
    for _ in range(bits):
        changed = data.copy()
        at = rng.randrange(8 * len(data))
        changed[at // 8] ^= 1 << at % 8
        columns = Program.from_bytes(config, bytes(changed)).columns()
        size = max(config.element_bytes(memory) for memory in MemoryId)
        if not ((columns.x_size > 0) & (columns.dram_base * size >= FAR)).any():
            data = changed
    return Program.from_bytes(config, bytes(data))


def drawn_faults(drawn: RandomProgram, rng: random.Random) -> Iterator[tuple[Program, Launch]]:
    """The program with refused addresses, with damage, with both, and without a token."""
    start = rng.randrange(len(drawn.image) + 640)
    refused = ((start, start + rng.choice((1, 4, 64, 1000))),)
    how = Launch(address=0, max_cycles=MOST_CYCLES, validate=False)
    yield drawn.program, replace(how, bus_errors=refused, validate=True)
    yield damaged(drawn, rng, rng.choice((1, 2, 3))), how
    yield damaged(drawn, rng, 1), replace(how, bus_errors=refused)
    data = bytearray(drawn.program.data)
    data[16 * rng.randrange(len(drawn.program))] ^= 1 << rng.randrange(3, 7)
    yield Program.from_bytes(drawn.program.config, bytes(data)), how


def compare(name: str, seeds: range) -> Counter[object]:
    """Compare the ends of damaged programs; returns how often each kind of end was met."""
    config, kinds = load_config(name), Counter[object]()
    for seed in seeds:
        rng, memory = random.Random(f"faults {seed}"), drawn_memory(seed)
        rtl, cycle = RtlEngine(config, memory), CycleEngine(config, memory)
        drawn = random_program(config, seed, 40)
        for number, (program, how) in enumerate(drawn_faults(drawn, rng)):
            try:
                found = ending(cycle, program, drawn.image, how)
            except EngineError:
                continue  # it writes itself, or its micro-ops
            wanted = ending(rtl, program, drawn.image, how)
            assert found == wanted, f"{name}, {memory}, seed {seed}, program {number}"
            kinds[found[0]] += 1
            # What is on chip after a fault is not defined: the next program finds zeros.
            rtl.close()
            cycle.close()
    return kinds


def test_few_runs_end_as_in_the_rtl() -> None:
    assert len(compare("tiny", range(12))) >= 5


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["tiny", "small8", "batch2", "pynq"])
def test_runs_end_as_in_the_rtl(name: str) -> None:
    assert len(compare(name, range(1000, 1150))) >= 8


def least_limit(engine: Engine, program: Program, image: Image, how: Launch) -> int:
    """The least `max_cycles` that lets the run come to its end, or its error."""
    low, high = 1, MOST_CYCLES
    while low < high:
        middle = (low + high) // 2
        limited = replace(how, max_cycles=middle)
        if ending(engine, program, image, limited)[0] == "limit":
            low = middle + 1
        else:
            high = middle
    return low


def test_the_limit_is_exact_where_nothing_is_left_to_drain() -> None:
    """Also of deadlocks and tokens that are left; where transfers are under way, the RTL may need
    a higher limit."""
    seen = Counter[object]()
    for seed in range(6):
        rng = random.Random(f"faults {seed}")
        memory = MemoryModel(rng.choice((1, 2, 5)), rng.choice((1, 2)), rng.choice((1, 4, 64)))
        rtl, cycle = RtlEngine(TINY, memory), CycleEngine(TINY, memory)
        drawn = random_program(TINY, seed, 40)
        for program, how in drawn_faults(drawn, rng):
            try:
                end = ending(cycle, program, drawn.image, how)
            except EngineError:
                continue  # it writes itself
            least = least_limit(cycle, program, drawn.image, how)
            under = ending(rtl, program, drawn.image, replace(how, max_cycles=least - 1))
            assert under[0] == "limit"
            if end[0] in ("done", "deadlock", "TOKENS_LEFT"):
                assert ending(rtl, program, drawn.image, replace(how, max_cycles=least)) == end
                seen[end[0]] += 1
        rtl.close()
    assert len(seen) == 3


def test_far_addresses_wrap() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=(1 << 32) // TINY.element_bytes(MemoryId.INP), columns=1)
    asm.finish()
    program, image, how = asm.build(), np.zeros(4096, np.uint8), Launch(address=0)
    rtl = RtlEngine(TINY)
    end = ending(rtl, program, image, how)
    assert end[0] == "done"
    assert ending(CycleEngine(TINY), program, image, how) == end
    rtl.close()


def test_the_difference_in_a_shift_behind_a_bus_error() -> None:
    """The ALU shifts while the refused LOAD waits for memory; here the bus error is found first."""
    uops, far = 4096, 8192
    image = np.full(1 << 14, 0x40, np.uint8)
    image[uops : uops + 4] = 0
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=uops // 4, columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=1)
    for _ in range(5):
        asm.load(MemoryId.INP, sram=0, dram=0, columns=TINY.depth(MemoryId.INP))
    asm.load(MemoryId.INP, sram=0, dram=far // TINY.element_bytes(MemoryId.INP), columns=1)
    asm.alu(AluOp.SHR, (0, 1))
    asm.finish()
    how = Launch(address=0, bus_errors=((far, far + 8),))
    memory, rtl = MemoryModel(100, 8, 16), RtlEngine(TINY, MemoryModel(100, 8, 16))
    assert ending(rtl, asm.build(), image, how) == ("SHIFT", 8)
    rtl.close()
    assert ending(CycleEngine(TINY, memory), asm.build(), image, how) == ("bus", 7, False)


def test_the_difference_in_limits_while_transfers_drain() -> None:
    """A fault that is in time for the limit is reported; the RTL reports the limit if it has to
    wait for memory."""
    memory = MemoryModel(400, 1, 16)
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=8)
    asm.load(MemoryId.OUT, sram=0, dram=0, columns=1)
    asm.finish()
    program, image = asm.build(), np.zeros(4096, np.uint8)
    cycle, rtl = CycleEngine(TINY, memory), RtlEngine(TINY, memory)
    how = Launch(address=0, validate=False, max_cycles=MOST_CYCLES)
    least = least_limit(cycle, program, image, how)
    limited = replace(how, max_cycles=least)
    assert ending(cycle, program, image, limited) == ("LOAD_OUT", 1)
    assert ending(rtl, program, image, limited)[0] == "limit"
    assert ending(rtl, program, image, how) == ("LOAD_OUT", 1)
    rtl.close()


def test_a_machine_drops_the_bits_of_bases_that_it_lacks() -> None:
    """Also bits above the 60th; the micro-ops, which the cycle engine reads ahead, come from the
    same places."""
    drawn = random_program(TINY, 3, 40)
    bases = tuple((1 << 33 + 4 * memory) + (1 << 61) for memory in BASED)
    ends = []
    for how in (Launch(address=0), Launch(address=0, bases=bases)):
        for engine in (RtlEngine(TINY), CycleEngine(TINY), FunctionalEngine(TINY)):
            memory, address = place_program(drawn.image, drawn.program)
            found = run_to_end(engine, drawn.program, memory, replace(how, address=address))
            engine.close()
            ends.append((engine.has_time, ending_of(found)))
            np.testing.assert_array_equal(memory[: len(drawn.expected)], drawn.expected)
    assert len(set(ends)) == 2
