"""Commands: instructions before tokens and encoding, as single values and as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tandem.hw.codings import Coding
from tandem.hw.custom_operations import AnyOperation, CustomOperation
from tandem.hw.encoding import Opcode
from tandem.hw.operations import AluOp
from tandem.hw.routing import executing_unit
from tandem.hw.topology import MemoryId, Unit

Ints = npt.NDArray[np.int64]

Site: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""An instruction's stage in the schedule, and (variable, iteration) of each loop around it."""

ZEROS = "0"
"""The tensor name of the page of zeros in DRAM; no buffer can have this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A LOAD, or a STORE (`memory` OUT). Sizes, bases and the stride are in elements; of WGT_CODES
    the base and the stride in DRAM are in beats.

    `dram` is relative to the program's buffer `tensor`, or to address 0 if `tensor` is None.
    """

    memory: MemoryId
    sram: int
    dram: int
    rows: int
    columns: int
    stride: int
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Zeros above, below, left and right, in elements."""
    tensor: str | None = None
    coding: Coding = Coding.BITS_1
    """Of WGT_CODES: how they lie in DRAM."""

    @property
    def width(self) -> int:
        """Elements of a row on chip, padding included."""
        return self.pads[2] + self.columns + self.pads[3]

    @property
    def size(self) -> int:
        """Elements on chip, padding included."""
        return (self.pads[0] + self.rows + self.pads[1]) * self.width

    def __str__(self) -> str:
        chip = f"{self.memory.name.lower()}[{self.sram} :+ {self.size}]"
        dram = f"dram[{self.dram} :+ {self.columns}"
        dram += f" x {self.rows} by {self.stride}]" if self.rows > 1 else "]"
        pads = f" pads {self.pads}" if any(self.pads) else ""
        pads += f" as {self.coding.name}" if self.memory is MemoryId.WGT_CODES else ""
        arrow = "->" if self.memory is MemoryId.OUT else "<-"
        return f"{chip} {arrow} {dram}{pads}"


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of an instruction: its extent, and its strides in the indices. `par` is the stride in
    PAR of an instruction with a `Mode`."""

    extent: int
    dst: int = 0
    src: int = 0
    wgt: int = 0
    par: int = 0

    def follows(self, inner: Loop) -> bool:
        """Whether this loop and `inner`, directly inside it, can be fused."""
        n, mine = inner.extent, (self.dst, self.src, self.wgt, self.par)
        return mine == (inner.dst * n, inner.src * n, inner.wgt * n, inner.par * n)


@dataclass(frozen=True, slots=True)
class Kernel:
    """Micro-ops with absolute indices, compared by content."""

    dst: tuple[int, ...]
    src: tuple[int, ...]
    wgt: tuple[int, ...]
    _hash: int = field(init=False, repr=False, compare=False)
    _columns: dict[str, Ints] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Precomputed: kernels are long, and hashed several times for each command.
        object.__setattr__(self, "_hash", hash((self.dst, self.src, self.wgt)))
        object.__setattr__(self, "_columns", {})

    def column(self, which: str) -> Ints:
        """The index `which` ("dst", "src" or "wgt") of each micro-op, as an array to be read."""
        if which not in self._columns:
            self._columns[which] = np.array(getattr(self, which), dtype=np.int64)
        return self._columns[which]

    def only(self, positions: Iterable[int]) -> Kernel:
        """The micro-ops at some positions, in that order."""
        chosen = tuple(positions)
        columns = (self.dst, self.src, self.wgt)
        return Kernel(*(tuple(column[at] for at in chosen) for column in columns))

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return len(self.dst)


