"""The pass that interleaves the iterations of virtual threads, instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, groupby

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.interval import Ranges, interval
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    Store,
)
from tandem.compiler.ir.visit import (
    loops,
    map_accesses_in,
    map_children,
    sequence,
    substitute_in,
    variables,
    with_body,
)
from tandem.compiler.lower.conditions import conjuncts, guarded
from tandem.compiler.lower.ranges import loop_range
from tandem.compiler.machines.accelerator.lower.instruction_nests import (
    flat,
    is_instruction,
    is_load,
)
from tandem.compiler.te.tree import extent_of


@dataclass(frozen=True, slots=True)
class InterleaveThreads:
    """Moves each loop of virtual threads inwards until it is around single instructions.

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

    Each thread has its own slice of the buffers allocated inside the loop, so that one thread's
    loads can run while another's data is used; buffers from outside are shared. Consecutive
    instructions of a thread stay together, but loads are separate from other instructions. The
    primitive `virtual_thread` has checked that iterations are independent. (TVM, OSDI'18, section
    4.4.)
    """

    name: str = "interleave-threads"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program without virtual threads. `function` must have no blocks."""
        names = {each.var.name for each in loops(function.body)}
        return replace(function, body=_interleaved(function.body, {}, names))


def _variables(var: Var, taken: set[str]) -> Iterator[Var]:
    """A loop's variable, then fresh variables, whose names are added to `taken`."""
    yield var
    for number in count(1):
        name = f"{var.name}_{number}"
        if name not in taken:
            taken.add(name)
            yield Var(name)


def _interleaved(stmt: Stmt, ranges: Ranges, names: set[str]) -> Stmt:
    """The statement with interleaved threads; `names` are the names of all loop variables."""
    if not isinstance(stmt, For):
        return map_children(stmt, lambda child: _interleaved(child, ranges, names))
    inside = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
    body = _interleaved(stmt.body, inside, names)
    if stmt.kind is not LoopKind.VIRTUAL_THREAD:
        return with_body(stmt, body)
    if not isinstance(stmt.extent, Const):
        raise LoweringError(
            f"the number of virtual threads of {stmt.var.name} is no constant: partition the loop"
        )
    return _Sinker(stmt, names, inside).sink(body, ())


class _Sinker:
    """Moves one loop of virtual threads inwards."""

    def __init__(self, loop: For, names: set[str], ranges: Ranges) -> None:
        self._loop, self._vars = loop, _variables(loop.var, names)
        self._ranges = dict(ranges)

    def sink(self, stmt: Stmt, tests: tuple[Expr, ...]) -> Stmt:
        """`stmt` for all threads; `tests` are the conditions around that differ by thread."""
        if is_instruction(stmt):
            return self._around([guarded(tests, stmt)])
        match stmt:
            case Seq() | Alloc():
                return self._sequence(stmt, tests)
            case If(condition=condition, body=body):
                varying = [each for each in conjuncts(condition) if self._differs(each)]
                shared = [each for each in conjuncts(condition) if each not in varying]
                return guarded(shared, self.sink(body, (*tests, *varying)))
            case For():
                return self._into_loop(stmt, tests)
            case Store() | Invoke() | Block():
                raise AssertionError("an instruction, or a block")

    def _sequence(self, stmt: Stmt, tests: tuple[Expr, ...]) -> Stmt:
        """The sequence, with a loop of threads around each run of instructions."""
        buffers, parts = flat(stmt)
        for buffer in buffers:
            if buffer.scope == Scope.GLOBAL:
                raise LoweringError(
                    f"{buffer.name}, allocated inside the virtual threads {self._loop.var.name}, "
                    f"lies in DRAM: allocate it outside"
                )
        slices = [replace(each, shape=(extent_of(self._loop), *each.shape)) for each in buffers]
        for buffer in slices:
            parts = [self._sliced(part, buffer) for part in parts]
        statements = []
        for phase, run in groupby(parts, _phase):
            if phase is None:
                statements += [self.sink(each, tests) for each in run]
            else:
                statements.append(self._around([guarded(tests, each) for each in run]))
        body = sequence(*statements)
        for buffer in reversed(slices):
            body = Alloc(buffer, body)
        return body

    def _into_loop(self, stmt: For, tests: tuple[Expr, ...]) -> Stmt:
        """The loop, with the largest extent of all threads, around the loops of threads."""
        extent = stmt.extent
        if self._differs(extent):
            most = interval(extent, self._ranges).high
            if most is None:
                raise LoweringError(
                    f"the iterations of {stmt.var.name} in the virtual threads "
                    f"{self._loop.var.name} have no bound"
                )
            tests = (*tests, stmt.var < extent)
            extent = index(most)
        self._ranges[stmt.var.name] = loop_range(stmt, self._ranges)
        return replace(stmt, extent=extent, body=self.sink(stmt.body, tests))

    def _around(self, run: list[Stmt]) -> Stmt:
        """An unrolled loop of threads around a run of instructions."""
        var = next(self._vars)
        body = sequence(*run)
        if var is not self._loop.var:
            body = substitute_in(body, {self._loop.var.name: var})
        return For(var, self._loop.extent, LoopKind.UNROLLED, body)

    def _sliced(self, stmt: Stmt, buffer: Buffer) -> Stmt:
        """The statement with accesses to a buffer moved to the thread's slice."""
        thread = self._loop.var
        return map_accesses_in(stmt, {buffer.name}, lambda _, indices: (buffer, (thread, *indices)))

    def _differs(self, expr: Expr) -> bool:
        """Whether an expression differs between threads."""
        return self._loop.var.name in variables(expr)


def _phase(stmt: Stmt) -> bool | None:
    """Whether an instruction is a load; None if a statement is no single instruction."""
    return is_load(stmt) if is_instruction(stmt) else None
