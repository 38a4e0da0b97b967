"""Whether a statement in a tile is what an intrinsic does, and on which boxes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from compiler.errors import IRError
from compiler.ir.buffer import Buffer, Scope
from compiler.ir.expr import Binary, BinaryOp, Cast, Const, Expr, Load, Select, Unary, Var
from compiler.ir.linear import Linear, linear
from compiler.ir.operands import parameters
from compiler.ir.stmt import For, Function, Region, Store
from compiler.ir.visit import substitute, variables

__all__ = ["Mismatch", "match_store", "parted"]

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


class Mismatch(IRError):
    """A statement that is not the intrinsic's."""


def parted(value: Linear, names: Set[str]) -> tuple[Linear, Linear]:
    """The terms that speak of some variables, and the rest with the constant."""
    mine = tuple(each for each in value.terms if variables(each[0]) & names)
    rest = tuple(each for each in value.terms if each not in mine)
    return Linear(mine, 0), Linear(rest, value.constant)


def match_store(
    store: Store, axes: Mapping[str, Linear], intrinsic: Function, tile: tuple[For, ...]
) -> dict[str, Region]:
    """The boxes that stand for the intrinsic's parameters.

    Parameters
    ----------
    store
        The tile's statement, in terms of its block's axes.
    axes
        These axes, in terms of steps and of the tile's loops.
    tile
        The tile's loops, outermost first; as many, with the same extents, as the intrinsic's.

    Raises
    ------
    Mismatch
        Says what is found and what is wanted.
    """
    stmt = intrinsic.body
    renamed: dict[str, Expr] = {}
    for loop in tile:
        assert isinstance(stmt, For)
        renamed[stmt.var.name] = loop.var
        stmt = stmt.body
    if not isinstance(stmt, Store):
        raise Mismatch(f"the behaviour of {intrinsic.name} is no single statement in loops")
    values = {name: value.expr() for name, value in axes.items()}
    matcher = _Matcher(intrinsic, {loop.var.name for loop in tile}, renamed)
    matcher.access(
        store.buffer,
        [substitute(each, values) for each in store.indices],
        stmt.buffer,
        stmt.indices,
    )
    matcher.value(substitute(store.value, values), stmt.value)
    return matcher.regions


@dataclass
class _Matcher:
    intrinsic: Function
    tile: set[str]
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
            case Select(), Select():
                self.value(found.condition, wanted.condition)
                self.value(found.then, wanted.then)
                self.value(found.otherwise, wanted.otherwise)
            case Binary(), Binary() if found.op is wanted.op:
                self._binary(found, wanted)
            case _:
                raise Mismatch(f"{_short(found)} where it has {_short(wanted)}")

    def _binary(self, found: Binary, wanted: Binary) -> None:
        before = dict(self.regions)
        try:
            self.value(found.left, wanted.left)
            self.value(found.right, wanted.right)
        except Mismatch as first:
            if found.op not in _COMMUTE:
                raise
            self.regions = before
            try:
                self.value(found.left, wanted.right)
                self.value(found.right, wanted.left)
            except Mismatch:
                raise first from None

    def access(
        self,
        buffer: Buffer,
        indices: list[Expr],
        parameter: Buffer,
        wanted: tuple[Expr, ...],
    ) -> None:
        """Match two accesses; remember the box, or see that it is the same as before."""
        what = f"{buffer.name} for its {parameter.name}"
        if parameter not in parameters(self.intrinsic):
            raise Mismatch(f"{parameter.name} is no parameter of it")
        if buffer.dtype != parameter.dtype:
            raise Mismatch(f"{what}: {buffer.dtype}, not {parameter.dtype}")
        anywhere = parameter.scope == Scope.GLOBAL and buffer.scope == Scope.LOCAL
        if buffer.scope != parameter.scope and not anywhere:
            raise Mismatch(f"{what}: in {buffer.scope.value}, not in {parameter.scope.value}")
        region = self._region(what, buffer, indices, parameter, wanted)
        if self.regions.setdefault(parameter.name, region) != region:
            raise Mismatch(f"{what}: another box than before")

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
        for each in indices:
            inner, outer = parted(linear(each), self.tile)
            if any(variables(atom) & self.tile for atom, _ in outer.terms) or any(
                not isinstance(atom, Var) for atom, _ in inner.terms
            ):
                raise Mismatch(f"{what}: an index is no sum of loops")
            lower.append(outer.expr())
            if not inner.terms:
                shape.append(1)
                continue
            if not left or left[0] != inner:
                raise Mismatch(f"{what}: indexed along other loops")
            left.pop(0)
            shape.append(extents.pop(0))
        if left:
            raise Mismatch(f"{what}: indexed along fewer loops")
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
