"""Scatters: tensors with elements replaced or changed at positions that index tensors name.

A negative index counts from the end. An index out of range changes nothing. Of several updates of
one element, the last replaces the others. Each element of the result searches the updates that may
change it, so that the work is their product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import prod
from typing import assert_never

from tandem.compiler import te
from tandem.compiler.ir.dtypes import BOOL, INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import INTEGERS, NUMBERS
from tandem.compiler.operators.checks import axis_of, check_kind, refuse, show
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import ReduceAxis, Reduction


class ScatterReduction(Enum):
    """How an update changes an element."""

    NONE = "none"
    """The update replaces the element."""
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


def scatter_elements(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: int = 0,
    reduction: ScatterReduction = ScatterReduction.NONE,
    *,
    name: str = "scatter_elements",
) -> Tensor:
    """`data` with `updates` at their own indices, with `indices` in place of index `axis`.

    Stages: `{name}_found`, `name`.

    Raises
    ------
    TensorError
        The axis is out of range; indices are no integers; shapes or types do not fit.
    """
    operator = "scatter_elements"
    _check(operator, name, data, indices, updates, reduction)
    along = axis_of(operator, name, data, axis)
    fits = len(indices.shape) == len(data.shape) and all(
        a <= b
        for number, (a, b) in enumerate(zip(indices.shape, data.shape, strict=True))
        if number != along
    )
    if not fits or updates.shape != indices.shape:
        refuse(operator, name, f"{show(indices)} and {show(updates)} for {show(data)}")
    if prod(indices.shape) == 0:
        return compute(data.shape, lambda *i: data[i], name)
    over = reduce_axis(indices.shape[along], "k")

    def source(places: Sequence[Expr]) -> tuple[Expr, ...]:
        return (*places[:along], over, *places[along + 1 :])

    def inside(places: Sequence[Expr]) -> list[Expr]:
        """The conditions under which updates exist for an element."""
        return [
            place < extent
            for number, (place, extent) in enumerate(zip(places, indices.shape, strict=True))
            if number != along and extent < data.shape[number]
        ]

    def matches(places: Sequence[Expr]) -> Expr:
        same = te.equal(_counted(indices[source(places)], data.shape[along]), places[along])
        exists = inside(places)
        # Only where there are updates is there an index to read.
        return te.select(te.all_of(*exists), same, te.const(False, BOOL)) if exists else same

    def update(places: Sequence[Expr], number: Expr) -> Expr:
        return updates[(*places[:along], number, *places[along + 1 :])]

    return _scattered(data, over, matches, update, reduction, name)


def scatter_nd(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: ScatterReduction = ScatterReduction.NONE,
    *,
    name: str = "scatter_nd",
) -> Tensor:
    """`data` with the slices `updates` at coordinates along its first axes, in the last axis of
    `indices`.

    Stages: `{name}_found`, `name`.

    Raises
    ------
    TensorError
        The errors of `scatter_elements`.
    """
    operator = "scatter_nd"
    _check(operator, name, data, indices, updates, reduction)
    depth = indices.shape[-1] if indices.shape else 0
    outer = indices.shape[:-1]
    if not 1 <= depth <= len(data.shape) or updates.shape != (*outer, *data.shape[depth:]):
        refuse(operator, name, f"{show(indices)} and {show(updates)} for {show(data)}")
    if prod(outer) == 0:
        return compute(data.shape, lambda *i: data[i], name)
    over = reduce_axis(prod(outer), "k")

    def unflattened(number: Expr) -> tuple[Expr, ...]:
        found: list[Expr] = []
        for extent in reversed(outer):
            found.insert(0, number % extent)
            number = number // extent
        return tuple(found)

    def matches(places: Sequence[Expr]) -> Expr:
        row = unflattened(over)
        return te.all_of(
            *(
                te.equal(_counted(indices[(*row, axis)], data.shape[axis]), places[axis])
                for axis in range(depth)
            )
        )

    def update(places: Sequence[Expr], number: Expr) -> Expr:
        return updates[(*unflattened(number), *places[depth:])]

    return _scattered(data, over, matches, update, reduction, name)


def _scattered(
    data: Tensor,
    over: ReduceAxis,
    matches: Callable[[Sequence[Expr]], Expr],
    update: Callable[[Sequence[Expr], Expr], Expr],
    reduction: ScatterReduction,
    name: str,
) -> Tensor:
    """`data` with the updates, numbered along `over`, that match an element's indices."""

    def found(*places: Expr) -> Reduction:
        match reduction:
            case ScatterReduction.NONE:
                return te.max(te.select(matches(places), over, te.const(-1, INDEX)), over)
            case ScatterReduction.ADD:
                return te.sum(te.select(matches(places), update(places, over), number(0)), over)
            case ScatterReduction.MUL:
                return te.prod(te.select(matches(places), update(places, over), number(1)), over)
            case ScatterReduction.MAX:
                own = te.select(matches(places), update(places, over), data[tuple(places)])
                return te.max(own, over)
            case ScatterReduction.MIN:
                own = te.select(matches(places), update(places, over), data[tuple(places)])
                return te.min(own, over)
            case _:
                assert_never(reduction)

    def number(value: int) -> Expr:
        return te.const(value, data.dtype)

    changes = compute(data.shape, found, f"{name}_found")

    def element(*places: Expr) -> Expr:
        change, own = changes[places], data[places]
        match reduction:
            case ScatterReduction.NONE:
                return te.select(change < 0, own, update(places, te.maximum(change, 0)))
            case ScatterReduction.ADD:
                return own + change
            case ScatterReduction.MUL:
                return own * change
            case ScatterReduction.MAX:
                return te.maximum(own, change)
            case ScatterReduction.MIN:
                return te.minimum(own, change)
            case _:
                assert_never(reduction)

    return compute(data.shape, element, name)


def _counted(index: Expr, extent: int) -> Expr:
    """The index, counted from the end if negative."""
    number = te.cast(index, INDEX)
    return te.select(number < 0, number + extent, number)


def _check(
    operator: str,
    name: str,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: ScatterReduction,
) -> None:
    check_kind(operator, name, indices, *INTEGERS)
    if updates.dtype != data.dtype:
        refuse(operator, name, f"{show(updates)} and {show(data)} differ in type")
    if reduction is not ScatterReduction.NONE:
        check_kind(operator, name, data, *NUMBERS)
