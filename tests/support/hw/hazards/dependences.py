"""Accesses of instructions, dependences between them, and tokens that order them.

A program that is correct in program order stays correct in the machine if every dependence between
two units is covered by tokens. Dependences are found here on single elements and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import (
    Alu,
    Codec,
    Coding,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    Requantise,
    Store,
    Table,
    Tokens,
    Unit,
    unit_of,
)

Indices = npt.NDArray[np.int64]
DRAM = -1
"""The resource number of DRAM, whose elements are bytes."""
OFF = Requantise(active=False)
"""The mode before the first REQUANTISE of a program."""


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """Elements of one memory (or, for `DRAM`, bytes) that an instruction reads or writes."""

    resource: int
    indices: Indices
    writes: bool


def touches(
    config: HardwareConfig,
    instruction: Instruction,
    uops: npt.NDArray[np.uint32],
    mode: Requantise = OFF,
) -> list[Touch]:
    """All accesses of `instruction`, with `uops` in the micro-op memory and `mode` in force.

    OUT counts as ACC, with which it is written.
    """
    match instruction:
        case Load(x_size=0) | Store(x_size=0) | Finish() | Requantise() | Table():
            return []
        case Load():
            rows = instruction.y_pad_0 + instruction.y_size + instruction.y_pad_1
            row = instruction.x_pad_0 + instruction.x_size + instruction.x_pad_1
            memory = instruction.memory
            views = {MemoryId.ACC_8BIT: MemoryId.ACC, MemoryId.WGT_CODES: MemoryId.WGT}
            target = views.get(memory, memory)
            chip = instruction.sram_base + np.arange(rows * row)
            return [
                Touch(DRAM, _rectangle(config, instruction), False),
                Touch(target, chip, True),
            ]
        case Store():
            chip = instruction.sram_base + np.arange(instruction.y_size * instruction.x_size)
            return [
                Touch(MemoryId.ACC, chip, False),
                Touch(DRAM, _rectangle(config, instruction), True),
            ]
        case Gemm() | Alu():
            return _loop_touches(config, instruction, uops, mode)


def _rectangle(config: HardwareConfig, rectangle: Load | Store) -> Indices:
    """Indices of the DRAM bytes of a LOAD or STORE (all base registers 0)."""
    coding = rectangle.coding if isinstance(rectangle, Load) else Coding.BITS_1
    size = config.element_bytes(rectangle.memory, coding)
    unit = config.bus_bytes if rectangle.memory is MemoryId.WGT_CODES else size
    rows = np.arange(rectangle.y_size)[:, None, None] * rectangle.x_stride
    columns = np.arange(rectangle.x_size)[:, None] * size
    return np.asarray(np.unique((rectangle.dram_base + rows) * unit + columns + np.arange(size)))


def _loop_touches(
    config: HardwareConfig, loops: Gemm | Alu, uops: npt.NDArray[np.uint32], mode: Requantise
) -> list[Touch]:
    used = np.arange(loops.uop_bgn, loops.uop_end)
    codec = Codec(config)
    kernel = [codec.decode_uop(int(word).to_bytes(4, "little")) for word in uops[used]]
    outer, inner = np.arange(loops.iter_out)[:, None, None], np.arange(loops.iter_in)[:, None]

    def reach(fields: list[int], factor_out: int, factor_in: int) -> Indices:
        every = np.array(fields, np.int64) + outer * factor_out + inner * factor_in
        return np.asarray(np.unique(every))

    dst = reach([uop.dst for uop in kernel], loops.dst_factor_out, loops.dst_factor_in)
    found = [
        Touch(MemoryId.UOP, used, False),
        Touch(MemoryId.ACC, dst, False),
        Touch(MemoryId.ACC, dst, True),
    ]
    src = reach([uop.src for uop in kernel], loops.src_factor_out, loops.src_factor_in)
    if mode.active:
        par = reach([mode.par_base], mode.par_factor_out, mode.par_factor_in)
        found.append(Touch(MemoryId.PAR, par, False))
    match loops:
        case Alu(use_imm=False, from_inp=True):
            found.append(Touch(MemoryId.INP, src, False))
        case Alu(use_imm=False):
            found.append(Touch(MemoryId.ACC, src, False))
        case Gemm(reset=False):
            wgt = reach([uop.wgt for uop in kernel], loops.wgt_factor_out, loops.wgt_factor_in)
            found += [Touch(MemoryId.INP, src, False), Touch(MemoryId.WGT, wgt, False)]
        case _:
            pass
    return found


class Dependences:
    """The last recorded instruction of each unit that accessed each element."""

    def __init__(self, config: HardwareConfig, image_bytes: int) -> None:
        sizes = {int(memory): config.depth(memory) for memory in MemoryId} | {DRAM: image_bytes}
        self._writers = {key: np.full((3, size), -1, np.int64) for key, size in sizes.items()}
        self._readers = {key: np.full((3, size), -1, np.int64) for key, size in sizes.items()}

    def needs(self, unit: Unit, touched: Sequence[Touch]) -> dict[Unit, int]:
        """For each other unit, the last instruction that must be complete before this one."""
        last = dict.fromkeys(Unit, -1)
        for touch in touched:
            tables = [self._writers] + ([self._readers] if touch.writes else [])
            for table in tables:
                latest = table[touch.resource][:, touch.indices].max(axis=1, initial=-1)
                for other in Unit:
                    last[other] = max(last[other], int(latest[other]))
        return {other: at for other, at in last.items() if other is not unit and at >= 0}

    def record(self, position: int, unit: Unit, touched: Sequence[Touch]) -> None:
        """Record the accesses of the instruction `position` of `unit`."""
        for touch in touched:
            table = self._writers if touch.writes else self._readers
            table[touch.resource][unit, touch.indices] = position


def with_tokens(
    instructions: Sequence[Instruction], needs: Sequence[dict[Unit, int]]
) -> list[Instruction]:
    """`instructions` with tokens: instruction k waits for the instructions in `needs[k]`.

    Queues are in order, so that one token implies all earlier instructions of its sender: only a
    dependence on a later instruction than before takes a token. Dependences are on earlier
    instructions of neighbouring units.
    """
    flags = [dict[str, bool]() for _ in instructions]
    units = [unit_of(instruction) for instruction in instructions]
    furthest: dict[tuple[Unit, Unit], int] = {}
    for position, wanted in enumerate(needs):
        consumer = units[position]
        for producer, at in wanted.items():
            assert at < position
            assert abs(producer - consumer) == 1
            assert units[at] is producer
            if at > furthest.get((producer, consumer), -1):
                furthest[producer, consumer] = at
                forward = producer < consumer
                flags[position]["pop_prev" if forward else "pop_next"] = True
                flags[at]["push_next" if forward else "push_prev"] = True
    return [
        replace(instruction, tokens=Tokens(**flag))
        for instruction, flag in zip(instructions, flags, strict=True)
    ]