@dataclass(frozen=True, slots=True)
class Mode:
    """How the results of an instruction are requantised on their way to OUT; the sums stay in ACC.

    Attributes
    ----------
    par
        The element of PAR in the first iteration of both loops; no micro-op changes it.
    low, high, scale
        Immediates of the instruction REQUANTISE: numbers, or as `Compute.imm` names of buffers.
    """

    par: int
    low: int | str
    high: int | str
    scale: int | str = 0

    @property
    def immediates(self) -> dict[str, int | str]:
        """The immediates, by the names of their fields."""
        return {"low": self.low, "high": self.high, "scale": self.scale}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """A GEMM (`op` None) that adds, resets or overwrites, or an ALU instruction.

    `imm` is None where the second operand comes from ACC, or with `from_inp` from INP, unless it
    has the operation's parameters; a string is the program's buffer in IMM, whose value each
    operator sets. `outer` and `inner` are the loops around the kernel. Without a `mode` OUT gets
    the low bytes of the results.
    """

    kernel: Kernel
    outer: Loop
    inner: Loop
    op: AnyOperation | None = None
    imm: int | str | None = None
    reset: bool = False
    overwrite: bool = False
    from_inp: bool = False
    mode: Mode | None = None

    @property
    def reads_src(self) -> bool:
        """Whether the source index is used; `source` is its memory."""
        if self.op is None:
            return not self.reset
        if isinstance(self.op, CustomOperation) and self.op.parameters:
            return self.op.reads_second
        return self.imm is None

    @property
    def source(self) -> MemoryId:
        """The memory of the source index."""
        return MemoryId.INP if self.op is None or self.from_inp else MemoryId.ACC

    @property
    def keeps(self) -> bool:
        """Whether new values of accumulators depend on their old ones."""
        return not (self.reset or self.overwrite or self.op is AluOp.MOVE)

    @property
    def reads_wgt(self) -> bool:
        """Whether weights are read."""
        return self.op is None and not self.reset

    def indices(self, which: str) -> Ints:
        """All values of the index `which` ("dst", "src" or "wgt"; or "par", with a mode)."""
        return self.table(which).ravel()

    def table(self, which: str) -> Ints:
        """`indices` as [iterations of `outer`, of `inner`, micro-ops]."""
        outer = np.arange(self.outer.extent, dtype=np.int64) * getattr(self.outer, which)
        inner = np.arange(self.inner.extent, dtype=np.int64) * getattr(self.inner, which)
        return outer[:, None, None] + inner[:, None] + self.column(which)

    def column(self, which: str) -> Ints:
        """The index of each micro-op in the first iteration of both loops, as an array to be
        read."""
        if which != "par":
            return self.kernel.column(which)
        par = 0 if self.mode is None else self.mode.par
        return np.full(len(self.kernel), par, dtype=np.int64)

    def __str__(self) -> str:
        if self.op is None:
            name = "overwrite" if self.overwrite else "reset" if self.reset else "gemm"
        else:
            name = self.op.name.lower() + ("" if self.imm is None else f" {self.imm}")
        loops = f"{self.outer.extent} x {self.inner.extent}"
        first = f"acc[{self.kernel.dst[0]}]"
        if self.reads_src:
            first += f", {self.source.name.lower()}[{self.kernel.src[0]}]"
        if self.reads_wgt:
            first += f", wgt[{self.kernel.wgt[0]}]"
        if (mode := self.mode) is not None:
            first += f", requantised by par[{mode.par}] to {mode.low}..{mode.high}"
            first += f", + {mode.scale} * inp" if self.op is AluOp.RESIDUAL else ""
        return f"{name} {loops} x {len(self.kernel)} micro-ops from {first}"


@dataclass(frozen=True, slots=True)
class SetMode:
    """The instruction REQUANTISE: the mode of the instructions behind it, or None.

    `outer` and `inner` are the strides in PAR of their loops. All immediates are numbers.
    """

    mode: Mode | None = None
    outer: int = 0
    inner: int = 0

    @staticmethod
    def of(command: Compute, values: Mapping[str, int]) -> SetMode:
        """The mode of a command, with `values` of its immediates by name."""
        mode = command.mode
        if mode is None:
            return SetMode()
        numbers = {
            field: values[value] if isinstance(value, str) else value
            for field, value in mode.immediates.items()
        }
        return SetMode(Mode(mode.par, **numbers), command.outer.par, command.inner.par)

    def __str__(self) -> str:
        if self.mode is None:
            return "requantise off"
        par = f"par[{self.mode.par} + {self.outer} outer + {self.inner} inner]"
        return f"requantise {par} to {self.mode.low}..{self.mode.high} scale {self.mode.scale}"


@dataclass(frozen=True, slots=True)
class SetTable:
    """The instruction TABLE: what the eight lower or upper codes of LOADs behind it stand for."""

    upper: bool
    entries: tuple[int, ...]

    def __str__(self) -> str:
        return f"table {'8..15' if self.upper else '0..7'} is {' '.join(map(str, self.entries))}"


Command: TypeAlias = Copy | Compute | SetMode | SetTable


EMPTY = Copy(memory=MemoryId.UOP, sram=0, dram=0, rows=0, columns=0, stride=0)
"""A LOAD of the compute unit that copies nothing: it only pops and pushes tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Commands:
    """A sequence of commands as columns; many differ in their DRAM address alone.

    Attributes
    ----------
    prototypes
        Distinct commands.
    which
        For each command the index of its prototype.
    dram
        For each copy the elements to add to its prototype's address in DRAM.
    sites
        For each command its stage and loop iterations.
    """

    prototypes: tuple[Command, ...]
    which: Ints
    dram: Ints
    sites: tuple[Site, ...]

    def __len__(self) -> int:
        return len(self.which)

    def __iter__(self) -> Iterator[Command]:
        return (self[position] for position in range(len(self)))

    def __getitem__(self, position: int) -> Command:
        """The command at a position."""
        command = self.prototypes[int(self.which[position])]
        if not isinstance(command, Copy):
            return command
        return replace(command, dram=command.dram + int(self.dram[position]))

    def take(self, positions: Ints) -> Commands:
        """The commands at some positions, in that order."""
        sites = tuple(self.sites[at] for at in positions.tolist())
        return replace(self, which=self.which[positions], dram=self.dram[positions], sites=sites)


def with_prototypes(
    commands: Commands, which: Sequence[int], prototypes: tuple[Command, ...]
) -> Commands:
    """`commands` with these prototypes, without those that are not used."""
    used, numbers = np.unique(np.array(which, np.int64), return_inverse=True)
    return replace(
        commands, prototypes=tuple(prototypes[at] for at in used.tolist()), which=numbers
    )


def unit_of_command(command: Command) -> Unit:
    """The unit that executes a command."""
    if isinstance(command, SetTable):
        return executing_unit(Opcode.TABLE, MemoryId.WGT)
    if not isinstance(command, Copy):
        return Unit.COMPUTE
    opcode = Opcode.STORE if command.memory is MemoryId.OUT else Opcode.LOAD
    return executing_unit(opcode, command.memory)
