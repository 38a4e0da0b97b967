"""How a vectorized loop is cut into vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.errors import CodegenError
from compiler.ir.expr import Const
from compiler.ir.facts import facts
from compiler.ir.stmt import For

__all__ = ["Cut", "constant_extent", "cut", "widest"]

MAX_LANES = 64
"""In one vector, which LLVM then spreads over registers: four of float32, of 512 bits."""
WRITTEN_OUT = 4
"""So many vectors of one loop are written one after the other; more are a loop."""


@dataclass(frozen=True, slots=True)
class Cut:
    """`turns` vectors of `lanes` lanes, the first of which begins at turn `begin` of the loop."""

    begin: int
    lanes: int
    turns: int

    @property
    def last(self) -> int:
        """The loop's last turn in it."""
        return self.begin + self.lanes * self.turns - 1


def constant_extent(loop: For) -> int:
    """The extent of a loop whose turns are written out or run together."""
    if not isinstance(loop.extent, Const):
        raise CodegenError(
            f"{loop.var.name} is {loop.kind.value}: its extent must be a number, not an expression"
        )
    return int(loop.extent.value)


def cut(loop: For, register_bits: int) -> tuple[Cut, ...]:
    """The vectors of a vectorized loop, in order.

    LLVM keeps vectors of a power of two registers in registers, and what fits into one; those
    between, such as 28 float32, it takes apart into single lanes wherever they cross a branch.
    Hence whole registers in powers of two come first, and the rest is one vector that is none.
    """
    extent = constant_extent(loop)
    lanes = min(MAX_LANES, register_bits // _element_bits(loop))
    return tuple(_cuts(extent, lanes))


def widest(loop: For, register_bits: int) -> int:
    """Lanes of the widest vector of a loop; 1 if it needs none."""
    return max((each.lanes for each in cut(loop, register_bits)), default=1)


def _cuts(extent: int, register: int) -> Iterator[Cut]:
    begin, lanes = 0, MAX_LANES
    while lanes >= register:
        turns = (extent - begin) // lanes
        if turns > WRITTEN_OUT:
            yield Cut(begin, lanes, turns)
        else:
            yield from (Cut(begin + turn * lanes, lanes, 1) for turn in range(turns))
        begin += turns * lanes
        lanes //= 2
    if begin < extent:
        yield Cut(begin, extent - begin, 1)


def _element_bits(loop: For) -> int:
    """Of the largest elements that a loop touches."""
    inside = facts(loop.body)
    buffers = (*inside.buffers.values(), *inside.allocated.values())
    return 8 * max((each.dtype.numpy.itemsize for each in buffers), default=1)
