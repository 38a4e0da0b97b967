"""Statements, regions and functions of the loop language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Expr, Var


class LoopKind(Enum):
    """How the iterations of a loop run. The program's result never depends on the kind."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    """On several threads."""
    VECTORIZED = "vectorized"
    """All at once, in the lanes of vectors."""
    UNROLLED = "unrolled"
    VIRTUAL_THREAD = "virtual_thread"
    """Interleaved in one instruction stream, each in its own part of on-chip memory."""
    EAGER = "eager"
    """Each as soon as its operands are there, between the instructions of earlier statements."""
    BLOCKS = "blocks"
    """On the blocks of threads of a GPU, which share no memory but the global one."""
    THREADS = "threads"
    """On the threads of a block of a GPU: all are done before the statement behind the loop."""


class IterKind(Enum):
    """The kind of a block's axis."""

    SPATIAL = "spatial"
    """Indexes the elements of the output."""
    REDUCE = "reduce"
    """Indexes the terms that are reduced to one element."""


@dataclass(slots=True)
class Facts:
    """The names in a statement and its descendants (`facts.facts`).

    Attributes
    ----------
    height
        The depth of the tree, expressions included.
    blocks
        The blocks under the statement, in the order of the text.
    loops, axes
        The names of the loops' variables, and of the blocks' axes.
    allocated
        The buffers that are allocated, by name.
    variables
        The names of the free variables: no loop or axis inside declares them.
    buffers
        The buffers used that are not allocated inside, by name.
    reads, writes
        The names of the buffers that are read and written, those allocated inside included.
    parallel, conditional
        Whether there is a parallel loop, and an `If`.
    verified
        Whether `verify` has accepted the statement somewhere. Then the statement is legal wherever
        its free names mean the same, and the names that it declares are new.
    """

    height: int
    blocks: tuple[Block, ...]
    loops: frozenset[str]
    axes: frozenset[str]
    allocated: Mapping[str, Buffer]
    variables: frozenset[str]
    buffers: Mapping[str, Buffer]
    reads: frozenset[str]
    writes: frozenset[str]
    parallel: bool = False
    conditional: bool = False
    verified: bool = False

    def mentions(self, variables: Iterable[str]) -> bool:
        """Whether one of these variables is used or declared."""
        return not (
            self.variables.isdisjoint(variables)
            and self.loops.isdisjoint(variables)
            and self.axes.isdisjoint(variables)
        )

    def uses(self, buffers: Iterable[str]) -> bool:
        """Whether one of these buffers is used or allocated."""
        return not (
            self.buffers.keys().isdisjoint(buffers) and self.allocated.keys().isdisjoint(buffers)
        )


class Node:
    """The base class of statements, with the cached result of `facts.facts`. The cache is not part
    of the value: equality, hashes and pickles exclude the cache."""

    __slots__ = ("facts",)

    facts: Facts


@dataclass(frozen=True, slots=True)
class Store(Node):
    """Write `value` to the element of `buffer` at `indices`."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Seq(Node):
    """Statements executed in sequence."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    """Executes `body` for every value of `var` from 0 to `extent` - 1."""

    var: Var
    extent: Expr
    kind: LoopKind
    body: Stmt


@dataclass(frozen=True, slots=True)
class If(Node):
    """Executes `body` if the condition holds."""

    condition: Expr
    body: Stmt


@dataclass(frozen=True, slots=True)
class Alloc(Node):
    """Allocates `buffer`, with undefined elements, while `body` runs."""

    buffer: Buffer
    body: Stmt


@dataclass(frozen=True, slots=True)
class BlockIter:
    """An axis of a block: binds `var`, in 0..extent-1, to `value`, in variables of outer loops."""

    var: Var
    extent: int
    kind: IterKind
    value: Expr


@dataclass(frozen=True, slots=True)
class Block(Node):
    """A computation at one point of the domain of its axes, independent of the loops around it.

    `body` and `init` use the axes' variables, never loop variables; `guard` and the axes' values
    use loop variables. An iteration in which a condition of `guard` does not hold skips the block.
    `init` is executed before `body` where all reduce axes are 0. (Blocks: Feng et al., TensorIR,
    ASPLOS'23.)

    Over all iterations of the enclosing loops, a block is executed exactly once for each point of
    its domain that is read; or once per reader, if each reader has its own buffer.
    """

    name: str
    iters: tuple[BlockIter, ...]
    guard: tuple[Expr, ...]
    init: Stmt | None
    body: Stmt

    def axes(self, kind: IterKind) -> tuple[BlockIter, ...]:
        """The block's axes of one kind, in order."""
        return tuple(axis for axis in self.iters if axis.kind is kind)


@dataclass(frozen=True, slots=True)
class Region:
    """A box of a buffer: the elements from `lower` to `lower + shape - 1` in each dimension."""

    buffer: Buffer
    lower: tuple[Expr, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Invoke(Node):
    """A tensor intrinsic on boxes of buffers.

    `intrinsic` is a program with the behaviour of the intrinsic, whose parameters are its inputs,
    then its outputs. An operand has its parameter's shape, with more axes of extent 1 anywhere.
    """

    intrinsic: PrimFunc
    operands: tuple[Region, ...]

    @property
    def results(self) -> tuple[Region, ...]:
        """The boxes that the intrinsic writes, in the order of its outputs."""
        boxes = dict(zip(parameters(self.intrinsic), self.operands, strict=True))
        return tuple(boxes[each] for each in self.intrinsic.outputs)


Stmt: TypeAlias = Store | Seq | For | If | Alloc | Block | Invoke


@dataclass(frozen=True, slots=True)
class PrimFunc:
    """A program: reads `inputs`, writes every element of `outputs`.

    A buffer that an intrinsic updates is both an input and an output.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt


def parameters(intrinsic: PrimFunc) -> tuple[Buffer, ...]:
    """The parameters of an intrinsic: its inputs, then those outputs that are not inputs."""
    return tuple(dict.fromkeys((*intrinsic.inputs, *intrinsic.outputs)))


def kept_axes(operand: Sequence[int], parameter: Sequence[int]) -> tuple[int, ...] | None:
    """The axes of an operand that match the parameter's axes; the other axes have extent 1.

    None if the shapes do not fit.
    """
    kept: list[int] = []
    for axis, extent in enumerate(operand):
        if len(kept) < len(parameter) and extent == parameter[len(kept)]:
            kept.append(axis)
        elif extent != 1:
            return None
    return tuple(kept) if len(kept) == len(parameter) else None
