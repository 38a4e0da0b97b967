"""The accesses of a statement to memory, and which threads make them to which elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Const, Expr, Load, Select, Unary
from tandem.compiler.ir.operations import UnaryOp
from tandem.compiler.ir.stmt import For, If, Invoke, Stmt, Store
from tandem.compiler.ir.visit import children, expressions, operands, variables
from tandem.compiler.machines.gpu.check.arrays import Integers, UnknownError, value
from tandem.compiler.machines.gpu.intrinsics import behaviour
from tandem.compiler.machines.gpu.launch import BLOCK, THREAD

_MOST = 1 << 25
"""The most iterations that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Access:
    """One access in the text of a program, for all iterations of the loops in its statement.

    Attributes
    ----------
    loops
        The extents of the loops between the statement and the access, by variable.
    tests
        The conditions under which it happens, those of selections included.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    writes: bool
    loops: Mapping[str, int]
    tests: tuple[Expr, ...]


def accesses(stmt: Stmt, names: frozenset[str]) -> Iterator[Access]:
    """The accesses of a statement to buffers of these names, in the order of execution."""
    return _of_stmt(stmt, names, {}, ())


def _of_stmt(
    stmt: Stmt, names: frozenset[str], loops: Mapping[str, int], tests: tuple[Expr, ...]
) -> Iterator[Access]:
    if isinstance(stmt, Invoke):
        yield from _of_stmt(behaviour(stmt), names, loops, tests)
        return
    for expr in expressions(stmt):
        yield from _of_expr(expr, names, loops, tests)
    match stmt:
        case Store(buffer=buffer, indices=indices) if buffer.name in names:
            yield Access(buffer, indices, True, loops, tests)
        case For(var=var, extent=Const(value=extent)):
            loops = {**loops, var.name: int(extent)}
        case If(condition=condition):
            tests = (*tests, condition)
        case _:
            pass
    for child in children(stmt):
        yield from _of_stmt(child, names, loops, tests)


def _of_expr(
    expr: Expr, names: frozenset[str], loops: Mapping[str, int], tests: tuple[Expr, ...]
) -> Iterator[Access]:
    if isinstance(expr, Select):
        test = expr.condition
        yield from _of_expr(test, names, loops, tests)
        yield from _of_expr(expr.then, names, loops, (*tests, test))
        yield from _of_expr(expr.otherwise, names, loops, (*tests, Unary(UnaryOp.NOT, test)))
        return
    for part in operands(expr):
        yield from _of_expr(part, names, loops, tests)
    if isinstance(expr, Load) and expr.buffer.name in names:
        yield Access(expr.buffer, expr.indices, False, loops, tests)


class Touched(NamedTuple):
    """Elements of a buffer, and the least and the greatest number of those that access them.

    Attributes
    ----------
    keys
        Positions in the buffer, ascending, without duplicates; with the block in front where each
        block has a key of its own.
    first, last
        For each key.
    """

    keys: Integers
    first: Integers
    last: Integers

    @staticmethod
    def of(keys: Integers, numbers: Integers) -> Touched:
        """The elements with these keys, which these numbers access."""
        return _merged(keys, numbers, numbers)

    def merged(self, other: Touched) -> Touched:
        """What one of the two has."""
        parts = (np.concatenate(pair) for pair in zip(self, other, strict=True))
        return _merged(*parts)

    def shared_with(self, other: Touched) -> int | None:
        """A key that both have, and that not one and the same number has in both; or None."""
        _, mine, others = np.intersect1d(
            self.keys, other.keys, assume_unique=True, return_indices=True
        )
        low = np.minimum(self.first[mine], other.first[others])
        high = np.maximum(self.last[mine], other.last[others])
        found = np.flatnonzero(low != high)
        return int(self.keys[mine[found[0]]]) if len(found) else None

    def contested(self) -> int | None:
        """A key that two numbers have; or None."""
        found = np.flatnonzero(self.first != self.last)
        return int(self.keys[found[0]]) if len(found) else None


NOTHING = Touched(*(np.empty(0, np.int64) for _ in range(3)))


def _merged(keys: Integers, first: Integers, last: Integers) -> Touched:
    if not len(keys):
        return NOTHING
    order = np.argsort(keys, kind="stable")
    keys, first, last = keys[order], first[order], last[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return Touched(
        keys[starts], np.minimum.reduceat(first, starts), np.maximum.reduceat(last, starts)
    )


class OutsideError(Exception):
    """Raised inside this package for an access outside of its buffer."""

    def __init__(self, access: Access, index: tuple[int, ...]) -> None:
        super().__init__(f"{access.buffer.name}[{', '.join(map(str, index))}]")


class Numbering(Enum):
    """What the numbers of those that access an element are."""

    THREADS = "threads"
    """Of threads in their block. Where indices depend on the block, each has elements of its
    own."""
    BLOCKS = "blocks"
    GRID = "grid"
    """Of threads in the grid."""


def visited(
    access: Access,
    blocks: int,
    threads: int,
    known: Mapping[str, int],
    numbering: Numbering = Numbering.THREADS,
) -> tuple[Integers, Integers] | None:
    """The elements that an access touches in all iterations and blocks, and the number of who does;
    None if that is not known, because its indices depend on data or on too many iterations.

    Conditions on data are taken to hold, and those on variables that are neither known nor needed.

    Parameters
    ----------
    known
        Values of variables of loops around the statement.

    Raises
    ------
    OutsideError
        If an index lies outside of its dimension.
    """
    extents = {**access.loops, BLOCK.name: blocks, THREAD.name: threads}
    needed = {name for index in access.indices for name in variables(index)}
    if numbering is not Numbering.BLOCKS:
        needed.add(THREAD.name)
    if numbering is not Numbering.THREADS:
        needed.add(BLOCK.name)
    tests = []
    for test in access.tests:
        wider = needed | variables(test)
        if BLOCK.name in wider - needed or not wider <= extents.keys() | known.keys():
            continue
        if _count(wider, extents) <= max(_MOST >> 3, _count(needed, extents)):
            needed = wider
            tests.append(test)
    if _count(needed, extents) > _MOST:
        return None
    names = [name for name in extents if name in needed]
    shape = tuple(extents[name] for name in names)
    values: dict[str, Any] = {name: np.int64(number) for name, number in known.items()}
    for axis, name in enumerate(names):
        along = [1] * len(names)
        along[axis] = extents[name]
        values[name] = np.arange(extents[name], dtype=np.int64).reshape(along)
    kept, exact = np.ones(shape, bool), len(tests) == len(access.tests)
    for test in tests:
        try:
            kept &= value(test, values)
        except UnknownError:
            exact = False
    chosen = None if kept.all() else kept

    def over_all(found: Any) -> Integers:
        whole = np.broadcast_to(np.asarray(found, np.int64), shape)
        return whole.ravel() if chosen is None else whole[chosen]

    try:
        indices = [over_all(value(index, values)) for index in access.indices]
    except UnknownError:
        return None
    buffer = access.buffer
    numbers = {
        Numbering.THREADS: lambda: values[THREAD.name],
        Numbering.BLOCKS: lambda: values[BLOCK.name],
        Numbering.GRID: lambda: values[BLOCK.name] * threads + values[THREAD.name],
    }
    who = over_all(numbers[numbering]())
    keys = np.zeros(len(who), np.int64)
    inside = np.ones(len(who), bool)
    for index, extent, stride in zip(indices, buffer.shape, buffer.strides, strict=True):
        inside &= (index >= 0) & (index < extent)
        keys += index * stride
    if numbering is Numbering.THREADS and BLOCK.name in needed:
        keys += over_all(values[BLOCK.name]) * buffer.size
    if inside.all():
        return keys, who
    if exact:
        first = int(np.flatnonzero(~inside)[0])
        raise OutsideError(access, tuple(int(each[first]) for each in indices))
    # A condition that is taken to hold keeps the index within the buffer.
    return keys[inside], who[inside]


def touched(
    access: Access,
    blocks: int,
    threads: int,
    known: Mapping[str, int],
    numbering: Numbering = Numbering.THREADS,
) -> Touched | None:
    """The elements that an access touches; parameters and errors as of `visited`."""
    found = visited(access, blocks, threads, known, numbering)
    return None if found is None else Touched.of(*found)


def _count(names: frozenset[str] | set[str], extents: Mapping[str, int]) -> int:
    return prod(extents[name] for name in names if name in extents)
