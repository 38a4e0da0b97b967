"""Bounding boxes, of constant shape, of the elements that loop iterations access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeAlias

from tandem.compiler.errors import IRError
from tandem.compiler.ir.divisions import DivisionSimplifier, match_division
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Const, Expr
from tandem.compiler.ir.interval import Ranges, depends_on_data
from tandem.compiler.ir.linear import Linear
from tandem.compiler.ir.linear_ops import binary_sum, flatten_operands
from tandem.compiler.ir.normal import Normaliser
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.visit import variables


class UnboundedBoxError(IRError):
    """Raised where no bounding box of constant shape is found."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box of a buffer: the elements from `lower` to `lower + shape - 1` in each dimension."""

    lower: tuple[Expr, ...]
    shape: tuple[int, ...]


_Span: TypeAlias = tuple[Linear, int]
"""The integers from a sum of outer variables to that sum plus a number, both included."""


def box(indices: Sequence[Expr], inner: Ranges, outer: Ranges, within: Sequence[int]) -> Box:
    """Return a bounding box of `indices` over all values of the inner variables.

    Parameters
    ----------
    indices
        The indices of one access, an expression for each dimension.
    inner
        The ranges of the variables that the box covers.
    outer
        The ranges of the variables that the box may depend on. A variable in neither `inner` nor
        `outer` is an outer variable of unknown range.
    within
        The buffer's shape, elements. The box spans a whole dimension if it would fill or exceed
        the dimension, or if the index depends on data.

    Returns
    -------
    Box
        The smallest box if indices are sums of variables, and of quotients and remainders that the
        ranges separate; otherwise perhaps a larger box. `lower` depends on outer variables. Where
        the access is out of bounds, `lower` may be below 0 and `lower + shape` above `within`. The
        shape is 0 if an inner variable has an empty range.

    Raises
    ------
    NotABox
        If an inner variable has no bounds, or there is not one index for each dimension.
    """
    if len(indices) != len(within):
        raise UnboundedBoxError(f"{len(indices)} indices in a buffer of {len(within)} dimensions")
    for name, found in inner.items():
        if found.bounds is None:
            raise UnboundedBoxError(f"{name} is not bounded: from {found.low} to {found.high}")
    for index in indices:
        if index.dtype != INDEX:
            raise UnboundedBoxError(f"an index is of the type {INDEX}, not {index.dtype}")
    if any(each.empty for each in inner.values()):
        return Box(tuple(Const(0) for _ in within), tuple(0 for _ in within))
    spans = _Spans(inner, outer)
    sides = [spans.side(each, extent) for each, extent in zip(indices, within, strict=True)]
    return Box(tuple(low for low, _ in sides), tuple(extent for _, extent in sides))


def union(boxes: Sequence[Box], within: Sequence[int], outer: Ranges) -> Box:
    """Return a bounding box of several boxes of one buffer, whose shape is `within`.

    The bounding box spans a whole dimension if the distance between two boxes is not constant.
    """
    filled = [each for each in boxes if 0 not in each.shape]
    if not filled:
        return Box(tuple(Const(0) for _ in within), tuple(0 for _ in within))
    normal = Normaliser(outer)
    sides = [
        _around([(normal.linear(each.lower[axis]), each.shape[axis]) for each in filled], normal)
        for axis in range(len(within))
    ]
    cut = [
        (Const(0), extent) if side is None or side[1] >= extent else (side[0].expr(), side[1])
        for side, extent in zip(sides, within, strict=True)
    ]
    return Box(tuple(low for low, _ in cut), tuple(extent for _, extent in cut))


def _around(sides: Sequence[tuple[Linear, int]], normal: Normaliser) -> tuple[Linear, int] | None:
    """Start and length of the hull of intervals; None if their distances are not constant."""
    first = sides[0][0]
    low, high = 0, 0
    for start, extent in sides:
        offset = normal.sums.interval(start - first).only
        if offset is None:
            return None
        low, high = min(low, offset), max(high, offset + extent)
    return first.shifted(low), high - low


class _Spans:
    """Bounds affine sums: by a lower bound in outer variables, and a constant width."""

    def __init__(self, inner: Ranges, outer: Ranges) -> None:
        self._inner = inner
        self._normal = Normaliser({**outer, **inner})
        self._sums: DivisionSimplifier = self._normal.sums

    def side(self, index: Expr, extent: int) -> tuple[Expr, int]:
        """The start and the length of a box along one dimension."""
        whole = Const(0), extent
        value = self._normal.linear(index)
        if any(depends_on_data(atom) for atom, _ in value.terms):
            return whole
        span = self._span(value)
        return whole if span is None or span[1] + 1 >= extent else (span[0].expr(), span[1] + 1)

    def _span(self, value: Linear) -> _Span | None:
        """Lower bound and width of a sum over all inner variables; None if no bound is known."""
        lower, width = Linear((), value.constant), 0
        for atom, factor in value.terms:
            span = self._atom(atom)
            if span is None:
                return None
            lower = lower + span[0].times(factor)
            width += span[1] * abs(factor)
            if factor < 0:
                lower = lower.shifted(span[1] * factor)
        return self._sums.merge_remainders(lower), width

    def _atom(self, atom: Expr) -> _Span | None:
        names = variables(atom)
        if names.isdisjoint(self._inner):
            return Linear.atom(atom), 0
        found = self._sums.interval(Linear.atom(atom)).bounds
        bounded = None if found is None else (Linear((), found[0]), found[1] - found[0])
        if names <= self._inner.keys():
            return bounded
        spans = [span for span in (bounded, self._mixed(atom)) if span is not None]
        return min(spans, key=lambda span: span[1], default=None)

    def _mixed(self, atom: Expr) -> _Span | None:
        """Lower bound and width of an atom of inner and outer variables."""
        match atom:
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD as op):
                inner = match_division(atom, op)
                span = None if inner is None else self._span(inner[0])
                if inner is None or span is None:
                    return None
                return self._divided(op, *span, inner[1])
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op):
                spans = [self._span(self._sums.of(each)) for each in flatten_operands(op, atom)]
                known = [span for span in spans if span is not None]
                if len(known) < len(spans):
                    return None
                lower = reduce(partial(binary_sum, op, sums=self._sums), [low for low, _ in known])
                # Each operand exceeds its own lower bound by at most its width.
                return lower, max(width for _, width in known)
            case _:
                return None

    def _divided(self, op: BinaryOp, lower: Linear, width: int, divisor: int) -> _Span | None:
        """The quotients, or remainders, of the integers from `lower` to `lower + width`."""
        start = self._sums.interval(self._sums.remainder(lower, divisor)).high
        assert start is not None
        if op is BinaryOp.FLOORDIV:
            # `start` is the furthest that `lower` can lie into a period of the divisor.
            return self._sums.quotient(lower, divisor), (start + width) // divisor
        if start + width < divisor:
            return self._sums.remainder(lower, divisor), width
        return None
