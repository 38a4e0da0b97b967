"""Loop nests around a single instruction: detection, and iterations as boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Expr, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Alloc, For, If, Invoke, LoopKind, Seq, Stmt, Store
from tandem.compiler.ir.visit import children, variables, with_body
from tandem.compiler.lower.conditions import conjuncts
from tandem.compiler.lower.hoist_conditions import hoisted
from tandem.compiler.lower.tighten_loops import shorter_loops
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.index_sums import Env, IndexSum
from tandem.compiler.te.tree import written_by

Box = dict[str, tuple[int, int]]
"""By loop variable, the first iteration and one past the last."""


def is_instruction(stmt: Stmt) -> bool:
    """Whether a statement is loops and conditions around a single copy or tensor instruction, or
    around an initialiser of what that instruction updates and the instruction.

    Unrolled loops are never part of an instruction: each iteration is an instruction of its own.
    """
    names = set[str]()
    while isinstance(stmt, For | If):
        if isinstance(stmt, For):
            if stmt.kind is not LoopKind.SERIAL:
                return False
            names.add(stmt.var.name)
        stmt = stmt.body
    return isinstance(stmt, Store | Invoke) or _initialises(stmt, names)


def _initialises(stmt: Stmt, names: set[str]) -> bool:
    """Whether a statement in loops is an initialiser and an update of the same element, of which
    the initialiser executes in the first iteration of each loop that leads to no other element.

    Then all elements may be initialised before the first update.
    """
    match stmt:
        case Seq(body=(first, update)):
            (tests, init), (_, term) = _tested(first), _tested(update)
        case _:
            return False
    if not (isinstance(init, Invoke) and isinstance(term, Invoke)):
        return False
    once = frozenset[str]().union(*map(variables, tests))
    indices = (index for element in init.results for index in element.lower)
    along = frozenset[str]().union(*map(variables, indices))
    return (
        not init.intrinsic.inputs
        and init.results == term.results
        and all(map(_is_first_iteration, tests))
        and all((name in once) != (name in along) for name in names)
    )


def _is_first_iteration(test: Expr) -> bool:
    """Whether a test is `sum == 0`, of loops with positive factors."""
    if not isinstance(test, Binary) or test.op is not BinaryOp.EQ or test.left.dtype != INDEX:
        return False
    total = linear(test.left) - linear(test.right)
    terms = all(isinstance(atom, Var) and factor > 0 for atom, factor in total.terms)
    return terms and not total.constant


def _tested(stmt: Stmt) -> tuple[tuple[Expr, ...], Stmt]:
    """The conditions around a statement, and the statement in them."""
    tests: tuple[Expr, ...] = ()
    while isinstance(stmt, If):
        tests, stmt = (*tests, *conjuncts(stmt.condition)), stmt.body
    return tests, stmt


def leaf(stmt: Stmt) -> Store | Invoke:
    """The store or intrinsic inside of an instruction's loops; not the one that initialises."""
    while not isinstance(stmt, Store | Invoke):
        assert isinstance(stmt, For | If | Seq), "an instruction"
        stmt = stmt.body[-1] if isinstance(stmt, Seq) else stmt.body
    return stmt


def is_load(stmt: Stmt) -> bool:
    """Whether the load unit executes an instruction."""
    inner = leaf(stmt)
    on_chip = OnChip.INP, OnChip.WGT, OnChip.PAR
    return isinstance(inner, Store) and inner.buffer.scope in on_chip


