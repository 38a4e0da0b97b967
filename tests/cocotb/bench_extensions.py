"""Programs that use the extensions give the right result, whatever the buses do to them."""

from __future__ import annotations

from dataclasses import dataclass

import cocotb
import numpy as np
import numpy.typing as npt
from cocotb.handle import HierarchyObject

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import AluOp, Assembler, Loop, MicroOp, Program, Requantise, pack_uops
from tandem.hw.registers import Status
from tandem.hw.topology import MemoryId, Unit
from tests.cocotb.bench_programs import ROWS
from tests.cocotb.machine import CHANNELS, Machine
from tests.cocotb.programs import busy_program
from tests.support.sim.reference import Image, ReferenceMachine

BLOCKS = 2
"""Blocks of input channels and of output channels of the layer."""
BASES = {
    MemoryId.UOP: 0x0100,
    MemoryId.INP: 0x0800,
    MemoryId.WGT: 0x0F00,
    MemoryId.OUT: 0x2800,
    MemoryId.PAR: 0x3800,
}
LOW, HIGH, SCALE = -100, 90, 1 << 20
PARAMETERS = np.dtype([("addend", "<i4"), ("multiplier", "<u2"), ("shift", "u1"), ("unused", "u1")])
SEEDS = (7, 8, 9)

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Layer:
    """A matrix product of `BLOCKS` by `BLOCKS` tiles, requantised per channel, with a residual: its
    own input, as wide as its output."""

    config: HardwareConfig
    inp: npt.NDArray[np.int8]
    """Shape (blocks, rows, channels)."""
    wgt: npt.NDArray[np.int8]
    """Shape (output blocks, input blocks, channels, channels)."""
    parameters: npt.NDArray[np.void]
    """Of each output channel; shape (blocks, channels)."""

    @classmethod
    def random(cls, config: HardwareConfig, seed: int) -> Layer:
        """Any values; the outputs are of the size of bytes, some of them beyond the limits."""
        draw = np.random.default_rng(seed)
        size = config.block_in
        parameters = np.zeros((BLOCKS, size), PARAMETERS)
        parameters["addend"] = draw.integers(-(1 << 27), 1 << 27, parameters.shape)
        parameters["multiplier"] = draw.integers(1 << 12, 1 << 16, parameters.shape)
        parameters["shift"] = draw.integers(21, 24, parameters.shape)
        parameters["unused"] = draw.integers(0, 256, parameters.shape)
        inp = draw.integers(-128, 128, (BLOCKS, ROWS, size), np.int8)
        wgt = draw.integers(-128, 128, (BLOCKS, BLOCKS, size, size), np.int8)
        return cls(config, inp, wgt, parameters)

    @property
    def program(self) -> Program:
        """No reset, no load of accumulators, no pass but that of the residual."""
        asm = Assembler(self.config)
        loops = (Loop(BLOCKS, dst=ROWS, wgt=BLOCKS), Loop(ROWS, dst=1, src=1))
        count = BLOCKS * ROWS
        asm.load(MemoryId.UOP, sram=0, dram=0, columns=BLOCKS)
        asm.load(MemoryId.PAR, sram=0, dram=0, columns=BLOCKS)
        asm.load(MemoryId.INP, sram=0, dram=0, columns=count)
        asm.load(MemoryId.WGT, sram=0, dram=0, columns=BLOCKS * BLOCKS, signals=Unit.COMPUTE)
        asm.gemm((0, 1), loops, overwrite=True, waits_for=Unit.LOAD)
        asm.requantise(0, (1, 0), low=LOW, high=HIGH, scale=SCALE)
        asm.gemm((1, 2), loops, signals=Unit.STORE)
        asm.store(sram=0, dram=0, columns=count, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
        residual = (Loop(BLOCKS, dst=ROWS, src=ROWS), Loop(ROWS, dst=1, src=1))
        asm.alu(AluOp.RESIDUAL, (0, 1), residual, from_inp=True, waits_for=Unit.STORE)
        asm.end_requantisation(signals=Unit.STORE)
        asm.store(sram=0, dram=count, columns=count, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
        # ACC still has the sums: the second block is replaced, and the first one's low bytes stay.
        asm.alu(AluOp.MOVE, (0, 1), residual[1:], from_inp=True, waits_for=Unit.STORE)
        asm.alu(AluOp.ADD, (0, 1), (Loop(BLOCKS, dst=ROWS), residual[1]), imm=0, signals=Unit.STORE)
        asm.store(sram=0, dram=2 * count, columns=count, waits_for=Unit.COMPUTE)
        asm.finish()
        return asm.build()

    @property
    def image(self) -> Image:
        """Memory before the run."""
        uops = [MicroOp(0, 0, 0), MicroOp(dst=0, src=ROWS, wgt=1)]
        content = {
            MemoryId.UOP: pack_uops(self.config, uops),
            MemoryId.INP: self.inp.tobytes(),
            MemoryId.WGT: self.wgt.tobytes(),
            MemoryId.PAR: self.parameters.tobytes(),
        }
        image = np.random.default_rng(0).integers(0, 256, 0x4000, np.uint8)
        for memory, values in content.items():
            image[BASES[memory] :][: len(values)] = np.frombuffer(values, np.uint8)
        return image

    @property
    def output(self) -> npt.NDArray[np.int8]:
        """The three results, as one would compute them without any accelerator."""
        inp = self.inp.astype(np.int64)
        total = np.einsum("krc,nkoc->nro", inp, self.wgt.astype(np.int64))
        moved = np.stack([inp[0], total[1]]).astype(np.int8)
        return np.stack([self._requantised(total, 0), self._requantised(total, inp), moved])

    def _requantised(self, total: Integers, residual: Integers | int) -> npt.NDArray[np.int8]:
        addend, multiplier, shift = (
            self.parameters[name].astype(np.int64)[:, np.newaxis]
            for name in ("addend", "multiplier", "shift")
        )
        scaled = (total * multiplier + addend + residual * SCALE) >> shift
        return np.clip(scaled, LOW, HIGH).astype(np.int8)


def _expected(program: Program, image: Image) -> Image:
    """What the reference machine makes of `image`."""
    reference, memory = ReferenceMachine(program.config, BASES), image.copy()
    for instruction in program:
        reference.step(instruction, memory)
    return memory


async def _run(machine: Machine, layer: Layer) -> None:
    """Run the layer, and compare with NumPy and with the reference machine."""
    program, image = layer.program, layer.image
    expected, output = _expected(program, image), layer.output
    stored = expected[BASES[MemoryId.OUT] :][: output.size].view(np.int8).reshape(output.shape)
    np.testing.assert_array_equal(stored, output)
    assert {LOW, HIGH} < set(output[0].flat)
    assert np.any(output[0] != output[1])
    await machine.launch(program, image, BASES)
    assert await machine.poll() == Status.DONE
    await machine.check(expected)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(seed=(1, 2))
async def a_layer_with_a_residual(dut: HierarchyObject, seed: int) -> None:
    """GEMM that overwrites, requantisation per channel, operands from INP."""
    machine = await Machine.power_on(dut)
    await _run(machine, Layer.random(machine.config, seed))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def layers_while_every_channel_waits(dut: HierarchyObject) -> None:
    """Twice, so that the second finds the accumulators and parameters of the first."""
    machine = await Machine.power_on(dut)
    machine.hinder(CHANNELS, 3, 0.4)
    for seed in (3, 4):
        await _run(machine, Layer.random(machine.config, seed))


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(seed=SEEDS)
async def a_random_program(dut: HierarchyObject, seed: int) -> None:
    """With modes, overwriting GEMMs and operands from INP among its instructions."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, seed, 40)
    assert any(isinstance(one, Requantise) and one.active for one in drawn.program)
    machine.hinder(CHANNELS, seed, 0.2)
    await machine.run(drawn)
