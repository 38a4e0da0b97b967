"""tensorize: a tile of loops becomes one call of a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.simplify import simplify
from tandem.compiler.ir.stmt import (
    Block,
    BlockIter,
    For,
    If,
    Invoke,
    IterKind,
    LoopKind,
    PrimFunc,
    Region,
    Stmt,
    Store,
    parameters,
)
from tandem.compiler.ir.visit import blocks, loops, substitute, variables
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import extent_of, loops_on_path, path_to, replace_loop


@dataclass(frozen=True, slots=True)
class Tensorize(Primitive):
    """Replace a loop and all inside it by an equivalent tensor intrinsic.

        for C.i in 16:                       block C(i < 4 = C.i_o):
          for C.k in 4:               ->       invoke dot(C[i * 16 :+ 16], A[0 :+ 4], ...)
            block C(i = C.i_o * 16 + C.i, k = C.k): ...

    The loops and the statement must be those of the intrinsic's behaviour, up to the order of
    operands that commute; refused on any difference. A reduction that initialises itself needs a
    second intrinsic for that, `initialise`, whose loops are the tile's over elements. (TVM:
    `tensorize`, whose intrinsics have a body, a reset and an update; TensorIR, section 4.1.)
    """

    stage: str
    axis: str
    intrinsic: PrimFunc
    initialise: PrimFunc | None = None

    name: ClassVar[str] = "tensorize"

    def apply(self, program: PrimFunc) -> PrimFunc:
        loop = self.loop(program.body, self.stage, self.axis)
        block = self.block_of(program.body, self.stage)
        others = [each.name for each in blocks(loop) if each.name != self.stage]
        path = path_to(loop, block)
        if not path or others:
            self.refuse(f"inside {loop.var.name} lies {', '.join(others) or 'another stage'}")
        tile = loops_on_path(path)
        if len(tile) != len(path) - 1:
            self.refuse(f"between {loop.var.name} and {self.stage} lies more than loops")
        self._check_whole(tile, *block.guard)
        iters, inside = self._iters(block, tile)
        if isinstance(block.body, If):
            values = {name: value.expr() for name, value in inside.items()}
            test = substitute(block.body.condition, values)
            self._check_whole(tile, test)
            body: Stmt = If(test, self._invoke(block.body.body, inside, self.intrinsic, tile))
        else:
            body = self._invoke(block.body, inside, self.intrinsic, tile)
        new = Block(self.stage, iters, block.guard, self._init(block, inside, tile), body)
        return replace(program, body=replace_loop(program.body, loop.var.name, lambda _: new))

    def _init(
        self, block: Block, inside: Mapping[str, Linear], tile: tuple[For, ...]
    ) -> Invoke | None:
        """The initialiser as an intrinsic, over those loops of the tile that do not reduce."""
        if block.init is None:
            if self.initialise is not None:
                self.refuse(f"{self.stage} has no initialiser, for {self.initialise.name}")
            return None
        if self.initialise is None:
            self.refuse(
                f"{self.stage} is initialised in the tile: name an intrinsic that does it, or "
                f"decompose_reduction first"
            )
        reducing = [each.value for each in block.axes(IterKind.REDUCE)]
        over = frozenset[str]().union(*map(variables, reducing))
        elements = tuple(each for each in tile if each.var.name not in over)
        return self._invoke(block.init, inside, self.initialise, elements)

    def _invoke(
        self, stmt: Stmt, inside: Mapping[str, Linear], intrinsic: PrimFunc, tile: tuple[For, ...]
    ) -> Invoke:
        """An invocation in place of the tile's loops around a statement of the block."""
        if not isinstance(stmt, Store):
            self.refuse(f"{self.stage} is tensorized already")
        self._check_loops(tile, intrinsic)
        try:
            regions = _match_store(stmt, inside, intrinsic, tile)
        except _Mismatch as error:
            self.refuse(f"{intrinsic.name} does something else: {error}")
        names = [each.name for each in parameters(intrinsic)]
        if missing := [name for name in names if name not in regions]:
            self.refuse(f"{intrinsic.name} never uses {', '.join(missing)}")
        return Invoke(intrinsic, tuple(regions[name] for name in names))

    def _check_whole(self, tile: tuple[For, ...], *tests: Expr) -> None:
        names = {each.var.name for each in tile}
        if any(variables(each) & names for each in tests):
            self.refuse(f"the tile is not always whole: {self.stage} is guarded inside it")

    def _check_loops(self, tile: tuple[For, ...], intrinsic: PrimFunc) -> None:
        wanted = [extent_of(each) for each in loops(intrinsic.body)]
        found = [extent_of(each) for each in tile]
        if found != wanted:
            self.refuse(
                f"loops {', '.join(each.var.name for each in tile)} have {found} iterations; "
                f"those of {intrinsic.name} have {wanted}"
            )
        for loop in tile:
            if loop.kind is not LoopKind.SERIAL:
                self.refuse(f"loop {loop.var.name} is {loop.kind.value}")

    def _iters(
        self, block: Block, tile: tuple[For, ...]
    ) -> tuple[tuple[BlockIter, ...], dict[str, Linear]]:
        """The new axes, which count tiles; and the old axes in terms of new axes and tile loops."""
        extents = {each.var.name: extent_of(each) for each in tile}
        iters, values = [], {}
        for axis in block.iters:
            name = axis.var.name
            inner, outer = _split_terms(linear(axis.value), set(extents))
            step = 1
            for atom, factor in inner.terms:
                if not isinstance(atom, Var) or factor < 0:
                    self.refuse(f"axis {name} of {block.name} is no sum of tile loops")
                step += factor * (extents[atom.name] - 1)
            start, rest = outer.split(step)
            if rest.terms or rest.constant % step:
                self.refuse(f"tiles of axis {name} do not start at multiples of {step}")
            if axis.extent % step:
                self.refuse(f"axis {name} has {axis.extent} points, no multiple of {step}")
            start = start.shifted(rest.constant // step)
            iters.append(replace(axis, extent=axis.extent // step, value=start.expr()))
            values[name] = linear(axis.var * step + inner.expr())
        return tuple(iters), values


_COMMUTE = (
    BinaryOp.ADD,
    BinaryOp.MUL,
    BinaryOp.MIN,
    BinaryOp.MAX,
    BinaryOp.AND,
    BinaryOp.OR,
    BinaryOp.XOR,
    BinaryOp.EQ,
    BinaryOp.NE,
)


class _Mismatch(IRError):
    """Raised where a statement differs from the intrinsic's statement."""


def _split_terms(value: Linear, names: Set[str]) -> tuple[Linear, Linear]:
    """The terms that mention some variables, and the rest with the constant."""
    inner = Linear(tuple(term for term in value.terms if variables(term[0]) & names))
    return inner, value - inner


def _match_store(
    store: Store, axes: Mapping[str, Linear], intrinsic: PrimFunc, tile: tuple[For, ...]
) -> dict[str, Region]:
    """Return the boxes that are operands of the intrinsic, by the names of its parameters.

    Parameters
    ----------
    store
        The tile's statement, in terms of its block's axes.
    axes
        The values of these axes, in terms of the new axes and of the tile's loops.
    tile
        The tile's loops, outermost first; as many as the intrinsic's, with the same extents.

    Raises
    ------
    _Mismatch
        Names the expression found and the intrinsic's expression.
    """
    stmt = intrinsic.body
    renamed: dict[str, Expr] = {}
    for loop in tile:
        assert isinstance(stmt, For)
        renamed[stmt.var.name] = loop.var
        stmt = stmt.body
    if not isinstance(stmt, Store):
        raise _Mismatch(f"the behaviour of {intrinsic.name} is no single store in loops")
    values = {name: value.expr() for name, value in axes.items()}
    ranges = {loop.var.name: Interval(0, extent_of(loop) - 1) for loop in tile}
    matcher = _Matcher(intrinsic, ranges, renamed)
    indices = [substitute(index, values) for index in store.indices]
    matcher.access(store.buffer, indices, stmt.buffer, stmt.indices)
    matcher.value(substitute(store.value, values), stmt.value)
    return matcher.regions


@dataclass
class _Matcher:
    intrinsic: PrimFunc
    ranges: Ranges
    """Of the tile's loops."""
    renamed: dict[str, Expr]
    regions: dict[str, Region] = field(default_factory=dict)

    def value(self, found: Expr, wanted: Expr) -> None:
        """Match two expressions, node by node."""
        match found, wanted:
            case Load(), Load():
                self.access(found.buffer, list(found.indices), wanted.buffer, wanted.indices)
            case Const(), Const() if found == wanted:
                pass
            case Unary(), Unary() if found.op is wanted.op:
                self.value(found.operand, wanted.operand)
            case Cast(), Cast() if found.dtype == wanted.dtype:
                self.value(found.operand, wanted.operand)
            case Reinterpret(), Reinterpret() if found.dtype == wanted.dtype:
                self.value(found.operand, wanted.operand)
            case Select(), Select():
                self.value(found.condition, wanted.condition)
                self.value(found.then, wanted.then)
                self.value(found.otherwise, wanted.otherwise)
            case Binary(), Binary() if found.op is wanted.op:
                self._binary(found, wanted)
            case _:
                raise _Mismatch(f"{_short(found)} where it has {_short(wanted)}")

    def _binary(self, found: Binary, wanted: Binary) -> None:
        before = dict(self.regions)
        try:
            self.value(found.left, wanted.left)
            self.value(found.right, wanted.right)
        except _Mismatch as first:
            if found.op not in _COMMUTE:
                raise
            self.regions = before
            try:
                self.value(found.left, wanted.right)
                self.value(found.right, wanted.left)
            except _Mismatch:
                raise first from None

    def access(
        self, buffer: Buffer, indices: list[Expr], parameter: Buffer, wanted: tuple[Expr, ...]
    ) -> None:
        """Match two accesses; a parameter has the same box in all of its accesses."""
        what = f"{buffer.name} for its {parameter.name}"
        if parameter not in parameters(self.intrinsic):
            raise _Mismatch(f"{parameter.name} is no parameter of it")
        if buffer.dtype != parameter.dtype:
            raise _Mismatch(f"{what}: {buffer.dtype}, not {parameter.dtype}")
        anywhere = parameter.scope == Scope.GLOBAL and buffer.scope == Scope.LOCAL
        if buffer.scope != parameter.scope and not anywhere:
            raise _Mismatch(f"{what}: in {buffer.scope.value}, not in {parameter.scope.value}")
        region = self._region(what, buffer, indices, parameter, wanted)
        if self.regions.setdefault(parameter.name, region) != region:
            raise _Mismatch(f"{what}: another box than before")

    def _region(
        self,
        what: str,
        buffer: Buffer,
        indices: list[Expr],
        parameter: Buffer,
        wanted: tuple[Expr, ...],
    ) -> Region:
        left = [linear(substitute(each, self.renamed)) for each in wanted]
        extents = list(parameter.shape)
        lower, shape = [], []
        tile = self.ranges.keys()
        for index in indices:
            inner, outer = _split_terms(linear(index), tile)
            if not all(isinstance(atom, Var) for atom, _ in inner.terms):
                # Quotients and remainders of layouts, which are parts of the tile.
                inner, outer = _split_terms(linear(simplify(index, self.ranges)), tile)
            if any(variables(atom) & tile for atom, _ in outer.terms) or any(
                not isinstance(atom, Var) for atom, _ in inner.terms
            ):
                raise _Mismatch(f"{what}: an index is no sum of loops")
            lower.append(outer.expr())
            if not inner.terms:
                shape.append(1)
                continue
            if not left or left[0] != inner:
                raise _Mismatch(f"{what}: indexed along other loops")
            left.pop(0)
            shape.append(extents.pop(0))
        if left:
            raise _Mismatch(f"{what}: indexed along fewer loops")
        return Region(buffer, tuple(lower), tuple(shape))


def _short(expr: Expr) -> str:
    match expr:
        case Load(buffer=buffer):
            return f"an element of {buffer.name} ({buffer.dtype})"
        case Binary(op=op) | Unary(op=op):
            return f"{op.value} of {expr.dtype}"
        case Cast():
            return f"a cast to {expr.dtype}"
        case _:
            return f"{type(expr).__name__.lower()} of {expr.dtype}"
