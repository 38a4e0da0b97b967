"""Requantisation over several launches: what stays, and what each launch begins with."""

from __future__ import annotations

import random

import numpy as np

from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, Program, Unit
from tandem.hw.registers import Status
from tests.support.hw.rtl.plain_compute import Parameters, parameter_bytes
from tests.support.hw.rtl.rtl import Context
from tests.support.hw.rtl.rtl_accelerator import PAGE, Machine

CONFIG = load_config("tiny").replace(features=frozenset(Feature))
CHANNELS = [
    Parameters(-7, 300, 4),
    Parameters(7, 65535, 20),
    Parameters(0, 1, 0),
    Parameters(9, 0, 31),
]
UOPS, PARAMETERS, INP, ACC, OUT = 0x000, 0x200, 0x400, 0x600, 0x800
VALUES = [100, -3000, 77, 12345]
OPERANDS = [3, -128, 127, -1]
SCALE, LOW, HIGH = 5, -100, 90


def program(*, loads: bool = False, requantises: bool = False, beyond: bool = False) -> Program:
    """Rewrites an accumulator as it is, with a residual, and stores it."""
    assembler = Assembler(CONFIG)
    signals: Unit | tuple[()] = ()
    if loads:
        # A micro-op of zeros only, and the parameters, with a base register of their own.
        assembler.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
        assembler.load(MemoryId.ACC, sram=0, dram=ACC // 16, columns=1)
        assembler.load(MemoryId.INP, sram=0, dram=INP // 4, columns=1)
        assembler.load(MemoryId.PAR, sram=3, dram=1, columns=1, signals=Unit.COMPUTE)
        signals = Unit.LOAD
    else:
        assembler.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    if requantises:
        par = CONFIG.depth(MemoryId.PAR) - 1 if beyond else 3
        assembler.requantise(par, (0, 1), low=LOW, high=HIGH, scale=SCALE)
    loops = [Loop(1), Loop(2)] if beyond else []
    assembler.alu(
        AluOp.RESIDUAL, (0, 1), loops, from_inp=True, waits_for=signals, signals=Unit.STORE
    )
    assembler.store(sram=0, dram=OUT // 4, columns=1, waits_for=Unit.COMPUTE)
    assembler.finish()
    return assembler.build()


def test_parameters_stay_and_the_mode_does_not() -> None:
    """Also not after a launch that a fault has stopped."""
    content = bytearray(0x1000)
    rng = random.Random(0)
    element = parameter_bytes(CHANNELS, rng)
    content[PARAMETERS + len(element) : PARAMETERS + 2 * len(element)] = element
    content[INP : INP + 4] = np.array(OPERANDS, np.int8).tobytes()
    content[ACC : ACC + 16] = np.array(VALUES, np.int32).tobytes()
    first = program(loads=True, requantises=True)
    again = program(requantises=True)
    plain = program()
    bad = program(requantises=True, beyond=True)
    addresses = {}
    for one in (first, again, plain, bad):
        addresses[id(one)] = len(content)
        content += one.data + bytes(-len(one.data) % PAGE)
    machine = Machine(CONFIG, content, rng)
    requantised = [
        min(HIGH, max(LOW, (v * p.multiplier + p.addend + k * SCALE) >> p.shift)) & 0xFF
        for v, k, p in zip(VALUES, OPERANDS, CHANNELS, strict=True)
    ]
    low_bytes = [value & 0xFF for value in VALUES]
    assert len({*requantised, *low_bytes}) == 7

    async def bench(ctx: Context) -> None:
        await machine.put(ctx, "base_par", PARAMETERS)

        async def run(one: Program) -> Status:
            machine.content[OUT : OUT + 4] = bytes(4)
            await machine.launch(ctx, addresses[id(one)], len(one))
            return await machine.wait(ctx)

        for one, wanted in (
            (first, requantised),
            (plain, low_bytes),
            (again, requantised),
            (bad, None),
            (plain, low_bytes),
        ):
            status = await run(one)
            if wanted is None:
                assert status == Status.ERROR
                assert await machine.get(ctx, "error_code") == Fault.SRAM_INDEX
                assert await machine.get(ctx, "error_instruction") == 2
            else:
                assert status == Status.DONE
                assert list(machine.content[OUT : OUT + 4]) == wanted

    machine.run(bench)
