"""The pass that moves reduction initialisers in front of the reduction loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.interval import interval
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import equal
from tandem.compiler.ir.stmt import Alloc, For, If, LoopKind, PrimFunc, Seq, Stmt
from tandem.compiler.ir.visit import (
    map_children,
    sequence,
    substitute,
    substitute_in,
    variables,
    with_body,
    with_parts,
)
from tandem.compiler.lower.conditions import conjuncts, guarded, reads_memory, split_zero_test
from tandem.compiler.lower.loop_dependences import independent, independent_across_iterations
from tandem.compiler.lower.ranges import all_ranges


@dataclass(frozen=True, slots=True)
class HoistReductionInit:
    """Moves statements that run only in a loop's first iteration in front of the loop.

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

    An initialiser moves past a statement only if the two provably access different elements;
    otherwise the initialiser stays.
    """

    name: str = "hoist-reduction-init"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program without tests for a first iteration in its inner loops."""
        return replace(function, body=_Hoister(all_ranges(function.body)).whole(function.body))


@dataclass(frozen=True, slots=True)
class _Init:
    """An initialiser: `body` runs where `tests` hold, one of which is for a first iteration."""

    tests: tuple[Expr, ...]
    body: Stmt

    @property
    def stmt(self) -> Stmt:
        return guarded(self.tests, self.body)


@dataclass
class _Hoister:
    ranges: dict[str, Interval]
    numbers: Iterator[int] = field(default_factory=count)

    def whole(self, stmt: Stmt) -> Stmt:
        """The statement with its initialisers in front of everything else in it."""
        inits, rest = self.split(stmt)
        return sequence(*_statements(inits, rest))

    def split(self, stmt: Stmt) -> tuple[list[_Init], Stmt | None]:
        """The initialisers that may run before the rest of a statement, and the rest or None."""
        if not facts(stmt).conditional:
            return [], stmt
        match stmt:
            case If(condition=condition, body=body):
                return self._if(stmt, condition, body)
            case Seq():
                return self._seq(stmt)
            case Alloc(buffer=buffer, body=body):
                inits, rest = self.split(body)
                # The first initialiser that uses the buffer stays, and so do all later ones.
                uses = [facts(each.stmt).uses([buffer.name]) for each in inits]
                free = uses.index(True) if True in uses else len(inits)
                left = _statements(inits[free:], rest)
                return inits[:free], with_body(stmt, sequence(*left)) if left else None
            case For():
                return self._for(stmt)
            case _:
                return [], map_children(stmt, self.whole)

    def _if(self, stmt: If, condition: Expr, body: Stmt) -> tuple[list[_Init], Stmt | None]:
        if reads_memory(condition):
            return [], with_body(stmt, self.whole(body))
        tests = tuple(
            test for part in conjuncts(condition) for test in split_zero_test(part, self.ranges)
        )
        if any(map(_is_first_iteration, tests)):
            return [_Init(tests, self.whole(body))], None
        inits, rest = self.split(body)
        inits = [_Init((*tests, *each.tests), each.body) for each in inits]
        return inits, None if rest is None else with_body(stmt, rest)

    def _seq(self, seq: Seq) -> tuple[list[_Init], Stmt | None]:
        front: list[_Init] = []
        done: list[Stmt] = []
        for part in seq.body:
            inits, rest = self.split(part)
            for init in inits:
                if all(independent(init.stmt, before) for before in done):
                    front.append(init)
                else:
                    done.append(init.stmt)
            done += [] if rest is None else [rest]
        return front, with_parts(seq, done) if done else None

    def _for(self, loop: For) -> tuple[list[_Init], Stmt | None]:
        inits, rest = self.split(loop.body)
        hoisted: list[_Init] = []
        kept: list[_Init] = []
        for number, init in enumerate(inits):
            # Once an initialiser stays, all later ones stay.
            moved = None if kept else self._hoist(loop, init, inits[number + 1 :], rest)
            if moved is None:
                kept.append(init)
            else:
                hoisted.append(moved)
        left = _statements(kept, rest)
        ahead = [each for each in hoisted if any(map(_is_first_iteration, each.tests))]
        ready = [each for each in hoisted if each not in ahead]
        if not all(independent(a.stmt, b.stmt) for a in ahead for b in ready):
            ready, ahead = hoisted, []
        here = [each.stmt for each in ready]
        here += [with_body(loop, sequence(*left))] if left else []
        return ahead, sequence(*here) if here else None

    def _hoist(
        self, loop: For, init: _Init, behind: list[_Init], rest: Stmt | None
    ) -> _Init | None:
        """The initialiser in front of the loop; None if it must stay inside."""
        var = loop.var
        first = equal(var, 0)
        if first in init.tests:
            zero = {var.name: Const(0)}
            tests = [substitute(each, zero) for each in init.tests if each != first]
            least = interval(loop.extent, self.ranges).low
            if least is None or least < 1:
                tests.insert(0, Const(0) < loop.extent)
            return _Init(tuple(tests), substitute_in(init.body, zero))
        if loop.kind is LoopKind.PARALLEL or not all(
            independent_across_iterations(loop, init.stmt, other, self.ranges)
            for other in _statements(behind, rest)
        ):
            return None
        outer = tuple(each for each in init.tests if var.name not in variables(each))
        inner = tuple(each for each in init.tests if var.name in variables(each))
        again = self._fresh(var)
        body = substitute_in(guarded(inner, init.body), {var.name: again})
        return _Init(outer, For(again, loop.extent, loop.kind, body))

    def _fresh(self, var: Var) -> Var:
        """A new variable with the same range."""
        names = (f"{var.name}_{number}" for number in self.numbers)
        name = next(name for name in names if name not in self.ranges)
        self.ranges[name] = self.ranges[var.name]
        return Var(name, var.dtype)


def _statements(inits: Sequence[_Init], rest: Stmt | None) -> list[Stmt]:
    """The statements of initialisers, and then `rest` if there is one."""
    return [*(each.stmt for each in inits), *([] if rest is None else [rest])]


def _is_first_iteration(test: Expr) -> bool:
    """Whether a test is `x == 0` for a variable."""
    names = variables(test)
    return len(names) == 1 and any(test == equal(Var(name), 0) for name in names)
