"""A sequential interpreter of the accelerator's commands, in plain loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from tandem.compiler.machines.accelerator.lower.commands import Command, Compute, Copy
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId

Location = tuple[str, int]
"""A memory's name, and the index of an element in it; for "dram", the index of a byte."""

_CHIP = {
    MemoryId.INP: "inp",
    MemoryId.WGT: "wgt",
    MemoryId.ACC: "acc",
    MemoryId.ACC_8BIT: "acc",
    MemoryId.OUT: "acc",
    MemoryId.UOP: "uop",
    MemoryId.PAR: "par",
}


def micro_ops(command: Compute) -> Iterator[tuple[int, int, int]]:
    """The indices (dst, src, wgt) of every executed micro-op, in execution order."""
    kernel = command.kernel
    outer, inner = command.outer, command.inner
    for o, i in product(range(outer.extent), range(inner.extent)):
        for dst, src, wgt in zip(kernel.dst, kernel.src, kernel.wgt, strict=True):
            yield (
                dst + o * outer.dst + i * inner.dst,
                src + o * outer.src + i * inner.src,
                wgt + o * outer.wgt + i * inner.wgt,
            )


def parameters(command: Compute) -> Iterator[int]:
    """The element of PAR of every executed micro-op of a command with a mode."""
    assert command.mode is not None
    for o, i in product(range(command.outer.extent), range(command.inner.extent)):
        at = command.mode.par + o * command.outer.par + i * command.inner.par
        yield from [at] * len(command.kernel)


def _elements(copy: Copy) -> Iterator[tuple[int, int | None]]:
    """Pairs of an on-chip and a DRAM index, in elements; the latter is None for zero padding."""
    above, below, left, right = copy.pads
    at = copy.sram
    for y in range(-above, copy.rows + below):
        for x in range(-left, copy.columns + right):
            inside = 0 <= y < copy.rows and 0 <= x < copy.columns
            yield at, copy.dram + y * copy.stride + x if inside else None
            at += 1


def accessed(command: Command, config: HardwareConfig) -> tuple[set[Location], set[Location]]:
    """The locations that a command reads, and those it writes; micro-op fetches do not count."""
    reads, writes = set[Location](), set[Location]()
    if isinstance(command, Copy):
        size = config.element_bytes(command.memory)
        for chip, dram in _elements(command):
            on_chip: Location = (_CHIP[command.memory], chip)
            stores = command.memory is MemoryId.OUT
            (reads if stores else writes).add(on_chip)
            if dram is not None:
                there = {("dram", dram * size + byte) for byte in range(size)}
                (writes if stores else reads).update(there)
    elif isinstance(command, Compute):
        if command.mode is not None:
            reads |= {("par", at) for at in parameters(command)}
        for dst, src, wgt in micro_ops(command):
            writes.add(("acc", dst))
            if not (command.reset or command.overwrite or command.op is AluOp.MOVE):
                reads.add(("acc", dst))
            if command.reads_src:
                reads.add(("inp" if command.op is None or command.from_inp else "acc", src))
            if command.reads_wgt:
                reads.add(("wgt", wgt))
    return reads, writes


class CommandMachine:
    """Executes commands on a copy of DRAM, and on on-chip memories with random initial values.

    OUT has what STOREs write: at first the low bytes of ACC. Commands bring their modes with them,
    with numbers as immediates.
    """

    def __init__(self, config: HardwareConfig, dram: npt.NDArray[np.uint8], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.config, self.dram = config, dram.copy()
        depth = config.depth
        self.inp = rng.integers(
            -128, 128, (depth(MemoryId.INP), config.batch, config.block_in), np.int64
        )
        self.wgt = rng.integers(
            -128, 128, (depth(MemoryId.WGT), config.block_out, config.block_in), np.int64
        )
        self.acc = rng.integers(
            -(1 << 31), 1 << 31, (depth(MemoryId.ACC), config.batch, config.block_out), np.int64
        )
        self.out = self.acc.astype(np.int8)
        words = depth(MemoryId.PAR), config.block_out
        self.par = rng.integers(-(1 << 31), 1 << 31, words, np.int64) % (1 << 32)
        self.par |= rng.integers(0, 1 << 21, words, np.int64) << 32

    def run(self, commands: Iterable[Command]) -> None:
        """Execute commands in order. Raises `IndexError` for an element outside of a memory."""
        for command in commands:
            if isinstance(command, Copy):
                self._copy(command)
            elif isinstance(command, Compute):
                elements = [0] * len([*micro_ops(command)])
                if command.mode is not None:
                    elements = [*parameters(command)]
                for indices, par in zip(micro_ops(command), elements, strict=True):
                    self._execute(command, *indices)
                    self._write_out(command, indices, par)
            else:
                raise TypeError(f"{command}: commands bring their modes with them")

    def _copy(self, copy: Copy) -> None:
        size = self.config.element_bytes(copy.memory)
        if copy.memory is MemoryId.UOP:
            return
        memory: npt.NDArray[np.int64] = getattr(self, _CHIP[copy.memory])
        kind = np.dtype({MemoryId.ACC: "<i4", MemoryId.PAR: "<i8"}.get(copy.memory, "<i1"))
        for chip, dram in _elements(copy):
            if not 0 <= chip < len(memory):
                raise IndexError(f"{copy}: index {chip} is outside of {len(memory)} elements")
            if dram is None:
                memory[chip] = 0
                self._loaded(copy, chip)
                continue
            place = self.dram[dram * size : (dram + 1) * size]
            if dram < 0 or len(place) != size:
                raise IndexError(f"{copy}: element {dram} lies outside of DRAM")
            if copy.memory is MemoryId.OUT:
                place[:] = self.out[chip].astype(np.uint8).ravel()
            else:
                memory[chip] = place.view(kind).reshape(memory[chip].shape)
                self._loaded(copy, chip)

    def _loaded(self, copy: Copy, chip: int) -> None:
        if _CHIP[copy.memory] == "acc":
            self.out[chip] = self.acc[chip].astype(np.int8)

    def _write_out(self, command: Compute, indices: tuple[int, int, int], par: int) -> None:
        """Write what the command made of the accumulator to OUT."""
        dst, src, _ = indices
        if (mode := command.mode) is None:
            self.out[dst] = self.acc[dst].astype(np.int8)
            return
        word = self.par[par]
        total = self.acc[dst] * (word >> 32 & 0xFFFF) + word.astype(np.int32)
        if command.op is AluOp.RESIDUAL:
            total = total + self.inp[src] * mode.immediates["scale"]
        value = total >> (word >> 48 & 31)
        self.out[dst] = np.clip(value, int(mode.low), int(mode.high)).astype(np.int8)

    def _execute(self, command: Compute, dst: int, src: int, wgt: int) -> None:
        if min(dst, src, wgt) < 0:
            raise IndexError(f"{command}: an index is negative: dst {dst}, src {src}, wgt {wgt}")
        if command.op is None:
            if command.reset:
                self.acc[dst] = 0
            else:
                before = 0 if command.overwrite else self.acc[dst]
                self.acc[dst] = _wrapped(before + self.inp[src] @ self.wgt[wgt].T)
            return
        a = self.acc[dst].astype(np.int32)
        b = (self.inp if command.from_inp else self.acc)[src].astype(np.int32)
        b = b if command.imm is None else np.full_like(a, command.imm)
        self.acc[dst] = command.op.apply(a, b)


def _wrapped(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return values.astype(np.int32).astype(np.int64)
