"""Operations of a machine's own, with all flags and kinds of operands, and what their expressions
say."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from tandem.hw.alu_terms import BITS, GREATEST, LEAST
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.isa import Alu, AluOp, Assembler, Loop, MicroOp, Program, pack_uops
from tandem.hw.topology import MemoryId, Unit
from tests.support.sim.reference import Image

ROWS, COLUMNS = 3, 5
COUNT = ROWS * COLUMNS
"""Accumulators that get a result: those from 1 on. The others are second operands: one ahead of
them, and as many behind."""
LOADED = 1 + 2 * COUNT
UOPS = (MicroOp(dst=1, src=1 + COUNT), MicroOp(dst=1, src=0))
BASES = {
    MemoryId.UOP: 0x0100,
    MemoryId.INP: 0x0200,
    MemoryId.ACC: 0x0400,
    MemoryId.OUT: 0x6000,
}
IMAGE_BYTES = 0x8000
BYTES = 4
"""Of an accumulator: STORE takes the low one."""
CORNERS = (LEAST, LEAST + 1, -129, -128, -1, 0, 1, 127, 0xFFFF, 0x10000, GREATEST)
IMMEDIATES = (-(1 << 15), -1, 0, 1, 0x55AA, (1 << 15) - 1)

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """One instruction on fresh accumulators.

    Attributes
    ----------
    follows
        Whether the second operand is the accumulator ahead of the first, which the micro-op before
        has just written. With `from_inp`, it is an element of INP.
    """

    operation: CustomOperation
    parameters: Mapping[str, int] | None = None
    imm: int | None = None
    from_inp: bool = False
    follows: bool = False
    reset: bool = False

    def results(self, acc: Integers, inp: Integers) -> Integers:
        """What the expression says of micro-op after micro-op."""
        left = acc.copy()
        packed = 0 if self.parameters is None else self.operation.immediate(self.parameters)
        for at, lane in product(range(1, 1 + COUNT), range(acc.shape[1])):
            if self.imm is not None:
                second = self.imm
            elif self.from_inp:
                second = int(inp[at - 1, lane])
            else:
                second = int(left[at - 1 if self.follows else at + COUNT, lane])
            left[at, lane] = self.operation.apply(int(left[at, lane]), second, packed)
        return left[1 : 1 + COUNT]


def cases(operation: CustomOperation) -> Iterator[Case]:
    """All ways to give an operation its operands; limits of all parameters, and some within."""
    rng = random.Random(operation.name)
    limits = {one.name: one.limits for one in operation.parameters}
    drawn = [{name: rng.randint(*ends) for name, ends in limits.items()} for _ in range(6)]
    corners = [dict(zip(limits, values, strict=True)) for values in product(*limits.values())]
    given = [*corners, *drawn] if limits else [None]
    yield from (Case(operation, parameters) for parameters in given)
    if operation.immediate_operand:
        yield from (Case(operation, imm=imm) for imm in IMMEDIATES)
        yield Case(operation, imm=IMMEDIATES[-1], reset=True)
    parameters = given[-1]
    for follows, from_inp in ((True, False), (False, True)):
        for reset in (False, True):
            yield Case(operation, parameters, None, from_inp, follows, reset)


def program(config: HardwareConfig, asked: Sequence[Case]) -> Program:
    """Each case on accumulators of its own, of whose results all bytes are stored."""
    asm = Assembler(config)
    loops = (Loop(ROWS, dst=COLUMNS, src=COLUMNS), Loop(COLUMNS, dst=1, src=1))
    resets = []
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=len(UOPS))
    asm.load(MemoryId.INP, sram=0, dram=0, columns=COUNT, signals=Unit.COMPUTE)
    for number, case in enumerate(asked):
        waits = Unit.STORE if number else Unit.LOAD
        asm.load(MemoryId.ACC, sram=0, dram=number * LOADED, columns=LOADED, waits_for=waits)
        uop = int(case.follows or case.from_inp)
        position = asm.alu(
            case.operation,
            (uop, uop + 1),
            loops,
            imm=case.imm,
            parameters=case.parameters,
            from_inp=case.from_inp,
            signals=Unit.STORE,
        )
        if case.reset:
            resets.append(position)
        for byte in range(BYTES):
            asm.store(
                sram=1,
                dram=(number * BYTES + byte) * COUNT,
                columns=COUNT,
                waits_for=Unit.COMPUTE,
                signals=Unit.COMPUTE,
            )
            if byte < BYTES - 1:
                asm.alu(AluOp.SHR, (0, 1), loops, imm=8, waits_for=Unit.STORE, signals=Unit.STORE)
    asm.finish(waits_for=Unit.STORE)
    made = [*asm.build()]
    for position in resets:
        instruction = made[position]
        assert isinstance(instruction, Alu)
        made[position] = replace(instruction, reset=True)
    return Program.from_instructions(config, made)


def operands(config: HardwareConfig, count: int) -> tuple[Integers, Integers]:
    """Accumulators of all cases, and INP: corners and others in all lanes."""
    rng = np.random.default_rng(count)
    shape = (count, LOADED, config.acc_lanes)
    acc = rng.integers(LEAST, GREATEST, shape, np.int64, endpoint=True)
    acc >>= rng.integers(0, 24, shape)
    acc = np.where(rng.random(shape) < 0.3, rng.choice(CORNERS, shape), acc)
    return acc, rng.integers(-128, 128, (COUNT, config.block_in), np.int64)


def place(image: Image, memory: MemoryId, values: bytes) -> None:
    """Write at the base of a memory, ahead of whatever is next."""
    ends = sorted(base for base in (*BASES.values(), len(image)) if base > BASES[memory])
    assert BASES[memory] + len(values) <= ends[0], memory
    image[BASES[memory] :][: len(values)] = np.frombuffer(values, np.uint8)


@dataclass(frozen=True)
class EveryCase:
    """A program with all cases of a machine; memory before it, and what is there afterwards."""

    program: Program
    image: Image
    expected: Image


def every_case(config: HardwareConfig) -> EveryCase:
    """All cases of all operations of the machine's own."""
    asked = [case for operation in config.alu_operations for case in cases(operation)]
    acc, inp = operands(config, len(asked))
    return _of(config, asked, acc, inp)


