"""A small program for any machine, whose result is known without a simulator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import AluOp, Assembler, Loop, MicroOp, Program, pack_uops
from tandem.hw.topology import MemoryId, Unit
from tandem.runtime.artifact import PlacedTensor
from tandem.workbench.export.stream_file import pack
from tandem.workbench.ip.launches import RecordedLaunch, Transfer, launch_files

NAME = "self_test"
_AT = 1
"""The element of every on-chip memory that the program uses: each has two or more."""
_LOOPS = (Loop(1), Loop(1))


def self_test_files(config: HardwareConfig) -> dict[str, bytes]:
    """The program as a stream, and its launch with the expected output, by names of files.

    It multiplies one element of INP with one of WGT, replaces negative sums by zero, and stores the
    low bytes.
    """
    at = _places(config)
    inputs = _numbers((config.batch, config.block_in), 7)
    weights = _numbers((config.block_out, config.block_in), 11)
    sums = inputs.astype(np.int32) @ weights.astype(np.int32).T
    output = np.maximum(sums, 0).astype(np.int8)
    image = np.zeros(at[MemoryId.OUT] + output.size, np.uint8)
    micro_ops = pack_uops(config, [MicroOp(dst=_AT, src=_AT, wgt=_AT)])
    for memory, content in ((MemoryId.UOP, micro_ops), (MemoryId.WGT, weights.tobytes())):
        image[at[memory] :][: len(content)] = np.frombuffer(content, np.uint8)
    stream, _, _ = pack(_program(config, at), image)
    launch = RecordedLaunch(
        NAME,
        (Transfer(PlacedTensor("input", at[MemoryId.INP], inputs.shape, "int8"), inputs),),
        (Transfer(PlacedTensor("output", at[MemoryId.OUT], output.shape, "int8"), output),),
    )
    file = f"{NAME}.bin"
    return {file: stream, **launch_files(NAME, config.name, [launch], [file], {})}


def _places(config: HardwareConfig) -> dict[MemoryId, int]:
    """Addresses, multiples of the elements' sizes and of 64 bytes; none is 0."""
    places, end = dict[MemoryId, int](), 1
    for memory in (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.OUT):
        size = max(config.element_bytes(memory), 64)
        places[memory] = -(-end // size) * size
        end = places[memory] + size
    return places


def _numbers(shape: tuple[int, int], factor: int) -> NDArray[np.int8]:
    """Integers of both signs, none of which is 0."""
    values = np.arange(1, np.prod(shape) + 1) * factor % 127
    return (values - 64 + (values >= 64)).astype(np.int8).reshape(shape)


def _program(config: HardwareConfig, at: dict[MemoryId, int]) -> Program:
    asm = Assembler(config)

    def load(memory: MemoryId, signals: tuple[Unit, ...] = ()) -> None:
        place = at[memory] // config.element_bytes(memory)
        asm.load(memory, sram=_AT, dram=place, columns=1, signals=signals)

    load(MemoryId.INP)
    load(MemoryId.WGT, (Unit.COMPUTE,))
    asm.load(MemoryId.UOP, sram=0, dram=at[MemoryId.UOP] // 4, columns=1)
    asm.gemm((0, 1), _LOOPS, reset=True)
    asm.gemm((0, 1), _LOOPS, waits_for=Unit.LOAD)
    asm.alu(AluOp.MAX, (0, 1), _LOOPS, imm=0, signals=Unit.STORE)
    place = at[MemoryId.OUT] // config.element_bytes(MemoryId.OUT)
    asm.store(sram=_AT, dram=place, columns=1, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.finish()
    return asm.build()
