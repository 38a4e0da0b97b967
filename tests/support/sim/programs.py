"""Random programs that are legal and free of races, for any configuration.

Instructions are drawn in sequential order and executed by the reference machine as they are drawn,
so that the values that they read are known; dependence tokens are added at the end. With any
timing, such a program gives the result of sequential execution.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation, CustomOperation
from tandem.hw.errors import ProgramError
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Coding,
    Finish,
    Gemm,
    Load,
    MemoryId,
    Program,
    Store,
    Table,
    Unit,
)
from tandem.hw.operations import MAX_SHIFT
from tests.support.hw.hazards.dependences import touches
from tests.support.sim.random_ground import Ground
from tests.support.sim.random_modes import fits, random_requantise, requantises
from tests.support.sim.recorder import Recorder
from tests.support.sim.reference import Image

MAX_PAD = 15

LONGEST_LOAD = 160
"""Maximum number of elements that a LOAD fills, padding included."""
MOST_BYTES = 8192
"""Maximum number of DRAM bytes that a LOAD reads."""
MOST_UOPS = 300
"""Maximum number of micro-ops that one GEMM or ALU executes."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomProgram:
    """A program, its initial memory image (index == physical address, all bases 0), and the
    expected final image.
    """

    program: Program
    image: Image
    expected: Image


def random_program(
    config: HardwareConfig, seed: int, size: int, image_bytes: int | None = None
) -> RandomProgram:
    """A race-free program of about `size` instructions, the same for the same arguments.

    On-chip memory is written before it is read, so that its initial content is arbitrary. The image
    has 64 KiB, or what 64 of the largest elements take, by default.
    """
    if image_bytes is None:
        largest = max(config.element_bytes(memory) for memory in config.memories)
        image_bytes = max(1 << 16, 64 * largest)
    writer = _Writer(config, seed, image_bytes)
    writer.preload()
    while len(writer.recorder.instructions) < size - 1:
        writer.draw()
    writer.emit(Finish())
    return RandomProgram(writer.recorder.program(), writer.before, writer.image)


