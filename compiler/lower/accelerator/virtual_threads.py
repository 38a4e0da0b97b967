"""Virtual threads become one stream: their turns are interleaved, instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, groupby

from compiler.errors import LoweringError
from compiler.ir.buffer import Buffer, Scope
from compiler.ir.expr import Const, Expr, Var
from compiler.ir.interval import Ranges, interval
from compiler.ir.ops import index
from compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    Function,
    If,
    Invoke,
    LoopKind,
    Seq,
    Stmt,
    Store,
)
from compiler.ir.visit import (
    loops,
    map_accesses_in,
    map_children,
    sequence,
    substitute_in,
    variables,
    with_body,
)
from compiler.lower.accelerator.instruction_nests import flat, is_instruction, is_load
from compiler.lower.conditions import guarded, parts
from compiler.lower.ranges import loop_range
from compiler.te.tree import extent_of

__all__ = ["InterleaveThreads"]


@dataclass(frozen=True, slots=True)
class InterleaveThreads:
    """A loop of virtual threads moves inwards, around each instruction.

    Before::

        for C.t in 2 virtual_thread:
          alloc A: int8[8, 16] @ inp
          for C.k in 4:
            for A.i in 8: ...                  load A
            for C.i in 8: ...                  use A

    After::

        alloc A: int8[2, 8, 16] @ inp
        for C.k in 4:
          for C.t in 2 unrolled:
            for A.i in 8: ...                  load A[C.t]
          for C.t_1 in 2 unrolled:
            for C.i in 8: ...                  use A[C.t_1]

    Each thread has its own slice of what is allocated inside the loop; so one thread's loads can
    run while the other's data is used. What lies outside is shared. Instructions of a thread that
    follow each other stay together, loads and all else apart. Turns were found independent when
    the loop was bound (primitive `virtual_thread`). (TVM, OSDI'18, section 4.4.)
    """

    name: str = "interleave-threads"

    def apply(self, function: Function) -> Function:
        """The program without virtual threads. It must have no blocks."""
        names = {each.var.name for each in loops(function.body)}
        return replace(function, body=_interleaved(function.body, {}, names))


def _copies(var: Var, taken: set[str]) -> Iterator[Var]:
    """A loop's own variable, then others with names that are not `taken`, and are from then on."""
    yield var
    for number in count(1):
        name = f"{var.name}_{number}"
        if name not in taken:
            taken.add(name)
            yield Var(name)


def _interleaved(stmt: Stmt, ranges: Ranges, names: set[str]) -> Stmt:
    """Innermost threads first. `names`: those of all loops, to which copies add theirs."""
    if not isinstance(stmt, For):
        return map_children(stmt, lambda each: _interleaved(each, ranges, names))
    inside = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
    body = _interleaved(stmt.body, inside, names)
    if stmt.kind is not LoopKind.VIRTUAL_THREAD:
        return with_body(stmt, body)
    if not isinstance(stmt.extent, Const):
        raise LoweringError(
            f"the number of virtual threads of {stmt.var.name} is no constant: partition the loop"
        )
    return _Pusher(stmt, names, inside).push(body, ())


class _Pusher:
    """Moves one loop inwards."""

    def __init__(self, loop: For, names: set[str], ranges: Ranges) -> None:
        self._loop, self._vars = loop, _copies(loop.var, names)
        self._ranges = dict(ranges)

    def push(self, stmt: Stmt, tests: tuple[Expr, ...]) -> Stmt:
        """`stmt` for all threads; `tests` are conditions around it that differ between them."""
        if is_instruction(stmt):
            return self._around([guarded(tests, stmt)])
        match stmt:
            case Seq() | Alloc():
                return self._sequence(stmt, tests)
            case If(condition=condition, body=body):
                mine = [each for each in parts(condition) if self._differs(each)]
                shared = [each for each in parts(condition) if each not in mine]
                return guarded(shared, self.push(body, (*tests, *mine)))
            case For():
                return self._loop_of(stmt, tests)
            case Store() | Invoke() | Block():
                raise AssertionError("an instruction, or a block")

    def _sequence(self, stmt: Stmt, tests: tuple[Expr, ...]) -> Stmt:
        """Runs of instructions that a thread does at a time, and loops between them."""
        buffers, parts_of_it = flat(stmt)
        for buffer in buffers:
            if buffer.scope == Scope.GLOBAL:
                raise LoweringError(
                    f"{buffer.name}, allocated inside the virtual threads {self._loop.var.name}, "
                    f"lies in DRAM: allocate it outside"
                )
        slices = [replace(each, shape=(extent_of(self._loop), *each.shape)) for each in buffers]
        for each in slices:
            parts_of_it = [self._sliced(part, each) for part in parts_of_it]
        done = []
        for phase, run in groupby(parts_of_it, _phase):
            if phase is None:
                done += [self.push(each, tests) for each in run]
            else:
                done.append(self._around([guarded(tests, each) for each in run]))
        body = sequence(*done)
        for each in reversed(slices):
            body = Alloc(each, body)
        return body

    def _loop_of(self, stmt: For, tests: tuple[Expr, ...]) -> Stmt:
        extent = stmt.extent
        if self._differs(extent):
            most = interval(extent, self._ranges).high
            if most is None:
                raise LoweringError(
                    f"the turns of {stmt.var.name} in the virtual threads {self._loop.var.name} "
                    f"have no bound"
                )
            tests = (*tests, stmt.var < extent)
            extent = index(most)
        self._ranges[stmt.var.name] = loop_range(stmt, self._ranges)
        return replace(stmt, extent=extent, body=self.push(stmt.body, tests))

    def _around(self, run: list[Stmt]) -> Stmt:
        var = next(self._vars)
        body = sequence(*run)
        if var is not self._loop.var:
            body = substitute_in(body, {self._loop.var.name: var})
        return For(var, self._loop.extent, LoopKind.UNROLLED, body)

    def _sliced(self, stmt: Stmt, buffer: Buffer) -> Stmt:
        """Uses of a buffer, as uses of the thread's slice of it."""
        thread = self._loop.var
        return map_accesses_in(stmt, {buffer.name}, lambda _, indices: (buffer, (thread, *indices)))

    def _differs(self, expr: Expr) -> bool:
        return self._loop.var.name in variables(expr)


def _phase(stmt: Stmt) -> bool | None:
    """Whether an instruction loads; None where a statement is more than an instruction."""
    return is_load(stmt) if is_instruction(stmt) else None
