"""An assembler for programs written by hand in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Unpack

from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.encoding import Opcode
from tandem.hw.errors import AssemblyError, EncodingError, TermError
from tandem.hw.isa.codec import Codec
from tandem.hw.isa.instructions import (
    Alu,
    AluExtensions,
    Finish,
    Gemm,
    GemmExtensions,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
)
from tandem.hw.isa.program import Program
from tandem.hw.operations import AluOp
from tandem.hw.routing import executing_unit
from tandem.hw.topology import POPS, PUSHES, MemoryId, TokenQueue, Unit

Units: TypeAlias = Unit | Iterable[Unit]
"""The units that an instruction waits for or signals."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of `count` iterations, and the steps between iterations of the micro-ops' indices.

    In `Loop(8, dst=16, src=1)` iteration `i` works on `dst + 16 * i` and `src + i`.
    """

    count: int
    dst: int = 0
    src: int = 0
    wgt: int = 0


class Assembler:
    """Builds a program one instruction at a time.

    Each method appends one instruction and returns its index. `waits_for` and `signals` name the
    units at the other end of the dependence tokens that the instruction pops and pushes. Bases,
    sizes and strides count elements; indices into DRAM start at the memory's base register.
    Legality beyond the encoding is checked by `hw.isa.validate`, so that illegal programs can be
    written too.

    Raises
    ------
    AssemblyError
        From every method: a value that does not fit its field, more than two loops, or units
        with no token queue between them.

    Example
    -------
    Two rows of eight input vectors, with a border of zeros, times one weight block; clipped at
    zero and stored:

    >>> from tandem.hw.config import HardwareConfig
    >>> from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Unit
    >>> from tandem.hw.isa import disassemble, pack_uops
    >>> machine = HardwareConfig()
    >>> kernel = pack_uops(machine, [MicroOp(dst=0, src=0, wgt=0)])    # lies at DRAM byte 0x1000
    >>> loops = (Loop(4, dst=10, src=10), Loop(10, dst=1, src=1))
    >>> asm = Assembler(machine)
    >>> _ = asm.load(MemoryId.UOP, sram=0, dram=0x1000 // 4, columns=1)
    >>> _ = asm.load(MemoryId.INP, sram=0, dram=0x200, rows=2, columns=8, pad=(1, 1, 1, 1))
    >>> _ = asm.load(MemoryId.WGT, sram=0, dram=0x40, columns=1, signals=Unit.COMPUTE)
    >>> _ = asm.gemm((0, 1), loops, reset=True)
    >>> _ = asm.gemm((0, 1), loops, waits_for=Unit.LOAD)
    >>> _ = asm.alu(AluOp.MAX, (0, 1), loops, imm=0, signals=Unit.STORE)
    >>> _ = asm.store(sram=0, dram=0x400, columns=40, waits_for=Unit.COMPUTE,
    ...               signals=Unit.COMPUTE)
    >>> _ = asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)    # stored before the end, on VTA too
    >>> _ = asm.finish()
    >>> program = asm.build()
    >>> print(disassemble(program).splitlines()[5].split("  ")[-1].strip())
    push compute->store
    """

    def __init__(self, config: HardwareConfig) -> None:
        self.config = config
        self._codec = Codec(config)
        self._words: list[bytes] = []

    def __len__(self) -> int:
        """The number of instructions so far."""
        return len(self._words)

    def load(
        self,
        memory: MemoryId,
        *,
        sram: int,
        dram: int,
        columns: int,
        rows: int = 1,
        stride: int | None = None,
        pad: tuple[int, int, int, int] = (0, 0, 0, 0),
        coding: Coding = Coding.BITS_1,
        waits_for: Units = (),
        signals: Units = (),
    ) -> int:
        """Copy `rows` x `columns` elements from DRAM, `stride` apart (default: dense), and put
        zeros around them: `pad` is (top, bottom, left, right). `coding` is for WGT_CODES, of
        which `dram` and `stride` count beats (default: dense)."""
        top, bottom, left, right = pad
        return self._append(
            Load(
                memory=memory,
                sram_base=sram,
                dram_base=dram,
                y_size=rows,
                x_size=columns,
                x_stride=self._dense(memory, columns, coding) if stride is None else stride,
                y_pad_0=top,
                y_pad_1=bottom,
                x_pad_0=left,
                x_pad_1=right,
                coding=coding,
                tokens=self._tokens(executing_unit(Opcode.LOAD, memory), waits_for, signals),
            )
        )

    def store(
        self,
        *,
        sram: int,
        dram: int,
        columns: int,
        rows: int = 1,
        stride: int | None = None,
        waits_for: Units = (),
        signals: Units = (),
    ) -> int:
        """Copy the low 8 bits of `rows` x `columns` accumulators, dense from `sram`, to rows of
        DRAM `stride` apart (default: dense)."""
        return self._append(
            Store(
                memory=MemoryId.OUT,
                sram_base=sram,
                dram_base=dram,
                y_size=rows,
                x_size=columns,
                x_stride=columns if stride is None else stride,
                tokens=self._tokens(Unit.STORE, waits_for, signals),
            )
        )

    def gemm(
        self,
        uops: tuple[int, int],
        loops: Sequence[Loop] = (),
        *,
        reset: bool = False,
        waits_for: Units = (),
        signals: Units = (),
        **extensions: Unpack[GemmExtensions],
    ) -> int:
        """Multiply and accumulate, or clear, over the micro-ops from `uops[0]` up to, not
        including, `uops[1]`, inside `loops`: none, the inner one, or outer and inner. `extensions`
        are the flags of `GemmExtensions`, each off unless it is given."""
        outer, inner = self._outer_and_inner(loops)
        return self._append(
            Gemm(
                reset=reset,
                uop_bgn=uops[0],
                uop_end=uops[1],
                iter_out=outer.count,
                iter_in=inner.count,
                dst_factor_out=outer.dst,
                dst_factor_in=inner.dst,
                src_factor_out=outer.src,
                src_factor_in=inner.src,
                wgt_factor_out=outer.wgt,
                wgt_factor_in=inner.wgt,
                tokens=self._tokens(Unit.COMPUTE, waits_for, signals),
                **extensions,
            )
        )

    def alu(
        self,
        op: AnyOperation,
        uops: tuple[int, int],
        loops: Sequence[Loop] = (),
        *,
        imm: int | None = None,
        parameters: Mapping[str, int] | None = None,
        waits_for: Units = (),
        signals: Units = (),
        **extensions: Unpack[AluExtensions],
    ) -> int:
        """Apply `op` to accumulators and the immediate `imm`, or, without one, the accumulators
        that the micro-ops' `src` names. An operation of the configuration's own may have
        `parameters` in place of `imm`. Micro-ops and loops as for `gemm`. `extensions` are the
        flags of `AluExtensions`, each off unless it is given."""
        outer, inner = self._outer_and_inner(loops)
        if outer.wgt or inner.wgt:
            raise AssemblyError(
                f"{self._where()}: an ALU loop has no wgt factor (reads no weights)"
            )
        use_imm, imm = self._immediate(op, imm, parameters)
        return self._append(
            Alu(
                op=op,
                use_imm=use_imm,
                imm=imm,
                uop_bgn=uops[0],
                uop_end=uops[1],
                iter_out=outer.count,
                iter_in=inner.count,
                dst_factor_out=outer.dst,
                dst_factor_in=inner.dst,
                src_factor_out=outer.src,
                src_factor_in=inner.src,
                tokens=self._tokens(Unit.COMPUTE, waits_for, signals),
                **extensions,
            )
        )

    def requantise(
        self,
        par: int,
        factors: tuple[int, int] = (0, 0),
        *,
        low: int = -128,
        high: int = 127,
        scale: int = 0,
        waits_for: Units = (),
        signals: Units = (),
    ) -> int:
        """Requantise the results of the instructions behind this one with element `par` of PAR plus
        `factors` times the iterations of their outer and inner loop; see `Requantise`."""
        return self._append(
            Requantise(
                active=True,
                low=low,
                high=high,
                scale=scale,
                par_base=par,
                par_factor_out=factors[0],
                par_factor_in=factors[1],
                tokens=self._tokens(Unit.COMPUTE, waits_for, signals),
            )
        )

    def end_requantisation(self, *, waits_for: Units = (), signals: Units = ()) -> int:
        """Put the low bytes of results into OUT again, as after a launch."""
        tokens = self._tokens(Unit.COMPUTE, waits_for, signals)
        return self._append(Requantise(active=False, tokens=tokens))

    def table(
        self, entries: Sequence[int], *, waits_for: Units = (), signals: Units = ()
    ) -> tuple[int, ...]:
        """Set the entries of the table from the first on, 16 at most, by which LOADs of WGT_CODES
        widen: one or two instructions, with zeros behind the last entry. The first waits, the last
        signals; returns their indices."""
        given = [*entries]
        if not 0 < len(given) <= TABLE_ENTRIES or not all(-128 <= one <= 127 for one in given):
            raise AssemblyError(
                f"{self._where()}: a table of {given}: it has 1 to {TABLE_ENTRIES} int8 entries"
            )
        found = []
        for first in range(0, len(given), 8):
            last = first + 8 >= len(given)
            part = bytes(one & 0xFF for one in given[first : first + 8]).ljust(8, b"\0")
            tokens = self._tokens(Unit.LOAD, () if first else waits_for, signals if last else ())
            found.append(
                self._append(
                    Table(
                        upper_half=first > 0,
                        entries_low=int.from_bytes(part[:4], "little"),
                        entries_high=int.from_bytes(part[4:], "little"),
                        tokens=tokens,
                    )
                )
            )
        return tuple(found)

    def finish(self, *, waits_for: Units = (), signals: Units = ()) -> int:
        """End the program, which on this machine has ended when all units are idle.

        VTA ends it as soon as FINISH executes: a program for both has compute wait for the last
        STORE before (`nop`), as in the example above. Nothing is added here.
        """
        return self._append(Finish(tokens=self._tokens(Unit.COMPUTE, waits_for, signals)))

    def nop(self, unit: Unit, *, waits_for: Units = (), signals: Units = ()) -> int:
        """An empty LOAD or STORE of `unit`, for its tokens alone."""
        if unit is Unit.STORE:
            return self.store(
                sram=0, dram=0, rows=0, columns=0, waits_for=waits_for, signals=signals
            )
        memory = MemoryId.INP if unit is Unit.LOAD else MemoryId.UOP
        return self.load(
            memory, sram=0, dram=0, rows=0, columns=0, waits_for=waits_for, signals=signals
        )

    def append(self, instruction: Instruction) -> int:
        """Append an instruction given as a value."""
        return self._append(instruction)

    def build(self) -> Program:
        """The program so far; `EncodingError` if it has no instruction."""
        return Program(self.config, b"".join(self._words))

    def _immediate(
        self, op: AnyOperation, imm: int | None, parameters: Mapping[str, int] | None
    ) -> tuple[bool, int]:
        """The fields `use_imm` and `imm`."""
        if isinstance(op, AluOp) or op.immediate_operand:
            if parameters:
                raise AssemblyError(
                    f"{self._where()}: {op.name} has no parameters, and is given "
                    f"{', '.join(parameters)}"
                )
            return imm is not None, imm or 0
        if imm is not None:
            raise AssemblyError(
                f"{self._where()}: {op.name} takes no immediate: its parameters are "
                f"{', '.join(each.name for each in op.parameters) or 'none'}"
            )
        try:
            return not op.reads_second, op.immediate(parameters or {})
        except TermError as error:
            raise AssemblyError(f"{self._where()}: {error}") from None

    def _append(self, instruction: Instruction) -> int:
        try:
            word = self._codec.encode(instruction)
        except EncodingError as error:
            raise AssemblyError(f"{self._where()}: {error}") from None
        self._words.append(word)
        return len(self._words) - 1

    def _dense(self, memory: MemoryId, columns: int, coding: Coding) -> int:
        """The stride of rows that follow each other."""
        size = self.config.element_bytes(memory, coding)
        return columns * size // self.config.dram_unit(memory)

    def _where(self) -> str:
        return f"instruction {len(self._words)}"

    def _outer_and_inner(self, loops: Sequence[Loop]) -> tuple[Loop, Loop]:
        if len(loops) > 2:
            raise AssemblyError(f"{self._where()}: {len(loops)} loops: an instruction has two")
        outer, inner = (*([Loop(1)] * (2 - len(loops))), *loops)
        return outer, inner

    def _tokens(self, unit: Unit, waits_for: Units, signals: Units) -> Tokens:
        pops = {queue.producer: queue for queue in POPS[unit] if queue is not None}
        pushes = {queue.consumer: queue for queue in PUSHES[unit] if queue is not None}
        popped = self._queues("wait for", unit, waits_for, pops)
        pushed = self._queues("signal", unit, signals, pushes)
        return Tokens(
            pop_prev=POPS[unit][0] in popped,
            pop_next=POPS[unit][1] in popped,
            push_prev=PUSHES[unit][0] in pushed,
            push_next=PUSHES[unit][1] in pushed,
        )

    def _queues(
        self, verb: str, unit: Unit, others: Units, allowed: dict[Unit, TokenQueue]
    ) -> list[TokenQueue]:
        queues = []
        if isinstance(others, Unit):
            others = (others,)
        # From Python anything may come; a string's letters are no units.
        if isinstance(others, str) or not isinstance(others, Iterable):
            raise AssemblyError(
                f"{self._where()}: {unit.name.lower()} cannot {verb} {others!r}: "
                "that is a Unit, several of them, or () for none"
            )
        for other in others:
            if other not in allowed:
                names = " or ".join(neighbour.name.lower() for neighbour in allowed)
                name = other.name.lower() if isinstance(other, Unit) else repr(other)
                raise AssemblyError(
                    f"{self._where()}: {unit.name.lower()} cannot {verb} {name}: "
                    f"it has token queues with {names} only"
                )
            queues.append(allowed[other])
        return queues


def pack_uops(config: HardwareConfig, uops: Iterable[MicroOp]) -> bytes:
    """Micro-ops encoded for DRAM; `EncodingError` where an index does not fit."""
    codec = Codec(config)
    return b"".join(codec.encode_uop(uop) for uop in uops)