def flat(stmt: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """The buffers that a sequence allocates, and its other statements in order."""
    match stmt:
        case Alloc(buffer=buffer, body=body):
            buffers, parts = flat(body)
            return [buffer, *buffers], parts
        case Seq(body=body):
            buffers, parts = [], []
            for stmt in body:
                more_buffers, more_parts = flat(stmt)
                buffers += more_buffers
                parts += more_parts
            return buffers, parts
        case _:
            return [], [stmt]


def written_whole(buffer: Buffer, body: Stmt) -> bool:
    """Whether one instruction writes all elements of a buffer that are read, in each lifetime.

    Between the allocation and that instruction there may only be loops of virtual threads, each
    with its own slice: elements that the instruction leaves out are never written.
    """
    writers = [each for each in _instructions(body, ()) if buffer.name in written_by(each[0])]
    if len(writers) != 1:
        return False
    stmt, around = writers[0]
    store = leaf(stmt)
    return (
        isinstance(store, Store)
        and all(each.kind is LoopKind.UNROLLED for each in around)
        and {each.var for each in around} == set(store.indices[: len(around)])
    )


def _instructions(stmt: Stmt, around: tuple[For, ...]) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """Every instruction with the loops around it."""
    if is_instruction(stmt):
        yield stmt, around
    else:
        inside = (*around, stmt) if isinstance(stmt, For) else around
        for child in children(stmt):
            yield from _instructions(child, inside)


@dataclass(frozen=True, slots=True)
class Conditions:
    """A conjunction of conditions, each as a sum that must be at least 0."""

    sums: tuple[IndexSum, ...]

    @staticmethod
    def of(conditions: tuple[Expr, ...]) -> Conditions:
        """The sums of conditions on indices. Raises `LoweringError` for any other condition."""
        return Conditions(tuple(each for test in conditions for each in _sums(test)))


NEVER = Conditions((IndexSum((), (), -1),))
"""A condition that holds in no iteration."""


def _sums(test: Expr) -> tuple[IndexSum, ...]:
    if isinstance(test, Binary) and test.left.dtype == INDEX:
        slack = linear(test.right) - linear(test.left)
        match test.op:
            case BinaryOp.LT:
                return (IndexSum.of(slack.shifted(-1)),)
            case BinaryOp.LE:
                return (IndexSum.of(slack),)
            case BinaryOp.EQ:
                return IndexSum.of(slack), IndexSum.of(slack.times(-1))
            case _:
                pass
    raise LoweringError(f"the condition {text(test)} is no comparison of sums of loops")


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops around a copy or a tensor instruction.

    Attributes
    ----------
    loops
        Variables and extents, outermost first.
    tests
        Conditions under which an iteration executes.
    unrolled
        Loops that extents depend on, or in which tests are not linear.
    first
        The nest of the initialiser, where there is one.
    """

    loops: tuple[tuple[str, IndexSum], ...]
    tests: Conditions
    leaf: Store | Invoke
    unrolled: frozenset[str]
    first: Nest | None = None

    @staticmethod
    def of(stmt: Stmt) -> Nest:
        """The nest of an instruction (see `is_instruction`)."""
        loops: list[tuple[str, Expr]] = []
        tests: tuple[Expr, ...] = ()
        around: list[For | If] = []
        while not isinstance(stmt, Store | Invoke):
            match stmt:
                case For(var=var, extent=extent):
                    loops.append((var.name, extent))
                case If(condition=condition):
                    tests = (*tests, *conjuncts(condition))
                case Seq(body=(init, update)):
                    first = Nest.of(_alone(around, init))
                    return replace(Nest.of(_alone(around, update)), first=first)
                case _:
                    raise AssertionError("no instruction")
            around.append(stmt)
            stmt = stmt.body
        names = frozenset(name for name, _ in loops)
        # Extents that depend on loops of the same instruction.
        unrolled = frozenset[str]().union(*(variables(extent) & names for _, extent in loops))
        conditions = Conditions.of(tests)
        unrolled = unrolled.union(*(each.nonlinear_in(names) for each in conditions.sums))
        extents = tuple((name, IndexSum.of(extent)) for name, extent in loops)
        return Nest(extents, conditions, stmt, unrolled)

    @property
    def names(self) -> frozenset[str]:
        """The variables of the loops."""
        return frozenset(name for name, _ in self.loops)

    @property
    def around(self) -> frozenset[str]:
        """The variables of loops around the nest that extents and tests depend on."""
        sums = (*(extent for _, extent in self.loops), *self.tests.sums)
        return frozenset[str]().union(*(each.names for each in sums)) - self.names

    def boxes(self, env: Env, more: frozenset[str] = frozenset()) -> Iterator[tuple[Env, Box]]:
        """The iterations as boxes, each with `env` extended by the values of unrolled loops.

        `more` are loops to unroll besides `unrolled`.
        """
        yield from self._boxes(dict(env), {}, 0, self.unrolled | more)

    def _boxes(
        self, env: dict[str, int], box: Box, depth: int, unrolled: frozenset[str]
    ) -> Iterator[tuple[Env, Box]]:
        if depth == len(self.loops):
            yield from within(self.tests, env, box)
            return
        name, sum_ = self.loops[depth]
        extent, _ = sum_.at(env)
        if name in unrolled:
            for value in range(extent):
                yield from self._boxes({**env, name: value}, box, depth + 1, unrolled)
        elif extent > 0:
            yield from self._boxes(env, {**box, name: (0, extent)}, depth + 1, unrolled)


def _alone(around: Sequence[For | If], part: Stmt) -> Stmt:
    """A part of an instruction in loops of its own, which end where its conditions say."""
    for outer in reversed(around):
        part = with_body(outer, part)
    return shorter_loops(hoisted(part))


def within(tests: Conditions, env: Env, box: Box) -> Iterator[tuple[Env, Box]]:
    """The parts of a box in which all tests hold, as boxes."""
    box = dict(box)
    coupled: dict[str, int] | None = None
    for total in tests.sums:
        known, factors = total.at(env)
        if not factors:
            if known < 0:
                return
        elif len(factors) == 1:
            ((name, factor),) = factors.items()
            low, high = box[name]
            # factor * v + known >= 0
            if factor > 0:
                low = max(low, -(known // factor))
            else:
                high = min(high, known // -factor + 1)
            if low >= high:
                return
            box[name] = low, high
        elif coupled is None and _may_fail(known, factors, box):
            coupled = factors
    if coupled is None:
        yield env, box
        return
    # A condition on several loops: unroll the shortest loop.
    name = min(coupled, key=lambda loop: box[loop][1] - box[loop][0])
    low, high = box.pop(name)
    for value in range(low, high):
        yield from within(tests, {**env, name: value}, box)


def _may_fail(known: int, left: dict[str, int], box: Box) -> bool:
    minimum = known
    for name, factor in left.items():
        low, high = box[name]
        minimum += factor * (low if factor > 0 else high - 1)
    return minimum < 0
