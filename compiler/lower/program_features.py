"""Features of a program's statements, for analysis and for cost models of any target.

Sources: AutoTVM (Chen et al., NeurIPS 2018, section 3.1), Ansor (Zheng et al., OSDI 2020, appendix
B). Buffers are counted as boxes: where an index is not linear, `touched` is an upper bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Cast, Expr, Load, Reinterpret, Select, Unary
from tandem.compiler.ir.interval import Ranges, interval
from tandem.compiler.ir.stmt import For, If, Invoke, LoopKind, PrimFunc, Stmt, Store, parameters
from tandem.compiler.ir.strides import stride
from tandem.compiler.ir.visit import children, reads, subexpressions, variables
from tandem.compiler.lower.ranges import loop_range

WRITTEN_OUT: Final = (LoopKind.UNROLLED, LoopKind.VECTORIZED)
"""The kinds of loops whose iterations are written out one by one, or as lanes."""


@dataclass(frozen=True, slots=True)
class AccessFeatures:
    """A statement's accesses to one buffer, over all iterations.

    Attributes
    ----------
    writes
        Whether the statement writes the buffer.
    accesses
        The number of element reads or writes in all iterations.
    touched
        The number of distinct elements that are accessed.
    stride
        Elements from one iteration of the innermost loop to the next; None if it varies, 0 without
        loops.
    at_once
        The elements that are accessed in all iterations of the loops that are written out; of loops
        that the index does not depend on one iteration counts.
    in_lanes
        Whether the index changes from lane to lane of a vector.
    """

    buffer: Buffer
    writes: bool
    accesses: int
    touched: int
    stride: int | None
    at_once: int
    in_lanes: bool

    @property
    def touched_bytes(self) -> int:
        """The bytes of the distinct elements."""
        return self.touched * -(-self.buffer.dtype.bits // 8)

    @property
    def reuse(self) -> float:
        """Accesses for each distinct element."""
        return self.accesses / self.touched if self.touched else 0.0


@dataclass(frozen=True, slots=True)
class NestFeatures:
    """A store or an intrinsic, in its loops.

    Attributes
    ----------
    loops
        Names, kinds and trip counts, outermost first; a trip count that varies is its maximum.
    conditions
        The number of conditions around the statement.
    operations
        Numbers of operations on data, not on indices, in all iterations, by operator ("add").
    """

    loops: tuple[tuple[str, LoopKind, int], ...]
    conditions: int
    operations: Mapping[str, int]
    accesses: tuple[AccessFeatures, ...]

    @property
    def iterations(self) -> int:
        """The product of the trip counts of all loops."""
        return prod(count for _, _, count in self.loops)

    def iterations_of(self, kind: LoopKind) -> int:
        """The product of the trip counts of the loops of one kind; 1 if there are none."""
        return prod(count for _, other, count in self.loops if other is kind)

    @property
    def intensity(self) -> float:
        """Operations for each byte touched."""
        touched = sum(each.touched_bytes for each in self.accesses)
        return sum(self.operations.values()) / touched if touched else 0.0


def features(function: PrimFunc) -> tuple[NestFeatures, ...]:
    """The features of each store and intrinsic of a lowered program, in program order.

    A loop of unknown trip count counts as one iteration.
    """
    return tuple(_nests(function.body, (), {}, 0))


def _nests(
    stmt: Stmt, loops: tuple[tuple[str, LoopKind, int], ...], ranges: Ranges, conditions: int
) -> Iterator[NestFeatures]:
    match stmt:
        case Store() | Invoke():
            yield _nest(stmt, loops, ranges, conditions)
        case For(var=var, kind=kind, body=body):
            range_ = loop_range(stmt, ranges)
            count = 1 if range_.high is None else range_.high + 1
            inside = (*loops, (var.name, kind, count))
            yield from _nests(body, inside, {**ranges, var.name: range_}, conditions)
        case _:
            more = conditions + isinstance(stmt, If)
            for child in children(stmt):
                yield from _nests(child, loops, ranges, more)


def _nest(
    stmt: Store | Invoke,
    loops: tuple[tuple[str, LoopKind, int], ...],
    ranges: Ranges,
    conditions: int,
) -> NestFeatures:
    count = prod(extent for _, _, extent in loops)
    if isinstance(stmt, Store):
        done = _operations(stmt.value)
        boxes = [(each, (1,) * len(each.indices), False) for each in reads(stmt)]
        boxes.append((Load(stmt.buffer, stmt.indices), (1,) * len(stmt.indices), True))
    else:
        intrinsic, done = stmt.intrinsic, Counter[str]()
        for nest in features(intrinsic):
            done.update(nest.operations)

        boxes = [
            (Load(region.buffer, region.lower), region.shape, parameter in intrinsic.outputs)
            for parameter, region in zip(parameters(intrinsic), stmt.operands, strict=True)
        ]
    operations = {name: times * count for name, times in done.items()}
    accesses = tuple(_access(*box, loops, ranges) for box in boxes)
    return NestFeatures(loops, conditions, operations, accesses)


def _access(
    at: Load,
    shape: tuple[int, ...],
    writes: bool,
    loops: tuple[tuple[str, LoopKind, int], ...],
    ranges: Ranges,
) -> AccessFeatures:
    """The accesses, in every iteration, to a box of elements that begins at `at`."""
    used = frozenset[str]().union(*(variables(each) for each in at.indices))
    around = [(kind, extent) for name, kind, extent in loops if name in used]
    different = prod(extent for _, extent in around) * prod(shape)
    box = 1
    for index, size, extent in zip(at.indices, shape, at.buffer.shape, strict=True):
        found = interval(index, ranges)
        if found.low is None or found.high is None:
            box *= extent
        else:
            box *= min(found.high - found.low + size, extent)
    return AccessFeatures(
        buffer=at.buffer,
        writes=writes,
        accesses=prod(extent for _, _, extent in loops) * prod(shape),
        touched=min(box, different),
        stride=stride(at, loops[-1][0]) if loops else 0,
        at_once=prod(extent for kind, extent in around if kind in WRITTEN_OUT) * prod(shape),
        in_lanes=any(kind is LoopKind.VECTORIZED for kind, _ in around),
    )


def _operations(value: Expr) -> Counter[str]:
    """The number of operations on data, by operator."""
    found = Counter[str]()
    for node in subexpressions(value):
        if isinstance(node, Binary | Unary | Cast | Reinterpret | Select) and node.dtype != INDEX:
            name = node.op.name if isinstance(node, Binary | Unary) else type(node).__name__
            found[name.lower()] += 1
    return found
