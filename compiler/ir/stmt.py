"""Statements: what a program does, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from compiler.ir.buffer import Buffer
from compiler.ir.expr import Expr, Var

__all__ = [
    "Alloc",
    "Block",
    "BlockIter",
    "Facts",
    "For",
    "Function",
    "If",
    "Invoke",
    "IterKind",
    "LoopKind",
    "Region",
    "Seq",
    "Stmt",
    "Store",
    "kept_axes",
    "parameters",
]


class LoopKind(Enum):
    """How a loop's turns run. The result never depends on it."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    """On several threads."""
    VECTORIZED = "vectorized"
    """All at once, in the lanes of vectors."""
    UNROLLED = "unrolled"
    VIRTUAL_THREAD = "virtual_thread"
    """Each with its own share of on-chip memory, interleaved in one instruction stream."""


class IterKind(Enum):
    """What an axis of a block is for."""

    SPATIAL = "spatial"
    """Names an element of the output."""
    REDUCE = "reduce"
    """Names a term of an element."""


@dataclass(slots=True)
class Facts:
    """What a statement and all under it mention, by name (`facts.facts`).

    Attributes
    ----------
    height
        Nodes under each other, expressions included.
    blocks
        Those under the statement, in the order of the text.
    loops, axes
        Names of loops, and of blocks' axes.
    allocated
        Buffers, by name.
    variables
        Those used that no loop or axis inside declares.
    buffers
        Those used that are not allocated inside.
    reads, writes
        Names of buffers, those allocated inside included.
    parallel, conditional
        Whether a loop is, and whether there is an `If`.
    sound
        Whether `verify` has accepted it somewhere: it is legal wherever what it uses from around is
        the same, and what it declares is new.
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
    sound: bool = False

    def mentions(self, variables: Iterable[str]) -> bool:
        """Whether one of these variables is used, or declared."""
        return not (
            self.variables.isdisjoint(variables)
            and self.loops.isdisjoint(variables)
            and self.axes.isdisjoint(variables)
        )

    def uses(self, buffers: Iterable[str]) -> bool:
        """Whether one of these buffers is used, or allocated."""
        return not (
            self.buffers.keys().isdisjoint(buffers) and self.allocated.keys().isdisjoint(buffers)
        )


class Node:
    """What statements share: facts, computed once, when `facts.facts` is first asked. They are no
    part of the value: equality, hashes and pickles leave them out."""

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
    """One after the other."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    """`body` for each value of `var` from 0 up to, without, `extent`."""

    var: Var
    extent: Expr
    kind: LoopKind
    body: Stmt


@dataclass(frozen=True, slots=True)
class If(Node):
    """`body`, if the condition holds."""

    condition: Expr
    body: Stmt


@dataclass(frozen=True, slots=True)
class Alloc(Node):
    """`buffer` exists within `body`, with undefined content at its beginning."""

    buffer: Buffer
    body: Stmt


@dataclass(frozen=True, slots=True)
class BlockIter:
    """An axis of a block: `var` runs over 0..extent-1; in this turn of the loops it is `value`."""

    var: Var
    extent: int
    kind: IterKind
    value: Expr


@dataclass(frozen=True, slots=True)
class Block(Node):
    """One turn of a computation that its axes describe, whatever the loops around it.

    `body` and `init` speak of the axes' variables, never of loops; `guard` and the axes' values
    speak of loops. The turn is left out where a condition of `guard` does not hold. `init` comes
    before `body` where every axis that reduces is 0. (Blocks: Feng et al., TensorIR, ASPLOS'23.)

    Over all turns of the loops around it, a block runs exactly once for each point of its axes'
    domain that anybody reads, unless it is computed again for each of several readers, into a
    buffer of theirs.
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
    """A box of a buffer: from `lower`, `shape` elements along each dimension."""

    buffer: Buffer
    lower: tuple[Expr, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Invoke(Node):
    """A tensor intrinsic on boxes of buffers.

    `intrinsic` says by a program of its own what it does; its inputs, then its outputs, stand for
    the operands. An operand's shape is its parameter's with axes of extent 1 anywhere between.
    """

    intrinsic: Function
    operands: tuple[Region, ...]


Stmt: TypeAlias = Store | Seq | For | If | Alloc | Block | Invoke


@dataclass(frozen=True, slots=True)
class Function:
    """A program: reads `inputs`, writes every element of `outputs`.

    An output that an intrinsic updates is an input of it as well: it then stands in both.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt


def parameters(intrinsic: Function) -> tuple[Buffer, ...]:
    """What the operands stand for, in order: inputs, then outputs; one that is both comes once."""
    return tuple(dict.fromkeys((*intrinsic.inputs, *intrinsic.outputs)))


def kept_axes(operand: Sequence[int], parameter: Sequence[int]) -> tuple[int, ...] | None:
    """The operand's axes that are the parameter's, where all others have an extent of 1.

    None where the shapes do not fit.
    """
    kept: list[int] = []
    for axis, extent in enumerate(operand):
        if len(kept) < len(parameter) and extent == parameter[len(kept)]:
            kept.append(axis)
        elif extent != 1:
            return None
    return tuple(kept) if len(kept) == len(parameter) else None
