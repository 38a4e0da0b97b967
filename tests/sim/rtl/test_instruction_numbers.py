"""The numbers of instructions far into a program, as errors report them. On the compiled engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.topology import MAX_TOKENS
from tandem.sim.engine import Bytes
from tandem.sim.errors import BusError
from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.launching import launch

TINY, EXTENDED, WIDER = (load_config(name) for name in ("tiny", "tiny-x", "small8"))
Bad = Callable[[Assembler], None]
UOPS, REFUSED, IMAGE = 0x1000, 0x800, 0x2000
FAR = (0x55555, 0xAAAAA)
"""Numbers that have, between them, every bit once at 0 and once at 1."""
NEAR = (0x555, 0xAAA)
"""The same of fewer bits."""
MACHINES = [
    pytest.param(config, number, id=f"{config.name}-{number:#x}", marks=marks)
    for config, number, marks in (
        # Both machines count instructions with the same modules: the quick tests have every bit
        # at 0 on one of them, and at 1 on the other.
        (TINY, FAR[1], ()),
        (EXTENDED, FAR[0], ()),
        (TINY, FAR[0], pytest.mark.exhaustive),
        (EXTENDED, FAR[1], pytest.mark.exhaustive),
    )
]
WIDER_MACHINES = [pytest.param(WIDER, number, id=f"{WIDER.name}-{number:#x}") for number in NEAR]


def image(config: HardwareConfig) -> Bytes:
    """Zeros, but for micro-op 0, which names accumulator 1."""
    made = np.zeros(IMAGE, np.uint8)
    word = np.frombuffer(pack_uops(config, [MicroOp(1)]), np.uint8)
    made[UOPS : UOPS + len(word)] = word
    return made


def far_program(
    config: HardwareConfig, unit: Unit, number: int, end: Assembler, times: int = 1
) -> Program:
    """Loads micro-op 0, then does nothing on `unit`; instruction `number` is the first of `end`,
    which comes so many times."""
    begin, nothing, finish = Assembler(config), Assembler(config), Assembler(config)
    begin.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    nothing.nop(unit)
    finish.finish()
    fill, last = nothing.build().data * (number - 1), finish.build().data
    return Program.from_bytes(config, begin.build().data + fill + end.build().data * times + last)


def bad_load(asm: Assembler) -> None:
    refused = REFUSED // asm.config.element_bytes(MemoryId.INP)
    asm.load(MemoryId.INP, sram=0, dram=refused, columns=1)


def bad_alu(asm: Assembler) -> None:
    # The second iteration's accumulator is beyond the last.
    last = asm.config.depth(MemoryId.ACC) - 1
    asm.alu(AluOp.ADD, (0, 1), (Loop(2, dst=last),), imm=1)


def bad_store(asm: Assembler) -> None:
    refused = REFUSED // asm.config.element_bytes(MemoryId.OUT)
    asm.store(sram=0, dram=refused, columns=1)


FAULTS = [
    (Unit.LOAD, bad_load, Fault.BUS_READ),
    (Unit.COMPUTE, bad_alu, Fault.SRAM_INDEX),
    (Unit.STORE, bad_store, Fault.BUS_WRITE),
]


@pytest.mark.every(2)
@pytest.mark.parametrize(("unit", "bad", "fault"), FAULTS)
@pytest.mark.parametrize(("config", "number"), MACHINES)
def test_a_fault_far_into_a_program(
    config: HardwareConfig, unit: Unit, bad: Bad, fault: Fault, number: int
) -> None:
    check_fault(config, unit, bad, fault, number)


@pytest.mark.parametrize(("unit", "bad", "fault"), FAULTS)
@pytest.mark.parametrize(("config", "number"), WIDER_MACHINES)
def test_a_fault_of_a_wider_machine(
    config: HardwareConfig, unit: Unit, bad: Bad, fault: Fault, number: int
) -> None:
    check_fault(config, unit, bad, fault, number)


def check_fault(config: HardwareConfig, unit: Unit, bad: Bad, fault: Fault, number: int) -> None:
    """The fault is that of instruction `number`."""
    end, engine = Assembler(config), RtlEngine(config)
    bad(end)
    with pytest.raises((ProgramError, BusError)) as caught:
        launch(
            engine,
            far_program(config, unit, number, end),
            image(config),
            validate=False,
            bus_errors=((REFUSED, REFUSED + 8),),
            max_cycles=10_000_000,
        )
    engine.close()
    error = caught.value
    match error:
        case ProgramError():
            assert (error.fault, error.instruction) == (fault, number)
        case BusError():
            assert (error.write, error.instruction) == (fault is Fault.BUS_WRITE, number)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("unit", "other"),
    [(Unit.LOAD, Unit.COMPUTE), (Unit.COMPUTE, Unit.STORE), (Unit.STORE, Unit.COMPUTE)],
)
@pytest.mark.parametrize(("config", "number"), MACHINES)
def test_a_token_too_many_far_into_a_program(
    config: HardwareConfig, unit: Unit, other: Unit, number: int
) -> None:
    push, engine = Assembler(config), RtlEngine(config)
    push.nop(unit, signals=other)
    program = far_program(config, unit, number - MAX_TOKENS, push, MAX_TOKENS + 1)
    with pytest.raises(ProgramError) as caught:
        launch(engine, program, image(config), validate=False, max_cycles=10_000_000)
    engine.close()
    assert (caught.value.fault, caught.value.instruction) == (Fault.TOKEN_OVERFLOW, number)


@pytest.mark.parametrize(("config", "number"), [*MACHINES, *WIDER_MACHINES])
def test_what_waits_far_into_a_program(config: HardwareConfig, number: int) -> None:
    """Every unit waits for a token that nobody pushes; the error names their instructions."""
    end, engine = Assembler(config), RtlEngine(config)
    end.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
    end.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    end.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    program = far_program(config, Unit.LOAD, number, end)
    with pytest.raises(DeadlockError) as caught:
        launch(engine, program, image(config), validate=False, max_cycles=10_000_000)
    engine.close()
    waits = {wait.unit: wait.instruction for wait in caught.value.waits}
    units = (Unit.LOAD, Unit.COMPUTE, Unit.STORE)
    assert waits == {unit: number + place for place, unit in enumerate(units)}
