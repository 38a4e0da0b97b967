"""Operations that were found give what their expressions say: all flags, all kinds of operands."""

from __future__ import annotations

from itertools import count

import cocotb
from cocotb.handle import HierarchyObject

from tandem.hw.isa import Alu
from tandem.hw.registers import Status
from tests.cocotb.machine import CHANNELS, Machine
from tests.cocotb.programs import busy_program
from tests.support.sim.operation_cases import BASES, every_case

SEEDS = (14, 15)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_operation(dut: HierarchyObject) -> None:
    """With all kinds of operands, immediates, flags, and limits of parameters."""
    machine = await Machine.power_on(dut)
    cases = every_case(machine.config)
    await machine.launch(cases.program, cases.image, BASES)
    assert await machine.poll() == Status.DONE
    await machine.check(cases.expected)


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(seed=SEEDS)
async def a_random_program(dut: HierarchyObject, seed: int) -> None:
    """The first from the seed on that has operations that were found among its instructions, while
    every channel waits."""
    machine = await Machine.power_on(dut)
    own = {*machine.config.alu_operations}
    programs = (busy_program(machine.config, one, 40) for one in count(seed, len(SEEDS)))
    drawn = next(
        one for one in programs if own & {each.op for each in one.program if isinstance(each, Alu)}
    )
    machine.hinder(CHANNELS, seed, 0.2)
    await machine.run(drawn)
