"""The start of a sum moves in front of the loops that add to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from compiler.ir.expr import Const, Expr, Var
from compiler.ir.facts import facts
from compiler.ir.interval import Interval, interval
from compiler.ir.ops import equal
from compiler.ir.stmt import Alloc, For, Function, If, LoopKind, Seq, Stmt
from compiler.ir.visit import (
    map_children,
    sequence,
    substitute,
    substitute_in,
    variables,
    with_body,
    with_parts,
)
from compiler.lower.conditions import guarded, parts, reads_memory, zeros
from compiler.lower.loop_dependences import independent, independent_across_iterations
from compiler.lower.ranges import all_ranges

__all__ = ["HoistReductionInit"]


@dataclass(frozen=True, slots=True)
class HoistReductionInit:
    """What is done in a loop's first turn only is done before it.

    Before::

        for C.k in 64:
          for C.i in 16:
            if C.k == 0:
              C[C.i] = 0.0
            C[C.i] = C[C.i] + A[C.i, C.k]

    After::

        for C.i_0 in 16:
          C[C.i_0] = 0.0
        for C.k in 64:
          for C.i in 16:
            C[C.i] = C[C.i] + A[C.i, C.k]

    A statement passes others only where they surely do not touch the same elements; it stays where
    that cannot be seen.
    """

    name: str = "lift-starts"

    def apply(self, function: Function) -> Function:
        """The program with inner loops free of tests for a first turn."""
        return replace(function, body=_Lifter(all_ranges(function.body)).whole(function.body))


@dataclass(frozen=True, slots=True)
class _Start:
    """A statement that runs where `tests` hold, one of which asks for a loop's first turn."""

    tests: tuple[Expr, ...]
    body: Stmt

    @property
    def stmt(self) -> Stmt:
        return guarded(self.tests, self.body)


@dataclass
class _Lifter:
    ranges: dict[str, Interval]
    numbers: Iterator[int] = field(default_factory=count)

    def whole(self, stmt: Stmt) -> Stmt:
        """The statement with nothing taken out of it."""
        return sequence(*self.parts(stmt))

    def parts(self, stmt: Stmt) -> list[Stmt]:
        """The starts in a statement, and what is left of it."""
        starts, rest = self.split(stmt)
        return [*(each.stmt for each in starts), *([] if rest is None else [rest])]

    def split(self, stmt: Stmt) -> tuple[list[_Start], Stmt | None]:
        """The starts, which may run before all that is left of the statement."""
        if not facts(stmt).conditional:
            return [], stmt
        match stmt:
            case If(condition=condition, body=body):
                return self._if(stmt, condition, body)
            case Seq():
                return self._seq(stmt)
            case Alloc(buffer=buffer, body=body):
                starts, rest = self.split(body)
                # The first start that uses the buffer holds back those behind it.
                using = (
                    at for at, each in enumerate(starts) if facts(each.stmt).uses([buffer.name])
                )
                free = next(using, len(starts))
                left = [*(each.stmt for each in starts[free:]), *([] if rest is None else [rest])]
                return starts[:free], with_body(stmt, sequence(*left)) if left else None
            case For():
                return self._for(stmt)
            case _:
                return [], map_children(stmt, self.whole)

    def _if(self, stmt: If, condition: Expr, body: Stmt) -> tuple[list[_Start], Stmt | None]:
        if reads_memory(condition):
            return [], with_body(stmt, self.whole(body))
        tests = tuple(test for part in parts(condition) for test in zeros(part, self.ranges))
        if any(_first_turn(test) for test in tests):
            return [_Start(tests, self.whole(body))], None
        starts, rest = self.split(body)
        starts = [_Start((*tests, *each.tests), each.body) for each in starts]
        return starts, None if rest is None else with_body(stmt, rest)

    def _seq(self, seq: Seq) -> tuple[list[_Start], Stmt | None]:
        front: list[_Start] = []
        done: list[Stmt] = []
        for each in seq.body:
            starts, rest = self.split(each)
            for start in starts:
                if all(independent(start.stmt, before) for before in done):
                    front.append(start)
                else:
                    done.append(start.stmt)
            done += [] if rest is None else [rest]
        return front, with_parts(seq, done) if done else None

    def _for(self, loop: For) -> tuple[list[_Start], Stmt | None]:
        starts, rest = self.split(loop.body)
        out: list[_Start] = []
        kept: list[Stmt] = []
        for number, start in enumerate(starts):
            # A start that stays holds back those behind it.
            moved = None if kept else self._past(loop, start, [*starts[number + 1 :]], rest)
            if moved is None:
                kept.append(start.stmt)
            else:
                out.append(moved)
        left = [*kept, *([] if rest is None else [rest])]
        ahead = [each for each in out if any(_first_turn(test) for test in each.tests)]
        ready = [each for each in out if each not in ahead]
        if ready and ahead and not all(independent(a.stmt, b.stmt) for a in ahead for b in ready):
            ready, ahead = out, []
        here = [each.stmt for each in ready]
        here += [with_body(loop, sequence(*left))] if left else []
        return ahead, sequence(*here) if here else None

    def _past(
        self, loop: For, start: _Start, behind: list[_Start], rest: Stmt | None
    ) -> _Start | None:
        """The start in front of the loop; None if it must stay inside."""
        var = loop.var
        first = equal(var, 0)
        if first in start.tests:
            zero = {var.name: Const(0)}
            tests = [substitute(each, zero) for each in start.tests if each != first]
            least = interval(loop.extent, self.ranges).low
            if least is None or least < 1:
                tests.insert(0, Const(0) < loop.extent)
            return _Start(tuple(tests), substitute_in(start.body, zero))
        if loop.kind is LoopKind.PARALLEL:
            return None
        others = [*(each.stmt for each in behind), *([] if rest is None else [rest])]
        if not all(
            independent_across_iterations(loop, start.stmt, each, self.ranges) for each in others
        ):
            return None
        outer = tuple(each for each in start.tests if var.name not in variables(each))
        inner = tuple(each for each in start.tests if var.name in variables(each))
        again = self._fresh(var)
        body = substitute_in(guarded(inner, start.body), {var.name: again})
        return _Start(outer, For(again, loop.extent, loop.kind, body))

    def _fresh(self, var: Var) -> Var:
        """Another variable with the same range."""
        name = next(
            name
            for name in (f"{var.name}_{number}" for number in self.numbers)
            if name not in self.ranges
        )
        self.ranges[name] = self.ranges[var.name]
        return Var(name, var.dtype)


def _first_turn(test: Expr) -> bool:
    """Whether it says `x == 0` of a variable."""
    variables_of = variables(test)
    return len(variables_of) == 1 and any(test == equal(Var(name), 0) for name in variables_of)
