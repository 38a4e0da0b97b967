"""Single instructions that access one location of each memory, for programs with hazards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, MemoryId, MicroOp, Program, TokenQueue, Unit, pack_uops

TINY = load_config("tiny")
INP, WGT, ACC, UOP = MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.UOP
PLACE = 0x200
"""Address of the DRAM byte that the instructions access. Micro-ops lie at 0."""
ELSEWHERE = 0x300


def image() -> npt.NDArray[np.uint8]:
    """Memory with micro-op 0 (dst 3, src 5, wgt 2); the fields of further micro-ops are 0."""
    found = np.zeros(0x400, np.uint8)
    found[:4] = np.frombuffer(pack_uops(TINY, [MicroOp(dst=3, src=5, wgt=2)]), np.uint8)
    return found


def assembler() -> Assembler:
    asm = Assembler(TINY)
    asm.load(UOP, sram=0, dram=0, columns=1)
    return asm


def at(memory: MemoryId, byte: int = PLACE) -> int:
    """The `dram_base` of a byte address."""
    return byte // TINY.element_bytes(memory)


Step = Callable[[Assembler, Sequence[Unit], Sequence[Unit]], int]
"""Appends one instruction, which waits for units and signals others."""


def load_inp(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.load(INP, sram=4, dram=at(INP), columns=2, waits_for=waits, signals=signals)


def load_wgt(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.load(WGT, sram=1, dram=at(WGT), columns=2, waits_for=waits, signals=signals)


def gemm(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.gemm((0, 1), waits_for=waits, signals=signals)


def reset(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.gemm((0, 1), reset=True, waits_for=waits, signals=signals)


def alu(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.alu(AluOp.ADD, (0, 1), imm=1, waits_for=waits, signals=signals)


def load_acc(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.load(
        ACC, sram=3, dram=at(ACC, ELSEWHERE), columns=1, waits_for=waits, signals=signals
    )


def load_acc_8bit(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    memory = MemoryId.ACC_8BIT
    return asm.load(
        memory, sram=2, dram=at(memory, ELSEWHERE), columns=2, waits_for=waits, signals=signals
    )


def load_uop(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.load(UOP, sram=1, dram=at(UOP), columns=1, waits_for=waits, signals=signals)


def store(asm: Assembler, waits: Sequence[Unit], signals: Sequence[Unit]) -> int:
    return asm.store(sram=3, dram=at(MemoryId.OUT), columns=1, waits_for=waits, signals=signals)


def two_steps(first: Step, second: Step, queues: tuple[TokenQueue, ...]) -> Program:
    """`first`, `second`, and tokens through `queues`; an empty instruction links two queues."""
    asm = assembler()
    first(asm, (), [queue.consumer for queue in queues[:1]])
    for before, after in pairwise(queues):
        asm.nop(after.producer, waits_for=before.producer, signals=after.consumer)
    second(asm, [queue.producer for queue in queues[-1:]], ())
    asm.finish()
    return asm.build()
