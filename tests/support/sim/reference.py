"""A slow, simple, independent reference simulator that executes instructions sequentially.

Written from the instruction set's description, not from the simulators, which are tested against
it. Instructions take effect in program order, or in any other order that the tokens allow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import PARAMETER_BYTES, HardwareConfig
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
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
    Program,
    Requantise,
    Store,
    Table,
    Unit,
    unit_of,
)
from tandem.hw.operations import MAX_SHIFT

Image = npt.NDArray[np.uint8]
"""Physical memory: index == address."""


class ReferenceMachine:
    """The on-chip memories of a machine; executes instructions on them and on an image."""

    def __init__(self, config: HardwareConfig, bases: Mapping[MemoryId, int] | None = None) -> None:
        self.config = config
        self.bases = {memory: 0 for memory in MemoryId} | dict(bases or {})
        self.codec = Codec(config)
        self._decoded: dict[int, MicroOp] = {}
        batch, block_in, block_out = config.batch, config.block_in, config.block_out
        self.uop = np.zeros(config.depth(MemoryId.UOP), np.uint32)
        self.inp = np.zeros((config.depth(MemoryId.INP), batch, block_in), np.int8)
        self.wgt = np.zeros((config.depth(MemoryId.WGT), block_out, block_in), np.int8)
        self.acc = np.zeros((config.depth(MemoryId.ACC), batch, block_out), np.int32)
        self.out = np.zeros(self.acc.shape, np.int8)
        """OUT; meaningless on a machine that does not requantise."""
        self.par = np.zeros(
            (config.depth(MemoryId.PAR), block_out, PARAMETER_BYTES), dtype=np.uint8
        )
        self.mode = Requantise(active=False)
        self.table = [0] * TABLE_ENTRIES

    def step(self, instruction: Instruction, image: Image, position: int = 0) -> None:
        """Execute one instruction. `position` is for errors."""
        match instruction:
            case Load():
                self._load(instruction, image)
            case Store():
                self._store(instruction, image)
            case Gemm():
                self._gemm(instruction, position)
            case Alu():
                self._alu(instruction, position)
            case Requantise():
                self.mode = instruction
            case Table():
                first = 8 * instruction.upper_half
                self.table[first : first + 8] = instruction.entries
            case Finish():
                pass

    def launch(self) -> None:
        """Begin another program: memories stay as they are."""
        self.mode = Requantise(active=False)

    def micro_op(self, index: int) -> MicroOp:
        """One entry of the micro-op memory."""
        word = int(self.uop[index])
        if word not in self._decoded:
            self._decoded[word] = self.codec.decode_uop(word.to_bytes(4, "little"))
        return self._decoded[word]

    def _load(self, load: Load, image: Image) -> None:
        if load.x_size == 0:
            return
        memory, kind = self._target(load.memory)
        zero = np.zeros(memory.shape[1:], memory.dtype)
        width = load.x_pad_0 + load.x_size + load.x_pad_1
        rows = [[zero] * width for _ in range(load.y_pad_0)]
        for y in range(load.y_size):
            row = [zero] * load.x_pad_0
            for x in range(load.x_size):
                where = self._where(load, y, x)
                raw = image[where : where + self.config.element_bytes(load.memory, load.coding)]
                if load.memory is MemoryId.WGT_CODES:
                    raw = self._widened(load, raw)
                row.append(raw.view(kind).astype(memory.dtype).reshape(memory.shape[1:]))
            rows.append(row + [zero] * load.x_pad_1)
        rows += [[zero] * width for _ in range(load.y_pad_1)]
        at = load.sram_base
        for row in rows:
            for element in row:
                memory[at] = element
                if memory is self.acc:
                    self.out[at] = self.acc[at].astype(np.int8)
                at += 1

    def _widened(self, load: Load, raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The bytes of a block of WGT, of the bytes of a block of codes: both as one number."""
        coding, outputs, inputs = load.coding, self.config.block_out, self.config.block_in
        codes = int.from_bytes(raw.tobytes(), "little")
        scales = [1] * outputs
        if coding.scaled:
            beat = 8 * self.config.bus_bytes
            scales = [codes >> 4 * out & 15 for out in range(outputs)]
            codes >>= -(-4 * outputs // beat) * beat
        values = []
        for at in range(outputs * inputs):
            code = (codes >> coding.bits * at) % (1 << coding.bits)
            values.append(self.table[code] * scales[at // inputs] % 256)
        return np.array(values, np.uint8)

    def _store(self, store: Store, image: Image) -> None:
        at = store.sram_base
        size = self.config.element_bytes(MemoryId.OUT)
        for y in range(store.y_size if store.x_size else 0):
            for x in range(store.x_size):
                where = self._where(store, y, x)
                if Feature.REQUANTISE in self.config.features:
                    element = self.out[at]
                else:
                    element = self.acc[at].astype(np.int8)
                image[where : where + size] = element.reshape(-1).view(np.uint8)
                at += 1

    def _gemm(self, gemm: Gemm, position: int) -> None:
        for uop, o, i in self._micro_ops(gemm):
            dst = uop.dst + o * gemm.dst_factor_out + i * gemm.dst_factor_in
            self._check(position, "ACC", dst, len(self.acc))
            if gemm.reset:
                self._write(position, dst, np.zeros_like(self.acc[dst]), o, i)
                continue
            src = uop.src + o * gemm.src_factor_out + i * gemm.src_factor_in
            wgt = uop.wgt + o * gemm.wgt_factor_out + i * gemm.wgt_factor_in
            self._check(position, "INP", src, len(self.inp))
            self._check(position, "WGT", wgt, len(self.wgt))
            product = self.inp[src].astype(np.int64) @ self.wgt[wgt].astype(np.int64).T
            sums = 0 if gemm.overwrite else self.acc[dst].astype(np.int64)
            self._write(position, dst, _wrap(sums + product), o, i)

    def _alu(self, alu: Alu, position: int) -> None:
        for uop, o, i in self._micro_ops(alu):
            dst = uop.dst + o * alu.dst_factor_out + i * alu.dst_factor_in
            self._check(position, "ACC", dst, len(self.acc))
            a = self.acc[dst]
            if alu.use_imm:
                b = np.full_like(a, alu.imm)
            else:
                src = uop.src + o * alu.src_factor_out + i * alu.src_factor_in
                name, memory = ("INP", self.inp) if alu.from_inp else ("ACC", self.acc)
                self._check(position, name, src, len(memory))
                b = memory[src].astype(np.int32)
            self._parameters(position, o, i)
            if alu.op is AluOp.SHR and np.any((b < -MAX_SHIFT) | (b > MAX_SHIFT)):
                raise ProgramError(Fault.SHIFT, position, f"a shift by one of {b.tolist()}")
            if alu.op is AluOp.RESIDUAL:
                self._write(position, dst, a.copy(), o, i, b.astype(np.int64) * self.mode.scale)
            else:
                self._write(position, dst, _applied(alu, a, b), o, i)

    def _write(
        self,
        position: int,
        dst: int,
        values: npt.NDArray[np.int32],
        o: int,
        i: int,
        addend: npt.NDArray[np.int64] | int = 0,
    ) -> None:
        """Write ACC, and OUT with what the mode makes of the values, in iterations `o` and `i`."""
        parameters = self._parameters(position, o, i)
        self.acc[dst] = values
        if parameters is None:
            self.out[dst] = values.astype(np.int8)
            return
        offset = np.ascontiguousarray(parameters[:, :4]).view("<i4").reshape(-1).astype(np.int64)
        factor = np.ascontiguousarray(parameters[:, 4:6]).view("<u2").reshape(-1).astype(np.int64)
        divisor = 2 ** (parameters[:, 6].astype(np.int64) % 32)
        total = values.astype(np.int64) * factor + offset + addend
        assert np.all(np.abs(total) < 1 << 49)
        scaled = np.floor_divide(total, divisor)
        clipped = np.where(scaled > self.mode.high, self.mode.high, scaled)
        self.out[dst] = np.where(scaled < self.mode.low, self.mode.low, clipped)

    def _parameters(self, position: int, o: int, i: int) -> npt.NDArray[np.uint8] | None:
        """The element of PAR for iterations `o` and `i`; None while results are not requantised."""
        if not self.mode.active:
            return None
        at = self.mode.par_base + o * self.mode.par_factor_out + i * self.mode.par_factor_in
        self._check(position, "PAR", at, len(self.par))
        return self.par[at]

    def _micro_ops(self, loops: Gemm | Alu) -> Iterator[tuple[MicroOp, int, int]]:
        for o in range(loops.iter_out):
            for i in range(loops.iter_in):
                for u in range(loops.uop_bgn, loops.uop_end):
                    yield self.micro_op(u), o, i

    def _target(self, memory: MemoryId) -> tuple[npt.NDArray[np.generic], type[np.generic]]:
        """The on-chip memory that a LOAD fills, and the data type of its elements in DRAM."""
        match memory:
            case MemoryId.UOP:
                return self.uop, np.uint32
            case MemoryId.WGT | MemoryId.WGT_CODES:
                return self.wgt, np.int8
            case MemoryId.INP:
                return self.inp, np.int8
            case MemoryId.ACC:
                return self.acc, np.int32
            case MemoryId.ACC_8BIT:
                return self.acc, np.int8
            case MemoryId.PAR:
                return self.par, np.uint8
            case MemoryId.OUT:
                raise ProgramError(Fault.LOAD_OUT, None, "LOAD of OUT")

    def _where(self, rectangle: Load | Store, y: int, x: int) -> int:
        """The DRAM byte address of one element."""
        coding = rectangle.coding if isinstance(rectangle, Load) else Coding.BITS_1
        memory, size = rectangle.memory, self.config.element_bytes(rectangle.memory, coding)
        unit, base = size, self.bases[memory]
        if memory is MemoryId.WGT_CODES:
            unit, base = self.config.bus_bytes, self.bases[MemoryId.WGT]
        return base + (rectangle.dram_base + y * rectangle.x_stride) * unit + x * size

    @staticmethod
    def _check(position: int, memory: str, index: int, depth: int) -> None:
        if index >= depth:
            raise ProgramError(Fault.SRAM_INDEX, position, f"{memory}[{index}] of {depth}")


def _applied(alu: Alu, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    op = alu.op
    if isinstance(op, AluOp):
        return op.apply(a, b)
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([op.apply(*pair, alu.imm) for pair in pairs], np.int32).reshape(a.shape)


def _wrap(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def run_in_order(program: Program, image: Image) -> Image:
    """Memory after `program`, executed in program order on a copy of `image`."""
    machine, memory = ReferenceMachine(program.config), image.copy()
    for position, instruction in enumerate(program):
        machine.step(instruction, memory, position)
    return memory


def run_shuffled(program: Program, image: Image, seed: int) -> Image:
    """Memory after `program`, executed in a random order that its tokens allow.

    Each unit works in order. The next unit is drawn with random odds, so that in some runs one
    unit gets far ahead of another.
    """
    rng = random.Random(f"order {seed}")
    machine, memory = ReferenceMachine(program.config), image.copy()
    queues: dict[Unit, list[tuple[int, Instruction]]] = {unit: [] for unit in Unit}
    for position, instruction in enumerate(program):
        queues[unit_of(instruction)].append((position, instruction))
    odds = {unit: rng.choice((0.01, 0.1, 1.0)) for unit in Unit}
    counts: dict[tuple[int, int], int] = {(a, b): 0 for a in Unit for b in Unit}
    done = dict.fromkeys(Unit, 0)
    while True:
        ready = [
            unit
            for unit in Unit
            if done[unit] < len(queues[unit])
            and all(counts[end] > 0 for end in _pops(unit, queues[unit][done[unit]][1]))
        ]
        if not ready:
            break
        (unit,) = rng.choices(ready, [odds[unit] for unit in ready])
        position, instruction = queues[unit][done[unit]]
        done[unit] += 1
        for end in _pops(unit, instruction):
            counts[end] -= 1
        machine.step(instruction, memory, position)
        for end in _pushes(unit, instruction):
            counts[end] += 1
    assert all(done[unit] == len(queues[unit]) for unit in Unit), "deadlock"
    assert not any(counts.values()), "tokens left"
    return memory


def _pops(unit: Unit, instruction: Instruction) -> list[tuple[int, int]]:
    """The queues, as (producer, consumer), that must hold a token."""
    tokens = instruction.tokens
    flags = ((tokens.pop_prev, unit - 1), (tokens.pop_next, unit + 1))
    return [(other, unit) for flag, other in flags if flag]


def _pushes(unit: Unit, instruction: Instruction) -> list[tuple[int, int]]:
    tokens = instruction.tokens
    flags = ((tokens.push_prev, unit - 1), (tokens.push_next, unit + 1))
    return [(unit, other) for flag, other in flags if flag]
