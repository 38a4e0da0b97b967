"""Programs with one fault each, made by setting fields of legal instruction words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import (
    Opcode,
    WordLayout,
    alu_layout,
    gemm_layout,
    instruction_layout,
    memory_layout,
    opcodes_of,
    requantise_layout,
    table_layout,
)
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import Program
from tandem.hw.operations import AluOp
from tandem.hw.topology import MAX_TOKENS, MemoryId

WORD_BYTES = 16
_SINGLES = 9216
_SINGLE_STEP = 68
_LANES = 15
"""From `_SINGLES` on, every `_SINGLE_STEP` bytes, lies a word that is not 0, in another lane each:
elements of accumulators have 4 to 64 bytes, a power of two."""


@dataclass(frozen=True, slots=True)
class Case:
    """A faulty program, its fault, and the faulting instruction (or None).

    `seen_by_validator` is False if the fault depends on data. `bus_errors` are addresses that
    memory refuses.
    """

    name: str
    fault: Fault
    instruction: int | None
    program: Program
    seen_by_validator: bool = True
    bus_errors: tuple[tuple[int, int], ...] = ()


def image() -> npt.NDArray[np.uint8]:
    """The memory image that `cases` refer to."""
    data = np.zeros(1 << 14, np.uint8)
    data[_SINGLES : _SINGLES + _LANES * _SINGLE_STEP : _SINGLE_STEP] = 0x40
    data[10240:10304] = 0xFF
    data[12288:] = 0x40
    return data


def cases(config: HardwareConfig) -> tuple[Case, ...]:
    """Cases of every fault, some in several variants, for the memory that `image` returns."""
    return _Maker(config).cases()


def cases_of_every_bit(config: HardwareConfig) -> tuple[Case, ...]:
    """Faults that depend on one lane, or on a single bit, of x_size or of no field: a case for
    each."""
    return _Maker(config).cases_of_every_bit()


class _Maker:
    """Builder of instruction words and faulty programs for one configuration."""

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._finish = self._word(memory_layout(config), opcode=Opcode.FINISH)

    def _word(self, layout: WordLayout, **fields: int) -> bytes:
        word = 0
        for name, value in fields.items():
            field = layout[name]
            word |= (value & ((1 << field.width) - 1)) << field.lsb
        return word.to_bytes(WORD_BYTES, "little")

    def _program(self, *words: bytes, finish: bool = True) -> Program:
        data = b"".join(words) + (self._finish if finish else b"")
        return Program.from_bytes(self._config, data)

    def load(self, memory: int = MemoryId.INP, **fields: int) -> bytes:
        """A LOAD of one element from address 4096, changed by `fields`."""
        known = memory in self._config.memories
        size = self._config.element_bytes(MemoryId(memory)) if known else 1
        given = {"y_size": 1, "x_size": 1, "x_stride": 1, "dram_base": 4096 // size}
        return self._word(memory_layout(self._config), memory_type=memory, **{**given, **fields})

    def store(self, memory: int = MemoryId.OUT, **fields: int) -> bytes:
        """A STORE of one element, changed by `fields`."""
        return self.load(memory, **{"opcode": Opcode.STORE, **fields})

    def gemm(self, **fields: int) -> bytes:
        """A GEMM of one micro-op, changed by `fields`."""
        given = {"uop_end": 1, "iter_out": 1, "iter_in": 1, **fields}
        return self._word(gemm_layout(self._config), opcode=Opcode.GEMM, **given)

    def alu(self, **fields: int) -> bytes:
        """An ALU instruction of one micro-op, changed by `fields`."""
        given = {"uop_end": 1, "iter_out": 1, "iter_in": 1, **fields}
        return self._word(alu_layout(self._config), opcode=Opcode.ALU, **given)

    def requantise(self, **fields: int) -> bytes:
        """A REQUANTISE that activates, changed by `fields`."""
        given = {"active": 1, "high": 127, **fields}
        return self._word(requantise_layout(self._config), opcode=Opcode.REQUANTISE, **given)

    def table(self, **fields: int) -> bytes:
        """A TABLE, changed by `fields`."""
        given = {"entries_low": 0x80FF7F01, **fields}
        return self._word(table_layout(self._config), opcode=Opcode.TABLE, **given)

    def _with_unused_bits(self) -> Iterator[list[bytes]]:
        """For every opcode with bits to spare, an instruction with each of them set."""
        words = [self.load(), self.store(), self.gemm(), self.alu(), self._finish]
        if self._has(Feature.REQUANTISE):
            words.append(self.requantise())
        if self._has(Feature.COMPRESSED_WEIGHTS):
            words.append(self.table())
        for word in words:
            unused = instruction_layout(self._config, Opcode(word[0] & 7)).unused
            bits = [bit for bit in range(8 * WORD_BYTES) if unused >> bit & 1]
            if bits:
                number = int.from_bytes(word, "little")
                yield [(number | 1 << bit).to_bytes(WORD_BYTES, "little") for bit in bits]

    def _has(self, *features: Feature) -> bool:
        return self._config.features.issuperset(features)

    def cases(self) -> tuple[Case, ...]:
        """All cases of the configuration."""
        return (*self._of_one_word(), *self._of_data(), *self._of_the_program())

    def cases_of_every_bit(self) -> tuple[Case, ...]:
        """As the function of this name."""
        bits, last = range(16), self._config.depth(MemoryId.INP) - 1
        words = {
            Fault.STORE_PAD: [self.store(x_pad_1=1, x_size=1 << bit) for bit in bits],
            Fault.NO_ROWS: [self.load(y_size=0, x_size=1 << bit) for bit in bits],
            Fault.SRAM_RANGE: [
                *(self.load(sram_base=last, x_size=1 << bit) for bit in bits[1:]),
                *(self.load(sram_base=1 << bit) for bit in bits if 1 << bit > last),
            ],
            Fault.FEATURE: [word for several in self._with_unused_bits() for word in several],
            Fault.SHIFT: [
                self._shift_that_waits(sign * (1 << bit)) for bit in bits[5:-1] for sign in (1, -1)
            ],
        }
        uop = self.load(MemoryId.UOP, dram_base=8192 // 4)
        shift = self.alu(alu_opcode=AluOp.SHR)
        return self._in_one_word(words) + tuple(
            Case(f"SHIFT_lane{lane}", Fault.SHIFT, 2, self._program(uop, one, shift), False)
            for lane, one in enumerate(self._loads_of_one_lane())
        )

    def _shift_that_waits(self, imm: int) -> bytes:
        """A shift by an immediate, for a token that nobody pushes: the lanes, which see all that is
        too far, never get it."""
        return self.alu(alu_opcode=AluOp.SHR, use_imm=1, imm=imm, pop_prev=1)

    def _of_one_word(self) -> tuple[Case, ...]:
        """Faults of a single instruction word; a legal instruction precedes the faulty one."""
        uops = self._config.depth(MemoryId.UOP)
        inps = self._config.depth(MemoryId.INP)
        memories = self._config.memories
        words = {
            Fault.OPCODE: [
                self._word(memory_layout(self._config), opcode=code)
                for code in range(8)
                if code not in opcodes_of(self._config)
            ],
            Fault.MEMORY_ID: [
                *(self.load(memory) for memory in range(8) if memory not in memories),
                *(self.store(memory) for memory in (7,) if memory not in memories),
            ],
            Fault.LOAD_OUT: [self.load(MemoryId.OUT)],
            Fault.STORE_MEMORY: [
                self.store(memory) for memory in memories if memory is not MemoryId.OUT
            ],
            Fault.STORE_PAD: [
                *(self.store(**{pad: 1}) for pad in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")),
            ],
            Fault.NO_ROWS: [self.load(y_size=0), self.store(y_size=0)],
            Fault.LOOP_COUNT: [self.gemm(iter_out=0), self.alu(iter_in=0)],
            Fault.UOP_RANGE: [
                self.gemm(uop_bgn=1),
                self.alu(uop_bgn=2, uop_end=1),
                self.alu(uop_end=uops + 1),
            ],
            Fault.SHIFT: [self._shift_that_waits(imm) for imm in (32, -32, -(1 << 15))],
            Fault.SRAM_RANGE: [
                self.load(sram_base=inps),
                self.load(sram_base=inps - 1, x_pad_1=1),
                self.load(sram_base=inps - 2, y_pad_0=2),
                self.load(MemoryId.ACC, x_size=1 << 15, y_size=1 << 15),
                self.store(sram_base=self._config.depth(MemoryId.OUT) - 3, y_size=2, x_size=2),
                *(
                    self.load(memory, sram_base=self._config.depth(memory))
                    for memory in memories
                    if memory not in (MemoryId.INP, MemoryId.OUT)
                ),
            ],
            Fault.TOKEN_FLAG: [
                self.load(pop_prev=1),
                self.load(MemoryId.WGT, push_prev=1),
                self.store(pop_next=1),
                self.store(x_size=0, push_next=1),
            ],
            Fault.FEATURE: [
                *(
                    self.alu(alu_opcode=code)
                    for code in range(8)
                    if code not in self._config.operations
                ),
                *(several[-1] for several in self._with_unused_bits()),
                *self._of_operands(),
            ],
        }
        if self._has(Feature.REQUANTISE):
            words[Fault.TOKEN_FLAG].append(self.load(MemoryId.PAR, pop_prev=1))
        if self._has(Feature.COMPRESSED_WEIGHTS):
            codes, depth = MemoryId.WGT_CODES, self._config.depth(MemoryId.WGT)
            words[Fault.TOKEN_FLAG] += [self.load(codes, push_prev=1), self.table(pop_prev=1)]
            words[Fault.SRAM_RANGE].append(self.load(codes, sram_base=depth))
            words[Fault.STORE_MEMORY].append(self.store(codes))
            words[Fault.FEATURE] += [
                self.load(memory, coding=coding)
                for memory in (MemoryId.INP, MemoryId.UOP)
                for coding in (1, 2)
            ]
        return self._in_one_word(words)

    def _of_operands(self) -> Iterator[bytes]:
        """ALU instructions whose operands contradict each other."""
        if self._has(Feature.INPUT_OPERANDS):
            yield self.alu(from_inp=1, use_imm=1)
            yield self.alu(alu_opcode=AluOp.MOVE, from_inp=1, use_imm=1)
        if self._has(Feature.INPUT_OPERANDS, Feature.REQUANTISE):
            yield self.alu(alu_opcode=AluOp.RESIDUAL)
            yield self.alu(alu_opcode=AluOp.RESIDUAL, use_imm=1)
            yield self.alu(alu_opcode=AluOp.RESIDUAL, from_inp=1, use_imm=1)

    def _in_one_word(self, words: Mapping[Fault, Sequence[bytes]]) -> tuple[Case, ...]:
        return tuple(
            Case(f"{fault.name}_{number}", fault, 1, self._program(self.load(), word))
            for fault, illegal in words.items()
            for number, word in enumerate(illegal)
        )

    def _of_data(self) -> tuple[Case, ...]:
        """Faults that depend on data: zeros lie at 8192, ones in every bit at 10240, 0x40 from
        12288.
        """
        acc = self._config.depth(MemoryId.ACC)
        uop = self.load(MemoryId.UOP, dram_base=8192 // 4)
        last_uop = self.load(MemoryId.UOP, dram_base=10240 // 4)
        one_more = self.alu(use_imm=1, iter_in=2, dst_factor_in=1)
        big = self.load(MemoryId.ACC, dram_base=12288 // self._config.element_bytes(MemoryId.ACC))
        shift = self.alu(alu_opcode=AluOp.SHR)
        beyond = self.alu(use_imm=1, iter_in=2, dst_factor_in=acc - 1, iter_out=2, dst_factor_out=1)
        last = (1 << 13, (1 << 13) + 64)
        return (
            Case("SHIFT_tensor", Fault.SHIFT, 2, self._program(uop, big, shift), False),
            Case("SRAM_INDEX_loops", Fault.SRAM_INDEX, 1, self._program(uop, beyond)),
            Case("SRAM_INDEX_uop", Fault.SRAM_INDEX, 1, self._program(last_uop, one_more), False),
            Case("BUS_READ_load", Fault.BUS_READ, 0, self._program(uop), False, (last,)),
            Case(
                "BUS_WRITE",
                Fault.BUS_WRITE,
                1,
                self._program(self.load(), self.store(dram_base=8192 // self._config.acc_lanes)),
                False,
                (last,),
            ),
            *self._of_inputs(),
            *self._of_parameters(),
        )

    def _of_inputs(self) -> Iterator[Case]:
        """Operands from INP beyond it, or too large to shift by."""
        if not self._has(Feature.INPUT_OPERANDS):
            return
        uop = self.load(MemoryId.UOP, dram_base=8192 // 4)
        last_uop = self.load(MemoryId.UOP, dram_base=10240 // 4)
        wait = {"pop_prev": 1}
        inp = self.load(dram_base=12288 // self._config.element_bytes(MemoryId.INP), push_next=1)
        shift = self.alu(alu_opcode=AluOp.SHR, from_inp=1, **wait)
        yield Case("SHIFT_input", Fault.SHIFT, 2, self._program(uop, inp, shift), False)
        beyond = self.alu(from_inp=1, iter_in=2, src_factor_in=1)
        program = self._program(last_uop, beyond)
        yield Case("SRAM_INDEX_input", Fault.SRAM_INDEX, 1, program, False)

    def _of_parameters(self) -> Iterator[Case]:
        """Elements beyond PAR, which the validator sees: they do not depend on micro-ops."""
        if not self._has(Feature.REQUANTISE):
            return
        uop = self.load(MemoryId.UOP, dram_base=8192 // 4)
        last = self._config.depth(MemoryId.PAR) - 1
        modes = {
            "in": (self.requantise(par_base=last, par_factor_in=1), {"iter_in": 2}),
            "out": (self.requantise(par_base=last, par_factor_out=1), {"iter_out": 2}),
            "both": (
                self.requantise(par_base=last - 1, par_factor_in=1, par_factor_out=1),
                {"iter_in": 2, "iter_out": 2},
            ),
        }
        for name, (mode, counts) in modes.items():
            works = {
                "gemm": self.gemm(**counts),
                "reset": self.gemm(reset_reg=1, **counts),
                "alu": self.alu(use_imm=1, **counts),
            }
            if self._has(Feature.INPUT_OPERANDS):
                works["residual"] = self.alu(alu_opcode=AluOp.RESIDUAL, from_inp=1, **counts)
            for kind, work in works.items():
                program = self._program(uop, mode, work)
                yield Case(f"SRAM_INDEX_par_{name}_{kind}", Fault.SRAM_INDEX, 2, program)

    def _loads_of_one_lane(self) -> Iterator[bytes]:
        """LOADs of accumulators that are 0 but for one lane, of which 64 is too far to shift."""
        size = self._config.element_bytes(MemoryId.ACC)
        for lane in range(min(self._config.acc_lanes, _LANES)):
            yield self.load(MemoryId.ACC, dram_base=(_SINGLES + _SINGLE_STEP * lane) // size)

    def _of_the_program(self) -> tuple[Case, ...]:
        """Faults of the whole program, in no single instruction."""
        push = self.load(x_size=0, push_next=1)
        pop = self.load(x_size=0, pop_next=1)
        return (
            Case("AFTER_FINISH", Fault.AFTER_FINISH, 1, self._program(self._finish)),
            Case("NO_FINISH", Fault.NO_FINISH, None, self._program(self.load(), finish=False)),
            Case("TOKENS_LEFT", Fault.TOKENS_LEFT, None, self._program(push)),
            Case("DEADLOCK", Fault.DEADLOCK, None, self._program(self.load(), pop)),
            *self._overflows(),
        )

    def _overflows(self) -> tuple[Case, ...]:
        """Each unit pushes a token more than a queue counts; those that could pop wait."""
        acc = MemoryId.ACC
        never_fed = self.load(acc, x_size=0, pop_prev=1)
        never_stored = self.load(acc, x_size=0, pop_next=1)
        programs = {
            "LOAD_TO_COMPUTE": (never_stored, self.load(x_size=0, push_next=1)),
            "COMPUTE_TO_LOAD": (self.load(x_size=0), self.load(acc, x_size=0, push_prev=1)),
            "COMPUTE_TO_STORE": (self.load(x_size=0), self.load(acc, x_size=0, push_next=1)),
            "STORE_TO_COMPUTE": (never_fed, self.store(x_size=0, push_prev=1)),
        }
        return tuple(
            Case(
                f"TOKEN_OVERFLOW_{queue}",
                Fault.TOKEN_OVERFLOW,
                MAX_TOKENS + 1,
                self._program(before, *(push,) * (MAX_TOKENS + 1)),
            )
            for queue, (before, push) in programs.items()
        )
