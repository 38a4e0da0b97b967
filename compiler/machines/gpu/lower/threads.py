"""From loops over threads that follow each other to what one thread does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import Alloc, For, If, LoopKind, Seq, Stmt
from tandem.compiler.ir.visit import (
    loops,
    map_accesses_in,
    sequence,
    statements,
    substitute_in,
    with_body,
)
from tandem.compiler.lower.conditions import guarded
from tandem.compiler.machines.gpu.launch import BLOCK, SHARED, THREAD


@dataclass(frozen=True, slots=True)
class Threaded:
    """What one thread does, still without barriers.

    Attributes
    ----------
    uniform
        The names of the loops that all threads of a block run alike, around statements that threads
        divide among them.
    shared
        The buffers that the threads of a block share.
    near
        Buffers of one thread that outlast a loop over threads: of each element, all threads of a
        block would have a copy.
    """

    blocks: int
    threads: int
    body: Stmt
    uniform: frozenset[str]
    shared: tuple[Buffer, ...]
    near: tuple[Buffer, ...]


def threaded(name: str, nest: Stmt) -> Threaded:
    """One nest of a lowered program, as what one of its threads does.

    Before::

        for C.i in 4 blocks:
          alloc A_shared: float32[8] @ shared
          for A_shared.i in 8 threads:
            A_shared[A_shared.i] = A[C.i * 8 + A_shared.i]
          for C.j in 4 threads:
            C[C.i, C.j] = A_shared[C.j * 2]

    After, with A_shared among the shared buffers::

        A_shared[gpu.thread] = A[gpu.block * 8 + gpu.thread]
        if gpu.thread < 4:
          C[gpu.block, gpu.thread] = A_shared[gpu.thread * 2]

    Nested loops over threads become one number, of which the innermost loop is the last digit. What
    lies in no loop over threads is done by thread 0.

    Raises
    ------
    LoweringError
        A loop over blocks lies elsewhere than around all, loops over threads are not directly
        inside each other, or a buffer lies in a memory that its place does not have.
    """
    loops_over_blocks, rest = _bound_loops(nest, LoopKind.BLOCKS)
    for loop in loops(rest):
        if loop.kind is LoopKind.BLOCKS:
            raise LoweringError(f"{name}: {loop.var.name} is over blocks, and not outermost")
    counts = [_extent(name, each) for each in loops_over_blocks]
    rest = substitute_in(rest, _digits(BLOCK, loops_over_blocks, counts))
    maker = _Maker(name)
    body = maker.uniformly(rest, (), ())
    total = 1
    for count in counts:
        total *= count
    return Threaded(
        total,
        max(maker.threads, 1),
        body,
        frozenset(maker.uniform),
        tuple(maker.shared),
        tuple(maker.near),
    )


def _bound_loops(stmt: Stmt, kind: LoopKind) -> tuple[list[For], Stmt]:
    """The loops of a kind that lie directly inside each other, outermost first, and their body."""
    found = []
    while isinstance(stmt, For) and stmt.kind is kind:
        found.append(stmt)
        stmt = stmt.body
    return found, stmt


def _extent(name: str, loop: For) -> int:
    if not isinstance(loop.extent, Const):
        raise LoweringError(f"{name}: the extent of {loop.var.name} is not constant")
    return int(loop.extent.value)


def _digits(number: Var, around: Sequence[For], counts: Sequence[int]) -> dict[str, Expr]:
    """The variables of nested loops as digits of one number."""
    values: dict[str, Expr] = {}
    left: Expr = number
    for loop, count in zip(reversed(around), reversed(counts), strict=True):
        outermost = loop is around[0]
        values[loop.var.name] = left if outermost else left % index(max(count, 1))
        left = left // index(max(count, 1))
    return values


def _divides(stmt: Stmt) -> bool:
    """Whether there is a loop over threads in a statement."""
    return any(each.kind is LoopKind.THREADS for each in loops(stmt))


def _shares(stmt: Stmt) -> bool:
    """Whether a statement allocates shared memory."""
    return any(isinstance(each, Alloc) and each.buffer.scope == SHARED for each in statements(stmt))


@dataclass
class _Maker:
    name: str
    threads: int = 0
    uniform: set[str] = field(default_factory=set)
    shared: list[Buffer] = field(default_factory=list)
    near: list[Buffer] = field(default_factory=list)

    def uniformly(self, stmt: Stmt, tests: tuple[Expr, ...], around: tuple[For, ...]) -> Stmt:
        """A statement that all threads come to. Conditions go inwards, to `tests`, so that barriers
        lie under none."""
        match stmt:
            case Seq(body=body):
                return sequence(*(self.uniformly(each, tests, around) for each in body))
            case If(condition=condition, body=body):
                return self.uniformly(body, (*tests, condition), around)
            case Alloc(buffer=buffer) if buffer.scope == SHARED:
                return self._shared(stmt, tests, around)
            case Alloc(buffer=buffer, body=body) if _divides(body) or _shares(body):
                if buffer.scope != Scope.LOCAL:
                    self._fail(
                        f"{buffer.name} of a block lies in {buffer.scope.value}: "
                        f"{SHARED.value} and {Scope.LOCAL.value} are there"
                    )
                self.near.append(buffer)
                return Alloc(buffer, self.uniformly(body, tests, around))
            case For(kind=LoopKind.THREADS):
                return self._divided(stmt, tests)
            case For() if _divides(stmt) or _shares(stmt):
                _extent(self.name, stmt)
                if stmt.kind not in (LoopKind.SERIAL, LoopKind.UNROLLED):
                    self._fail(f"{stmt.var.name}, {stmt.kind.value}, has loops over threads inside")
                self.uniform.add(stmt.var.name)
                return with_body(stmt, self.uniformly(stmt.body, tests, (*around, stmt)))
            case _:
                self._private(stmt)
                self.threads = max(self.threads, 1)
                return guarded((THREAD < index(1), *tests), stmt)

    def _shared(self, stmt: Alloc, tests: tuple[Expr, ...], around: tuple[For, ...]) -> Stmt:
        """What is inside an allocation of shared memory, which is the block's. Its slots are a
        dimension, in which the loop around goes around."""
        buffer, body = stmt.buffer, stmt.body
        if around and buffer.slots > 1:
            slot = around[-1].var % index(buffer.slots)
            whole = replace(buffer, shape=(buffer.slots, *buffer.shape), slots=1)
        else:
            slot, whole = None, replace(buffer, slots=1)
        self.shared.append(whole)

        def moved(_: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
            return whole, indices if slot is None else (slot, *indices)

        return self.uniformly(map_accesses_in(body, {buffer.name}, moved), tests, around)

    def _divided(self, stmt: For, tests: tuple[Expr, ...]) -> Stmt:
        """Nested loops over threads, as what one thread does in them."""
        around, body = _bound_loops(stmt, LoopKind.THREADS)
        if _divides(body):
            names = ", ".join(each.var.name for each in around)
            self._fail(f"loops over threads in {names}, which do not lie directly inside")
        self._private(body)
        counts = [_extent(self.name, each) for each in around]
        total = 1
        for count in counts:
            total *= count
        self.threads = max(self.threads, total)
        body = substitute_in(body, _digits(THREAD, around, counts))
        # Whether it is all threads is known at the end: a condition that always holds goes then.
        return guarded((THREAD < index(total), *tests), body)

    def _private(self, stmt: Stmt) -> None:
        """Refuse allocations inside one thread that are not of its own memory."""
        for buffer in _allocated(stmt):
            if buffer.scope != Scope.LOCAL:
                self._fail(
                    f"{buffer.name} of a thread lies in {buffer.scope.value}: {Scope.LOCAL.value} "
                    "is there"
                )

    def _fail(self, reason: str) -> None:
        raise LoweringError(f"{self.name}: {reason}")


def _allocated(stmt: Stmt) -> Iterator[Buffer]:
    return (each.buffer for each in statements(stmt) if isinstance(each, Alloc))
