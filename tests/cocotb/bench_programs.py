"""Programs give the right result, whatever the buses do to them."""

from __future__ import annotations

import cocotb
import numpy as np
from cocotb.handle import HierarchyObject

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import AluOp, Assembler, Loop, MicroOp, Program, pack_uops
from tandem.hw.registers import Status
from tandem.hw.topology import MemoryId, Unit
from tests.cocotb.machine import CHANNELS, Machine
from tests.cocotb.programs import busy_program
from tests.support.sim.reference import Image, ReferenceMachine

ROWS = 8
"""Vectors of the matrix product, which has two blocks of channels in and two out."""
SHIFT = 8
BASES = {
    MemoryId.UOP: 0x0100,
    MemoryId.INP: 0x0800,
    MemoryId.WGT: 0x0F00,
    MemoryId.ACC: 0x1800,
    MemoryId.OUT: 0x2800,
    MemoryId.ACC_8BIT: 0x3000,
}
SEEDS = (3, 4)


def _matmul(config: HardwareConfig) -> Program:
    """Two by two tiles, biased, scaled and clipped. Inputs of the second block of channels are
    loaded while the first is at work."""
    asm = Assembler(config)
    loops = (Loop(2, dst=ROWS, wgt=2), Loop(ROWS, dst=1, src=1))
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=2)
    asm.load(MemoryId.ACC_8BIT, sram=0, dram=0, rows=2, columns=ROWS, stride=ROWS)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=ROWS)
    asm.load(MemoryId.WGT, sram=0, dram=0, columns=4, signals=Unit.COMPUTE)
    asm.load(MemoryId.INP, sram=ROWS, dram=ROWS, columns=ROWS, signals=Unit.COMPUTE)
    asm.gemm((0, 1), loops, waits_for=Unit.LOAD)
    asm.gemm((1, 2), loops, waits_for=Unit.LOAD)
    asm.alu(AluOp.SHR, (0, 1), each_alu := (Loop(2, dst=ROWS), Loop(ROWS, dst=1)), imm=SHIFT)
    asm.alu(AluOp.MIN, (0, 1), each_alu, imm=127)
    asm.alu(AluOp.MAX, (0, 1), each_alu, imm=0, signals=Unit.STORE)
    asm.store(sram=0, dram=0, columns=2 * ROWS, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.STORE)
    return asm.build()


def _image(config: HardwareConfig, seed: int) -> Image:
    """Random operands, and the two micro-ops, one a block of input channels."""
    image = np.random.default_rng(seed).integers(0, 256, 0x4000, np.uint8)
    uops = pack_uops(config, [MicroOp(0, 0, 0), MicroOp(dst=0, src=ROWS, wgt=1)])
    image[BASES[MemoryId.UOP] :][: len(uops)] = np.frombuffer(uops, np.uint8)
    return image


def _expected(program: Program, image: Image) -> Image:
    """What the reference machine makes of `image`."""
    reference, memory = ReferenceMachine(program.config, BASES), image.copy()
    for instruction in program:
        reference.step(instruction, memory)
    return memory


def _numpy_matmul(config: HardwareConfig, image: Image) -> Image:
    """The product as one would write it without any accelerator; the bytes at OUT's base."""
    size = config.block_in
    inp = image[BASES[MemoryId.INP] :][: 2 * ROWS * size].view(np.int8).reshape(2, ROWS, size)
    wgt = image[BASES[MemoryId.WGT] :][: 4 * size * size].view(np.int8).reshape(2, 2, size, size)
    bias = image[BASES[MemoryId.ACC_8BIT] :][: 2 * ROWS * size].view(np.int8)
    total = np.einsum("krc,nkoc->nro", inp.astype(int), wgt.astype(int))
    total += bias.reshape(2, ROWS, size)
    return np.clip(total >> SHIFT, 0, 127).astype(np.uint8).reshape(-1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_matrix_product(dut: HierarchyObject) -> None:
    """Against the reference machine and against NumPy."""
    machine = await Machine.power_on(dut)
    config = machine.config
    program, image = _matmul(config), _image(config, 1)
    expected = _expected(program, image)
    product = _numpy_matmul(config, image)
    np.testing.assert_array_equal(expected[BASES[MemoryId.OUT] :][: len(product)], product)
    assert len(np.unique(product)) > ROWS

    await machine.launch(program, image, BASES)
    assert await machine.poll() == Status.DONE
    await machine.check(expected)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(seed=SEEDS)
async def a_random_program(dut: HierarchyObject, seed: int) -> None:
    """And the buses are used as they must be."""
    machine = await Machine.power_on(dut)
    await machine.run(busy_program(machine.config, seed, 24))
    assert machine.rules.reads
    assert machine.rules.writes


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def programs_one_after_the_other(dut: HierarchyObject) -> None:
    """The second finds nothing of the first but the contents of the on-chip memories."""
    machine = await Machine.power_on(dut)
    await machine.run(busy_program(machine.config, 10, 16))
    first = await machine.get("cycles")
    await machine.run(busy_program(machine.config, 11, 24))
    assert await machine.get("cycles") != first
    await machine.run(busy_program(machine.config, 10, 16))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stores_of_nothing_in_between(dut: HierarchyObject) -> None:
    """They end in order with the others, whose acknowledgements come one right after another."""
    machine = await Machine.power_on(dut)
    machine.hinder(("m_axi_b",), 45, 0.7)
    asm = Assembler(machine.config)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=ROWS, signals=Unit.STORE)
    asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    for row in range(ROWS):
        asm.store(sram=row, dram=2 * row, columns=1, signals=Unit.COMPUTE)
        asm.nop(Unit.STORE, signals=Unit.COMPUTE)
    for _ in range(2 * ROWS):
        asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.finish()
    program, image = asm.build(), _image(machine.config, 2)
    expected = _expected(program, image)
    for _ in range(3):
        await machine.launch(program, image, BASES)
        assert await machine.poll() == Status.DONE
        await machine.check(expected)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(channel=CHANNELS)
async def back_pressure(dut: HierarchyObject, channel: str) -> None:
    """One channel waits most of the time."""
    machine = await Machine.power_on(dut)
    machine.hinder((channel,), CHANNELS.index(channel), 0.8)
    await machine.run(busy_program(machine.config, 20, 20))
    if channel in machine.rules.waits:
        assert machine.rules.waits[channel], "nothing waited"


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(seed=(0, 1))
async def back_pressure_everywhere(dut: HierarchyObject, seed: int) -> None:
    """All channels wait now and then."""
    machine = await Machine.power_on(dut)
    machine.hinder(CHANNELS, seed, 0.4)
    await machine.run(busy_program(machine.config, 30 + seed, 20))