class _Writer:
    """Writes a random program.

    Reads stay inside a window of each memory that is filled first; writes go anywhere but to the
    parts of DRAM that stay.
    """

    def __init__(self, config: HardwareConfig, seed: int, image_bytes: int) -> None:
        self.config = config
        self.rng = random.Random(seed)
        self.widens = Feature.COMPRESSED_WEIGHTS in config.features
        self.ground = Ground(config, self.rng, seed, image_bytes)
        self.image = self.ground.image
        self.windows = self.ground.windows
        self.before = self.image.copy()
        self.recorder = Recorder(config, self.rng, self.image)
        self.emit = self.recorder.emit
        self.machine = self.recorder.machine

    # Drawing ----------------------------------------------------------------------------

    def preload(self) -> None:
        """Fill the windows of all memories, from which instructions read."""
        depth = self.config.depth(MemoryId.UOP)
        length = min(len(self.ground.table), depth)
        base = self.rng.choice((0, depth - length))
        self.emit(_load(MemoryId.UOP, base, self.ground.table.start, 1, length, length))
        if self.widens:
            self._set_entries(upper_half=False)
            self._set_entries(upper_half=True)
        for memory, window in self.windows.items():
            space = len(self.image) // self.config.element_bytes(memory) - len(window)
            base = self.rng.randint(0, space)
            self.emit(_load(memory, window.start, base, 1, len(window), len(window)))

    def draw(self) -> None:
        """Append one instruction, or a few that belong together."""
        choices = [
            (self._draw_load, 30),
            (self._draw_store, 16),
            (self._draw_gemm, 24),
            (self._draw_alu, 24),
            (self._draw_empty, 6),
        ]
        if requantises(self.config):
            choices.append((self._draw_mode, 6))
        if self.widens:
            choices += [(self._draw_codes, 16), (self._draw_table, 6)]
        (draw,) = self.rng.choices([one for one, _ in choices], [odds for _, odds in choices])
        draw()

    def _draw_empty(self) -> None:
        self.emit(self.recorder.empty(self.rng.choice(list(Unit))))

    def _draw_load(self) -> None:
        """Append a LOAD from any address to any memory; micro-ops only from their table."""
        kinds = [MemoryId.INP, MemoryId.WGT, MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT]
        if requantises(self.config):
            kinds.append(MemoryId.PAR)
        self._emit_load(self.rng.choice(kinds))

    def _draw_codes(self) -> None:
        """Append a LOAD of codes, in any coding."""
        self._emit_load(MemoryId.WGT_CODES, self.rng.choice([*Coding]))

    def _draw_table(self) -> None:
        self._set_entries(upper_half=self.rng.random() < 0.5)

    def _set_entries(self, *, upper_half: bool) -> None:
        """Append a TABLE of any entries, so that products leave int8 as well."""
        low, high = self.rng.getrandbits(32), self.rng.getrandbits(32)
        self.emit(Table(upper_half=upper_half, entries_low=low, entries_high=high))

    def _emit_load(self, memory: MemoryId, coding: Coding = Coding.BITS_1) -> None:
        size = self.config.element_bytes(memory, coding)
        source = self.ground.table if memory is MemoryId.UOP else range(len(self.image) // size)
        if memory is MemoryId.PAR and self.rng.random() < 0.7:
            source = self.ground.parameters
        most = min(self.config.depth(memory), LONGEST_LOAD)
        rows, columns = self._shape(min(most, len(source), max(1, MOST_BYTES // size)))
        pads = [self._pad() for _ in range(4)]
        while (total := _padded(rows, columns, pads)) > most:
            pads[self.rng.randrange(4)] //= 2
        sram = self.ground.sram_base(memory, total)
        units = size // self.config.dram_unit(memory)
        source = (
            range(source.start * units, len(self.image) // size * units) if units > 1 else source
        )
        dram, stride = self.ground.dram_place(memory, rows, columns * units, source)
        load = _load(memory, sram, dram, rows, columns, stride, *pads)
        self.emit(replace(load, coding=coding))

    def _draw_store(self) -> None:
        """Append a STORE of part of the window, to any address outside of the constant parts."""
        window = self.windows[MemoryId.ACC]
        rows, columns = self._shape(len(window))
        first = self.rng.choice((0, len(window) - rows * columns))
        whole = range(len(self.image) // self.config.element_bytes(MemoryId.OUT))
        for _ in range(20):
            dram, stride = self.ground.dram_place(MemoryId.OUT, rows, columns, whole)
            store = Store(
                memory=MemoryId.OUT,
                sram_base=window[first],
                dram_base=dram,
                y_size=rows,
                x_size=columns,
                x_stride=stride,
            )
            if self._spares_constants(store):
                self.emit(store)
                return

    def _spares_constants(self, store: Store) -> bool:
        (_, written) = touches(self.config, store, self.machine.uop)
        first, last = int(written.indices[0]), int(written.indices[-1])
        constants = self.ground.constants
        return all(last < part.start or first >= part.stop for part in constants)

    def _draw_gemm(self) -> None:
        """Append a GEMM, one in four with reset, which leaves unused operand fields arbitrary."""
        reset = self.rng.random() < 0.25
        memories = {"dst": MemoryId.ACC}
        if not reset:
            memories |= {"src": MemoryId.INP, "wgt": MemoryId.WGT}
        kernel = self._find_kernel(memories)
        if kernel is None:
            return
        counts, factors = self._loops(kernel, memories)
        free = {"src": MemoryId.INP, "wgt": MemoryId.WGT}
        factors = {name: self._any_factors(memory) for name, memory in free.items()} | factors
        self._emit_loops(
            Gemm(
                reset=reset,
                uop_bgn=kernel.start,
                uop_end=kernel.stop,
                iter_out=counts[0],
                iter_in=counts[1],
                dst_factor_out=factors["dst"][0],
                dst_factor_in=factors["dst"][1],
                src_factor_out=factors["src"][0],
                src_factor_in=factors["src"][1],
                wgt_factor_out=factors["wgt"][0],
                wgt_factor_in=factors["wgt"][1],
                overwrite=Feature.OVERWRITE in self.config.features and self.rng.random() < 0.4,
            )
        )

    def _draw_alu(self) -> None:
        """Append an ALU instruction. A shift by accumulators is preceded by a LOAD of small values,
        and is dropped if its own micro-ops would put a shift out of range.
        """
        use_imm = self.rng.random() < 0.5
        source = MemoryId.ACC
        if Feature.INPUT_OPERANDS in self.config.features and self.rng.random() < 0.4:
            use_imm, source = False, MemoryId.INP
        memories = {"dst": MemoryId.ACC} | ({} if use_imm else {"src": source})
        kernel = self._find_kernel(memories)
        if kernel is None:
            return
        ops: list[AnyOperation] = [op for op in self.config.operations if op is not AluOp.RESIDUAL]
        ops += [op for op in self.config.alu_operations if _may_have(op, use_imm)]
        if source is MemoryId.INP and AluOp.RESIDUAL in self.config.operations:
            ops += [AluOp.RESIDUAL] * len(ops)
        op = self.rng.choice(ops)
        counts, factors = self._loops(kernel, memories)
        factors = {"src": self._any_factors(MemoryId.ACC)} | factors
        # The field has the width of an index of ACC, also where INP is deeper.
        most = self.config.depth(MemoryId.ACC) - 1
        factors["src"] = (min(most, factors["src"][0]), min(most, factors["src"][1]))
        alu = Alu(
            op=op,
            use_imm=use_imm,
            from_inp=source is MemoryId.INP,
            imm=self._imm(op, use_imm),
            uop_bgn=kernel.start,
            uop_end=kernel.stop,
            iter_out=counts[0],
            iter_in=counts[1],
            dst_factor_out=factors["dst"][0],
            dst_factor_in=factors["dst"][1],
            src_factor_out=factors["src"][0],
            src_factor_in=factors["src"][1],
        )
        if op is AluOp.SHR and not use_imm:
            self._make_small(alu)
        try:
            self._emit_loops(alu)
        except ProgramError:
            self._emit_loops(replace(alu, op=AluOp.ADD))

    def _draw_mode(self) -> None:
        self.emit(random_requantise(self.rng, self.windows[MemoryId.PAR]))

    def _emit_loops(self, loops: Gemm | Alu) -> None:
        """Append a GEMM or ALU instruction, behind a REQUANTISE where the mode does not fit it."""
        if requantises(self.config):
            window, mode = self.windows[MemoryId.PAR], self.machine.mode
            if not fits(mode, window, loops) or self.rng.random() < 0.3:
                self.emit(random_requantise(self.rng, window, loops))
        self.emit(loops)

    def _imm(self, op: AnyOperation, use_imm: bool) -> int:
        """The field `imm`: an immediate, parameters, or what has no effect."""
        if isinstance(op, AluOp) or not op.parameters:
            return self._immediate(op) if use_imm else self.rng.choice((0, -1, 32767))
        return op.immediate(
            {
                one.name: self.rng.choice((*one.limits, self.rng.randint(*one.limits)))
                for one in op.parameters
            }
        )

    def _immediate(self, op: AnyOperation) -> int:
        if op is AluOp.SHR:
            return self.rng.choice((-31, -1, 0, 1, 8, 31, self.rng.randint(-31, 31)))
        return self.rng.choice((-32768, -1, 0, 1, 127, 32767, self.rng.randint(-32768, 32767)))

    def _make_small(self, alu: Alu) -> None:
        """Put shift amounts where `alu` reads them: load them, or clip the existing values."""
        read = touches(self.config, alu, self.machine.uop)[-1].indices
        first, last = int(read.min()), int(read.max())
        source = MemoryId.INP if alu.from_inp else MemoryId.ACC
        memory = self.rng.choice((source, MemoryId.INP if alu.from_inp else MemoryId.ACC_8BIT))
        place = self.ground.small.start // self.config.element_bytes(memory)
        whole_window = () if alu.from_inp else self._clips(first, last)
        if whole_window and self.rng.random() < 0.5:
            for clip in whole_window:
                self._emit_loops(clip)
            return
        rows, columns = 1 + (last - first) // 16, min(16, last - first + 1)
        window = self.windows[source]
        base = min(first, window.stop - rows * columns)
        self.emit(_load(memory, max(base, 0), place, rows, columns, 0))

    def _clips(self, first: int, last: int) -> tuple[Alu, ...]:
        """Two instructions that clip elements `first` to `last` to -31..31, if some micro-op
        starts there."""
        for at in np.flatnonzero(self.recorder.written_uops).tolist():
            if self.machine.micro_op(at).dst == first:
                high = Alu(
                    op=AluOp.MIN,
                    use_imm=True,
                    imm=MAX_SHIFT,
                    uop_bgn=at,
                    uop_end=at + 1,
                    iter_out=1,
                    iter_in=last - first + 1,
                    dst_factor_out=0,
                    dst_factor_in=1,
                    src_factor_out=0,
                    src_factor_in=0,
                )
                return high, replace(high, op=AluOp.MAX, imm=-MAX_SHIFT)
        return ()

    # Parts of instructions --------------------------------------------------------------

    def _shape(self, most: int) -> tuple[int, int]:
        """Rows and columns of at most `most` elements, often a single row or a long one."""
        columns = self.rng.choice((1, self.rng.randint(1, most), self.rng.randint(1, min(most, 9))))
        rows = self.rng.choice((1, 1, self.rng.randint(1, max(1, min(8, most // columns)))))
        return rows, columns

    def _pad(self) -> int:
        return self.rng.choice((0, 0, 0, 1, self.rng.randint(1, MAX_PAD), MAX_PAD))

    def _find_kernel(self, memories: dict[str, MemoryId]) -> range | None:
        """A range of consecutive micro-ops whose fields all lie in the windows of `memories`."""
        fits = np.zeros(len(self.recorder.written_uops) + 1, bool)
        for at in np.flatnonzero(self.recorder.written_uops).tolist():
            uop = self.machine.micro_op(at)
            fits[at] = all(
                getattr(uop, name) in self.windows[memory] for name, memory in memories.items()
            )
        if not fits.any():
            return None
        first = self.rng.choice(np.flatnonzero(fits).tolist())
        length = int(np.argmin(fits[first:]))
        return range(first, first + self.rng.randint(1, min(length, 12)))

    def _loops(
        self, kernel: range, memories: dict[str, MemoryId]
    ) -> tuple[tuple[int, int], dict[str, tuple[int, int]]]:
        """Loop counts, and factors (out, in) that keep every field inside its window."""
        most = MOST_UOPS // len(kernel)
        inner = min(most, self.rng.choice((1, 2, self.rng.randint(1, 9), self.rng.randint(1, 64))))
        outer = min(most // inner, self.rng.choice((1, 1, 2, self.rng.randint(1, 9))))
        factors = {}
        for name, memory in memories.items():
            used = max(getattr(self.machine.micro_op(at), name) for at in kernel)
            space = self.windows[memory].stop - 1 - used
            within = self._factor(memory, inner, space)
            factors[name] = (
                self._factor(memory, outer, space - (inner - 1) * within),
                within,
            )
        return (outer, inner), factors

    def _factor(self, memory: MemoryId, count: int, space: int) -> int:
        """A loop factor with which `count` iterations stay within `space`; any if `count` is 1."""
        if count == 1:
            return self.rng.choice((0, self.config.depth(memory) - 1))
        most = space // (count - 1)
        return self.rng.choice((min(1, most), min(1, most), 0, most, self.rng.randint(0, most)))

    def _any_factors(self, memory: MemoryId) -> tuple[int, int]:
        top = self.config.depth(memory) - 1
        return self.rng.randint(0, top), self.rng.choice((0, 1, top))


def _load(
    memory: MemoryId,
    sram: int,
    dram: int,
    rows: int,
    columns: int,
    stride: int,
    top: int = 0,
    bottom: int = 0,
    left: int = 0,
    right: int = 0,
) -> Load:
    return Load(
        memory=memory,
        sram_base=sram,
        dram_base=dram,
        y_size=rows,
        x_size=columns,
        x_stride=stride,
        y_pad_0=top,
        y_pad_1=bottom,
        x_pad_0=left,
        x_pad_1=right,
    )


def _padded(rows: int, columns: int, pads: list[int]) -> int:
    """Number of elements of a LOAD with its padding (top, bottom, left, right)."""
    top, bottom, left, right = pads
    return (top + rows + bottom) * (left + columns + right)


def _may_have(op: CustomOperation, use_imm: bool) -> bool:
    """Whether an operation may be used with, or without, `use_imm`."""
    if not op.reads_second:
        return use_imm
    return not (use_imm and op.parameters)
