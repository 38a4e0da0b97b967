"""Programs that load compressed weights give the right result, whatever the buses do to them."""

from __future__ import annotations

from dataclasses import dataclass

import cocotb
import numpy as np
import numpy.typing as npt
from cocotb.handle import HierarchyObject

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Assembler, Load, Loop, MicroOp, Program, pack_uops
from tandem.hw.registers import Status
from tandem.hw.topology import MemoryId, Unit
from tandem.hw.weight_blocks import packed_blocks
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY, WeightFormat
from tests.cocotb.bench_extensions import BASES, BLOCKS
from tests.cocotb.bench_programs import ROWS
from tests.cocotb.machine import CHANNELS, Machine
from tests.cocotb.programs import busy_program
from tests.support.sim.reference import Image, ReferenceMachine

ANY = WeightFormat("any", 4, (*range(-128, 128, 17),), scaled=True)
"""Products of its entries and scales leave int8, and keep their low bits."""
PAIRS = ((MXFP4, TERNARY), (BINARY, ANY))
"""Formats of the first and of the second column of blocks, one table after the other."""
SEEDS = (7, 8)


@dataclass(frozen=True)
class CodedLayer:
    """A matrix product of `BLOCKS` by `BLOCKS` tiles. Weights for each block of input channels are
    in a format of their own; the last tile of the last one is padding."""

    config: HardwareConfig
    formats: tuple[WeightFormat, ...]
    inp: npt.NDArray[np.int8]
    """Shape (blocks, rows, channels)."""
    codes: tuple[npt.NDArray[np.uint8], ...]
    """For each block of input channels, of shape (output blocks, channels out, channels in)."""
    scales: tuple[npt.NDArray[np.uint8], ...]
    """The same without the last axis."""

    @classmethod
    def random(
        cls, config: HardwareConfig, formats: tuple[WeightFormat, ...], seed: int
    ) -> CodedLayer:
        """Any inputs, codes and scales."""
        draw = np.random.default_rng(seed).integers
        shape = (BLOCKS, config.block_out, config.block_in)
        inp = draw(-128, 128, (BLOCKS, ROWS, config.block_in), np.int8)
        codes = tuple(draw(0, 1 << one.bits, shape, np.uint8) for one in formats)
        scales = tuple(draw(0, 16, shape[:-1], np.uint8) for _ in formats)
        return cls(config, formats, inp, codes, scales)

    @property
    def packed(self) -> tuple[npt.NDArray[np.uint8], ...]:
        """What lies in DRAM, of each format."""
        return tuple(
            packed_blocks(self.config, Coding.of(one), codes, scales if one.scaled else None)
            for one, codes, scales in zip(self.formats, self.codes, self.scales, strict=True)
        )

    @property
    def program(self) -> Program:
        """The table of the second format follows the LOADs of the first without a wait."""
        asm = Assembler(self.config)
        count = BLOCKS * ROWS
        loops = (Loop(BLOCKS, dst=ROWS, wgt=1), Loop(ROWS, dst=1, src=1))
        asm.load(MemoryId.UOP, sram=0, dram=0, columns=BLOCKS)
        asm.load(MemoryId.INP, sram=0, dram=0, columns=count)
        start = 0
        for number, (one, packed) in enumerate(zip(self.formats, self.packed, strict=True)):
            is_last = number == BLOCKS - 1
            asm.table(one.table)
            asm.load(
                MemoryId.WGT_CODES,
                sram=number * BLOCKS,
                dram=start,
                columns=BLOCKS - is_last,
                pad=(0, 0, 0, int(is_last)),
                coding=Coding.of(one),
                signals=Unit.COMPUTE if is_last else (),
            )
            start += packed.size // self.config.bus_bytes
        asm.gemm((0, 1), loops, overwrite=True, waits_for=Unit.LOAD)
        asm.gemm((1, 2), loops, signals=Unit.STORE)
        asm.store(sram=0, dram=0, columns=count, waits_for=Unit.COMPUTE)
        asm.finish()
        return asm.build()

    @property
    def image(self) -> Image:
        """Memory before the run."""
        uops = [MicroOp(0, 0, 0), MicroOp(dst=0, src=ROWS, wgt=BLOCKS)]
        content = {
            MemoryId.UOP: pack_uops(self.config, uops),
            MemoryId.INP: self.inp.tobytes(),
            MemoryId.WGT: b"".join(packed.tobytes() for packed in self.packed),
        }
        image = np.random.default_rng(0).integers(0, 256, 0x4000, np.uint8)
        for memory, values in content.items():
            image[BASES[memory] :][: len(values)] = np.frombuffer(values, np.uint8)
        return image

    @property
    def output(self) -> npt.NDArray[np.int8]:
        """The result, as one would compute it without any accelerator: the low bytes of sums."""
        total = np.zeros((BLOCKS, ROWS, self.config.block_out), np.int64)
        layers = zip(self.formats, self.codes, self.scales, self.inp, strict=True)
        for number, (one, codes, scales, inp) in enumerate(layers):
            weights = one.widened(codes, scales[..., np.newaxis]).astype(np.int64)
            if number == BLOCKS - 1:
                weights[-1] = 0
            total += np.einsum("rc,noc->nro", inp.astype(np.int64), weights)
        return total.astype(np.int8)


async def _run(machine: Machine, layer: CodedLayer) -> None:
    """Run the layer, and compare with NumPy and with the reference machine."""
    program, image, output = layer.program, layer.image, layer.output
    reference, expected = ReferenceMachine(layer.config, BASES), image.copy()
    for instruction in program:
        reference.step(instruction, expected)
    stored = expected[BASES[MemoryId.OUT] :][: output.size].view(np.int8).reshape(output.shape)
    np.testing.assert_array_equal(stored, output)
    assert len(np.unique(output)) > ROWS
    await machine.launch(program, image, BASES)
    assert await machine.poll() == Status.DONE
    await machine.check(expected)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def layers(dut: HierarchyObject) -> None:
    """Two formats each, one after the other."""
    machine = await Machine.power_on(dut)
    for seed, pair in enumerate(PAIRS):
        await _run(machine, CodedLayer.random(machine.config, pair, seed))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_layer_while_every_channel_waits(dut: HierarchyObject) -> None:
    """Codes and scales come at any time."""
    machine = await Machine.power_on(dut)
    machine.hinder(CHANNELS, 5, 0.4)
    await _run(machine, CodedLayer.random(machine.config, (INT4, NF4), 20))


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(seed=SEEDS)
async def a_random_program(dut: HierarchyObject, seed: int) -> None:
    """With tables and LOADs of codes among its instructions."""
    machine = await Machine.power_on(dut)
    drawn = busy_program(machine.config, seed, 40)
    loads = [one for one in drawn.program if isinstance(one, Load) and one.x_size]
    assert any(load.memory is MemoryId.WGT_CODES for load in loads)
    machine.hinder(CHANNELS, seed, 0.2)
    await machine.run(drawn)
