"""Strip-mining of vectorized loops into vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.stmt import For

MAX_LANES = 64
"""The most lanes of a vector, which LLVM splits into registers: four of 16 float32."""
MAX_UNROLLED = 4
"""Up to this number the vectors of a strip are unrolled; more are a loop."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Consecutive vectors of equal numbers of lanes, from iteration `begin` of the loop."""

    begin: int
    lanes: int
    vectors: int

    @property
    def last(self) -> int:
        """The last iteration of the loop in the strip."""
        return self.begin + self.lanes * self.vectors - 1


def constant_extent(loop: For) -> int:
    """The extent of an unrolled or vectorized loop. Raises `CodegenError` if it is no constant."""
    if not isinstance(loop.extent, Const):
        raise CodegenError(
            f"{loop.var.name} is {loop.kind.value}: its extent must be a number, not an expression"
        )
    return int(loop.extent.value)


def strips_of(loop: For, register_bits: int) -> tuple[Strip, ...]:
    """The strips of a vectorized loop, in order.

    LLVM keeps a vector in registers if it fills a power of two registers, or is within one. Any
    other vector, as of 28 float32, is split into lanes where it crosses a branch. Hence whole
    registers in powers of two come first, and the rest is one vector of less than a register.
    """
    extent = constant_extent(loop)
    lanes = min(MAX_LANES, register_bits // _element_bits(loop))
    return tuple(_strips(extent, lanes))


def registers_of(loop: For, register_bits: int) -> int:
    """The registers that the iterations of a vectorized loop fill, of the largest elements."""
    lanes = max(1, register_bits // _element_bits(loop))
    return sum(each.vectors * -(-each.lanes // lanes) for each in strips_of(loop, register_bits))


def widest(loop: For, register_bits: int) -> int:
    """The lanes of the widest vector of a loop; 1 for a loop without vectors."""
    return max((each.lanes for each in strips_of(loop, register_bits)), default=1)


def _strips(extent: int, register: int) -> Iterator[Strip]:
    begin, lanes = 0, MAX_LANES
    while lanes >= register:
        vectors = (extent - begin) // lanes
        if vectors > MAX_UNROLLED:
            yield Strip(begin, lanes, vectors)
        else:
            yield from (Strip(begin + number * lanes, lanes, 1) for number in range(vectors))
        begin += vectors * lanes
        lanes //= 2
    if begin < extent:
        yield Strip(begin, extent - begin, 1)


def _element_bits(loop: For) -> int:
    """The size of the largest elements that a loop accesses."""
    inside = facts(loop.body)
    buffers = (*inside.buffers.values(), *inside.allocated.values())
    return 8 * max((each.dtype.numpy.itemsize for each in buffers), default=1)