def every_bit(config: HardwareConfig) -> EveryCase:
    """Of each operation, with its parameters at their least, products of powers of two: a bit of
    each weight alone."""
    pairs = [*product(range(BITS - 1), range(BITS // 2 - 1))]
    lanes = config.acc_lanes
    count = -(-len(pairs) // (COUNT * lanes))
    exponents = np.resize(np.array(pairs), (count, COUNT, lanes, 2))
    powers = 1 << exponents
    signs = np.where(exponents[..., 0] % 2, 1, -1)
    acc = np.zeros((count, LOADED, lanes), np.int64)
    acc[:, 1 : 1 + COUNT], acc[:, 1 + COUNT :] = powers[..., 0] * signs, powers[..., 1]
    asked = list[Case]()
    for operation in config.alu_operations:
        least = {one.name: one.limits[0] for one in operation.parameters}
        asked += count * [Case(operation, least or None)]
    _, inp = operands(config, len(asked))
    return _of(config, asked, np.tile(acc, (len(config.alu_operations), 1, 1)), inp)


def _of(config: HardwareConfig, asked: Sequence[Case], acc: Integers, inp: Integers) -> EveryCase:
    """Cases on operands: the program, and memory before it and afterwards."""
    made = program(config, asked)
    image = np.random.default_rng(0).integers(0, 256, IMAGE_BYTES, np.uint8)
    place(image, MemoryId.UOP, pack_uops(config, UOPS))
    place(image, MemoryId.INP, inp.astype(np.int8).tobytes())
    place(image, MemoryId.ACC, acc.astype(np.int32).tobytes())
    results = np.stack([case.results(one, inp) for case, one in zip(asked, acc, strict=True)])
    as_bytes = results.astype("<i4").view(np.uint8).reshape(*results.shape, BYTES)
    expected = image.copy()
    # By case and byte, all accumulators.
    place(expected, MemoryId.OUT, as_bytes.transpose(0, 3, 1, 2).tobytes())
    return EveryCase(made, image, expected)
