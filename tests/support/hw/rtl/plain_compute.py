"""What compute's instructions do, on plain numbers: those of all extensions too.

Written from the instruction set's description, for tests of the compute unit, which cannot see the
other units: INP, WGT and PAR are given, and OUT is looked at directly.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import PARAMETER_BYTES, HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.isa import (
    Alu,
    AluOp,
    Codec,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Requantise,
)
from tandem.hw.operations import MAX_SHIFT
from tests.support.hw.alu_cases import alu_result, wrapped
from tests.support.sim.reference import Image

OFF = Requantise(active=False)


class RefusedError(Exception):
    """A micro-op has a bad index, or a shift too far: the machine stops."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a channel is requantised."""

    addend: int
    multiplier: int
    shift: int

    @classmethod
    def parse(cls, part: bytes) -> Parameters:
        """From the bytes of a channel in an element of PAR."""
        addend = int.from_bytes(part[:4], "little", signed=True)
        return cls(addend, int.from_bytes(part[4:6], "little"), part[6] % 32)


class PlainCompute:
    """The memories that compute reads and writes, and its mode."""

    def __init__(
        self, config: HardwareConfig, bases: Mapping[MemoryId, int], values: np.random.Generator
    ) -> None:
        self.config = config
        self._bases = bases
        self._codec = Codec(config)
        batch, columns = config.batch, config.block_out
        self.inp = self._bytes(values, MemoryId.INP, (batch, config.block_in))
        self.wgt = self._bytes(values, MemoryId.WGT, (columns, config.block_in))
        self.par = _parameters(config, values)
        self.uop = [MicroOp(0)] * config.depth(MemoryId.UOP)
        depth = config.depth(MemoryId.ACC)
        self.acc = np.zeros((depth, batch, columns), np.int64)
        self.out = np.zeros((depth, batch, columns), np.uint8)
        self.mode = OFF

    def _bytes(
        self, values: np.random.Generator, memory: MemoryId, shape: tuple[int, int]
    ) -> npt.NDArray[np.int8]:
        return values.integers(-128, 128, (self.config.depth(memory), *shape), np.int8)

    def step(self, instruction: Instruction, image: Image) -> None:
        """Execute one instruction; raises `RefusedError`."""
        match instruction:
            case Load():
                self._load(instruction, image)
            case Gemm():
                self._gemm(instruction)
            case Alu():
                self._alu(instruction)
            case Requantise():
                self.mode = instruction
            case Finish():
                pass
            case _:
                raise AssertionError(f"{instruction} is none of compute's")

    def micro_ops(self, loops: Gemm | Alu) -> Iterator[tuple[int, int, int, int]]:
        """The indices of each micro-op: dst, src, wgt, par."""
        for o in range(loops.iter_out):
            for i in range(loops.iter_in):
                par = self.mode.par_base
                par += o * self.mode.par_factor_out + i * self.mode.par_factor_in
                for uop in self.uop[loops.uop_bgn : loops.uop_end]:
                    dst = uop.dst + o * loops.dst_factor_out + i * loops.dst_factor_in
                    src = uop.src + o * loops.src_factor_out + i * loops.src_factor_in
                    wgt = uop.wgt
                    if isinstance(loops, Gemm):
                        wgt += o * loops.wgt_factor_out + i * loops.wgt_factor_in
                    yield dst, src, wgt, par

    def _load(self, load: Load, image: Image) -> None:
        size = self.config.element_bytes(load.memory)
        at = load.sram_base
        inside = range(load.x_pad_0, load.x_pad_0 + load.x_size)
        rows = range(load.y_pad_0, load.y_pad_0 + load.y_size)
        for y in range(rows.stop + load.y_pad_1) if load.x_size else ():
            for x in range(inside.stop + load.x_pad_1):
                content = bytes(size)
                if x in inside and y in rows:
                    place = load.dram_base + (y - rows.start) * load.x_stride + x - inside.start
                    start = self._bases[load.memory] + place * size
                    content = image[start : start + size].tobytes()
                self._fill(load.memory, at, content)
                at += 1

    def _fill(self, memory: MemoryId, at: int, content: bytes) -> None:
        if memory is MemoryId.UOP:
            self.uop[at] = self._codec.decode_uop(content)
            return
        values = np.frombuffer(content, np.int8 if memory is MemoryId.ACC_8BIT else "<i4")
        self.acc[at] = values.astype(np.int64).reshape(self.acc.shape[1:])
        self.out[at] = self.acc[at] & 0xFF

    def _gemm(self, gemm: Gemm) -> None:
        for dst, src, wgt, par in self.micro_ops(gemm):
            self._check(MemoryId.ACC, dst)
            if gemm.reset:
                self._write(dst, np.zeros_like(self.acc[dst]), par)
                continue
            self._check(MemoryId.INP, src)
            self._check(MemoryId.WGT, wgt)
            products = self.inp[src].astype(np.int64) @ self.wgt[wgt].astype(np.int64).T
            self._write(dst, products if gemm.overwrite else self.acc[dst] + products, par)

    def _alu(self, alu: Alu) -> None:
        for dst, src, _, par in self.micro_ops(alu):
            self._check(MemoryId.ACC, dst)
            if alu.use_imm:
                second = np.full_like(self.acc[dst], alu.imm)
            else:
                self._check(MemoryId.INP if alu.from_inp else MemoryId.ACC, src)
                second = (self.inp if alu.from_inp else self.acc)[src].astype(np.int64)
            if alu.op is AluOp.RESIDUAL:
                self._write(dst, self.acc[dst], par, second)
            elif alu.op is AluOp.MOVE:
                self._write(dst, second, par)
            else:
                if alu.op is AluOp.SHR and (abs(second) > MAX_SHIFT).any():
                    raise RefusedError
                pairs = zip(self.acc[dst].flat, second.flat, strict=True)
                results = [_result(alu, int(a), int(b)) for a, b in pairs]
                self._write(dst, np.array(results).reshape(second.shape), par)

    def _write(
        self,
        dst: int,
        values: npt.NDArray[np.int64],
        par: int,
        residuals: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Write ACC and OUT."""
        if self.mode.active:
            self._check(MemoryId.PAR, par)
        for place in np.ndindex(*values.shape):
            value = wrapped(int(values[place]))
            self.acc[dst][place] = value
            residual = 0 if residuals is None else int(residuals[place])
            self.out[dst][place] = self._requantised(value, par, place[1], residual)

    def _requantised(self, value: int, par: int, channel: int, residual: int) -> int:
        mode = self.mode
        if not mode.active:
            return value & 0xFF
        parameters = self.par[par][channel]
        total = value * parameters.multiplier + parameters.addend + residual * mode.scale
        y = total >> parameters.shift
        if y < mode.low:
            return mode.low & 0xFF
        return min(y, mode.high) & 0xFF

    def _check(self, memory: MemoryId, index: int) -> None:
        if index >= self.config.depth(memory):
            raise RefusedError


def _parameters(
    config: HardwareConfig, values: np.random.Generator
) -> Sequence[Sequence[Parameters]]:
    """Every element of PAR; most channels give results that are not clipped."""

    def one() -> Parameters:
        shift = int(values.integers(32))
        fitting = max(1, (1 << shift) >> 24)
        most = (1 << 16) - 1
        multiplier = int(values.choice([fitting, most, int(values.integers(most))]))
        anything = int(values.integers(-(1 << 31), 1 << 31))
        addend = int(values.choice([0, (1 << shift) // 2, anything]))
        return Parameters(addend, multiplier, shift)

    depth = config.depth(MemoryId.PAR)
    return [[one() for _ in range(config.block_out)] for _ in range(depth)]


def parameter_bytes(element: Sequence[Parameters], rng: random.Random) -> bytes:
    """An element of PAR as it lies in memory; bits without a meaning are noise."""
    content = b""
    for channel in element:
        rest = rng.getrandbits(11)
        upper = channel.shift | (rest & 7) << 5 | rest >> 3 << 8
        content += (channel.addend & 0xFFFF_FFFF).to_bytes(4, "little")
        content += channel.multiplier.to_bytes(2, "little") + upper.to_bytes(2, "little")
    assert len(content) == PARAMETER_BYTES * len(element)
    return content


def _result(alu: Alu, a: int, b: int) -> int:
    if isinstance(alu.op, CustomOperation):
        return alu.op.apply(a, b, alu.imm)
    return alu_result(alu.op, a, b)
