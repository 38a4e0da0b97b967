"""Lowered programs as trees of loops with numbers, which a recurrent model reads.

AutoTVM (Chen et al., NeurIPS 2018, section 3.1) encodes the syntax tree of a program's loops from
the innermost statements outwards; what a loop touches goes with its statements here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from typing import Final

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.stmt import For, Invoke, LoopKind, PrimFunc, Stmt, Store
from tandem.compiler.ir.visit import children
from tandem.compiler.lower.program_features import AccessFeatures, NestFeatures, features
from tandem.compiler.lower.ranges import loop_range

_ACCESSES: Final = 4
"""The accesses of a statement that have numbers of their own."""
_KINDS: Final = tuple(LoopKind)

LOOP_NUMBERS: Final = 2 + len(_KINDS)
"""How many numbers a loop has: its trips, whether it is a loop, and one for each kind."""
STATEMENT_NUMBERS: Final = 5 + 5 * _ACCESSES
"""How many numbers a statement has: its own, and those of its accesses."""


@dataclass(frozen=True, slots=True)
class LoopTree:
    """A loop, or a statement, with what is inside.

    Attributes
    ----------
    numbers
        `STATEMENT_NUMBERS` of a store or an intrinsic; else `LOOP_NUMBERS`. Counts of trips,
        elements and bytes are logarithms.
    inside
        In the program's order; none of a statement.
    """

    numbers: tuple[float, ...]
    inside: tuple[LoopTree, ...] = ()

    @property
    def height(self) -> int:
        """The longest way to a statement: 0 of a statement."""
        return 1 + max(each.height for each in self.inside) if self.inside else 0


def loop_tree(program: PrimFunc) -> LoopTree:
    """The tree of a lowered program: its root stands for the program, and is no loop."""
    nests = iter(features(program))
    return LoopTree((0.0,) * LOOP_NUMBERS, tuple(_trees(program.body, {}, nests)))


def _trees(stmt: Stmt, ranges: Ranges, nests: Iterator[NestFeatures]) -> Iterator[LoopTree]:
    """The outermost loops and statements; `nests` are the statements', in the same order."""
    match stmt:
        case Store() | Invoke():
            yield LoopTree(_of_statement(next(nests)))
        case For(var=var, kind=kind, body=body):
            trips = loop_range(stmt, ranges)
            count = 1 if trips.high is None else trips.high + 1
            inside = tuple(_trees(body, {**ranges, var.name: trips}, nests))
            if inside:
                kinds = (float(kind is other) for other in _KINDS)
                yield LoopTree((_log(count), 1.0, *kinds), inside)
        case _:
            for child in children(stmt):
                yield from _trees(child, ranges, nests)


def _of_statement(nest: NestFeatures) -> tuple[float, ...]:
    done = sum(nest.operations.values()) / max(1, nest.iterations)
    found = [_log(nest.iterations), float(nest.conditions), _log(done), _log(nest.intensity)]
    found.append(float(len(nest.accesses)))
    kept = sorted(nest.accesses, key=_weight)[:_ACCESSES]
    for access in kept:
        found += _of_access(access)
    return (*found, *(0.0,) * (STATEMENT_NUMBERS - len(found)))


def _weight(access: AccessFeatures) -> tuple[int, int]:
    """Orders accesses: what is written first, then what touches most."""
    return -access.writes, -access.touched_bytes


def _of_access(access: AccessFeatures) -> tuple[float, ...]:
    return (
        float(access.writes),
        float(access.buffer.scope == Scope.GLOBAL),
        _log(access.touched_bytes),
        _log(access.reuse),
        -1.0 if access.stride is None else _log(abs(access.stride)),
    )


def _log(number: float) -> float:
    return log2(1 + number)
