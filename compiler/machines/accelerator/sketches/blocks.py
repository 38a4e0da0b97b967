"""Expressions of plain tensors in blocks, which the array reads and writes.

The sums of an expression have an axis along which there are lanes, and terms along another one.
Tensors are stored in blocks of these (and of rows, where the array takes several), each axis of
the expression then counts blocks, and three axes within a block are new: a row, a lane, a term.
That is another way to write the same indices, so that the result is the same. What is stored
behind the last element of an axis is zero: it adds nothing to sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import Refusal
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import INDEX, INT64
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.visit import rewrite_expr, subexpressions, variables
from tandem.compiler.layouts.layout import Inner, Layout, One, Outer, Part, Whole
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.passes import in_passes
from tandem.compiler.machines.accelerator.sketches.product import product_in
from tandem.compiler.te.build import program_of, stages
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Compute, ReduceAxis, Tensor
from tandem.compiler.tune.sketches.computation import Computation

ROW, LANE, TERM = "row", "lane", "term"
"""The parts of a block, and the names of their axes."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockedExpression:
    """An expression in blocks.

    Attributes
    ----------
    plain, output
        The result as it was written, and in blocks.
    layouts
        How inputs and the result lie in DRAM, by name; those that are not in it lie as they are.
    spread
        Inputs that lie once for each row of a block, of which they have no axis.
    """

    plain: Tensor
    output: Tensor
    layouts: Mapping[str, Layout]
    spread: Mapping[str, int]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs in blocks, in the order of the program."""
        return tuple(each for each in stages([self.output]) if each.source is None)

    @property
    def computation(self) -> Computation:
        """The expression as sketches schedule it. Its inputs are those of `inputs`."""
        return Computation.of(program_of([self.output]))

    def packed(self, name: str, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """The values of an input in blocks."""
        if name not in self.layouts:
            return values
        stored = self.layouts[name].packed(values)
        return stored.repeat(self.spread.get(name, 1), axis=-2) if stored.ndim > 1 else stored

    def unpacked(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """The result of values in blocks."""
        positions = self.layouts[self.plain.name].positions(self.plain.shape)
        return values.reshape(-1)[positions]


def in_blocks(output: Tensor, machine: AcceleratorTarget) -> BlockedExpression:
    """The expression in those blocks, of all that fit the machine, that leave least of the array
    idle.

    Raises
    ------
    Refusal
        No instruction computes the expression in blocks; says why the first way fails.
    """
    return blocked(output, in_passes(output), machine)


def blocked(output: Tensor, passes: Tensor, machine: AcceleratorTarget) -> BlockedExpression:
    """As `in_blocks`, of an expression whose stages behind the sums are `passes`: those of one
    instruction each. Raises likewise."""
    sums = [each for each in stages([passes]) if each.source is not None and each.source.combiner]
    if len(sums) != 1:
        raise Refusal(f"the array computes one sum of products: {output.name} has {len(sums)}")
    first: Refusal | None = None
    for roles in sorted(_roles(sums[0], machine), key=lambda way: way.products(sums[0])):
        try:
            found = _Blocks(roles, sums[0]).expression(output, passes)
            weight = product_in(Schedule.of(found.output), machine).sums.weight
        except Refusal as error:
            first = first or error
            continue
        # Of two terms behind the last one, one has to be zero.
        return replace(found, layouts={**found.layouts, weight: _zeroed(found.layouts[weight])})
    raise first or Refusal(f"{sums[0].name} is no sum along an axis of products")


def _zeroed(layout: Layout) -> Layout:
    """The layout with zeros for padding."""
    return Layout(
        tuple(
            replace(part, zero=True) if isinstance(part, Inner) else part for part in layout.parts
        )
    )


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which axis of the sums is of rows (None where there is one row), of lanes and of terms, and
    the sizes of blocks."""

    row: str | None
    lane: str
    term: str
    sizes: Mapping[str, int]

    def of(self, axis: str) -> str | None:
        """The part of a block along an axis of the sums."""
        return {self.lane: LANE, self.term: TERM, self.row: ROW}.get(axis)

    def products(self, sums: Tensor) -> int:
        """Products of the array, blocks that are not full included."""
        found = 1
        for axis, extent in _extents(sums).items():
            role = self.of(axis)
            size = 1 if role is None else self.sizes[role]
            found *= -(-extent // size)
        return found


def _extents(sums: Tensor) -> dict[str, int]:
    source = _source(sums)
    found = {axis.name: extent for axis, extent in zip(source.axes, sums.shape, strict=True)}
    return found | {axis.name: axis.extent for axis in source.reduce_axes}


def _source(tensor: Tensor) -> Compute:
    assert tensor.source is not None, "a stage"
    return tensor.source


def _roles(sums: Tensor, machine: AcceleratorTarget) -> Iterator[_Roles]:
    source, config = _source(sums), machine.config
    names = [axis.name for axis in source.axes]
    sizes = {ROW: config.batch, LANE: config.block_out, TERM: config.block_in}
    for lane in names:
        for term in source.reduce_axes:
            rows: list[str | None] = [each for each in names if each != lane]
            for row in rows if config.batch > 1 else [None]:
                yield _Roles(row, lane, term.name, sizes)


_PARTS: Final = {
    frozenset({LANE, TERM}): (LANE, TERM),
    frozenset({ROW, TERM}): (ROW, TERM),
    frozenset({TERM}): (ROW, TERM),
    frozenset({ROW, LANE}): (ROW, LANE),
    frozenset({LANE}): (ROW, LANE),
}
"""The parts of a block that a tensor is stored in, by the axes that it has."""


_OUTER: Final = (LANE, TERM, ROW, None)
"""The order of the dimensions of tensors, by the parts of blocks along them."""


@dataclass
class _Blocks:
    """Rewrites tensors in blocks.

    Attributes
    ----------
    parts
        The parts of blocks of the dimensions of tensors, by the tensors' names.
    """

    roles: _Roles
    sums: Tensor
    parts: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    made: dict[str, Tensor] = field(default_factory=dict)

    def expression(self, plain: Tensor, output: Tensor) -> BlockedExpression:
        """The expression of an output."""
        order = [each for each in stages([output]) if each.source is not None]
        before = [each for each in stages([self.sums]) if each.source is not None][:-1]
        source = _source(self.sums)
        self._note(self.sums, tuple(self.roles.of(axis.name) for axis in source.axes))
        self._note_loads(self.sums)
        for producer in reversed(before):
            self._note_loads(producer)
        for follower in order:
            if follower is self.sums or follower in before:
                continue
            self._note(follower, self.parts[self.sums.name])
            self._note_loads(follower)
        for tensor in stages([output]):
            self.made[tensor.name] = self._made(tensor)
        layouts = {
            tensor.name: self._layout(tensor)
            for tensor in stages([output])
            if (tensor.source is None and tensor.scope == Scope.GLOBAL) or tensor is output
        }
        rows = self.roles.sizes[ROW]
        spread = {
            tensor.name: rows
            for tensor in stages([output])
            if tensor.name in layouts and rows > 1 and self._is_spread(tensor)
        }
        return BlockedExpression(plain, self.made[output.name], layouts, spread)

    def _note(self, tensor: Tensor, parts: tuple[str | None, ...]) -> None:
        known = self.parts.setdefault(tensor.name, parts)
        if known != parts:
            raise Refusal(f"{tensor.name} is read in blocks of different axes")
        if len(set(filter(None, parts))) != len([each for each in parts if each]):
            raise Refusal(f"{tensor.name} has two axes of one part of a block")

    def _note_loads(self, tensor: Tensor) -> None:
        """Note the parts of what a stage reads, from its own."""
        source = _source(tensor)
        if tensor.name not in self.parts:
            raise Refusal(f"{tensor.name} is no operand of the sums")
        axes = dict(zip((axis.name for axis in source.axes), self.parts[tensor.name], strict=True))
        axes |= {axis.name: self.roles.of(axis.name) for axis in source.reduce_axes}
        inside = {axis for axis, part in axes.items() if part is not None}
        allowed = 0
        for load in (each for each in subexpressions(source.value) if isinstance(each, Load)):
            assert isinstance(load.buffer, Tensor), "te expressions only load from tensors"
            parts: list[str | None] = []
            for index in load.indices:
                plain = index.name if isinstance(index, Var) else None
                if plain is None and variables(index) & inside:
                    raise Refusal(f"{load.buffer.name} is read at more than the axes of blocks")
                parts.append(axes[plain] if plain is not None else None)
                allowed += plain in inside
            if load.indices or load.buffer.scope == Scope.GLOBAL:
                self._note(load.buffer, tuple(parts))
        uses = sum(
            isinstance(part, Var) and part.name in inside for part in subexpressions(source.value)
        )
        if uses != allowed:
            raise Refusal(f"{tensor.name} depends on the number of a channel or a row")

    def _block(self, tensor: Tensor) -> tuple[str, ...]:
        """The parts of a tensor's blocks, the outer one first."""
        if not tensor.shape:
            return ()
        has = frozenset(filter(None, self.parts[tensor.name]))
        if has not in _PARTS:
            raise Refusal(f"{tensor.name} has neither lanes nor terms of the array")
        if tensor.dtype == INT64 and has == {LANE}:
            return (LANE,)  # A word of PAR is for all rows.
        found = _PARTS[has]
        if ROW in found and ROW not in has and self.roles.sizes[ROW] > 1:
            if self._is_spread(tensor):
                return found
            raise Refusal(
                f"{tensor.name} is the same for all rows, of which an element has several"
            )
        return found

    def _is_spread(self, tensor: Tensor) -> bool:
        """Whether an input has a number for each lane, which is that of all rows."""
        has = frozenset(filter(None, self.parts[tensor.name]))
        return tensor.source is None and tensor.dtype != INT64 and has == {LANE}

    def _order(self, tensor: Tensor) -> list[int]:
        """The dimensions of a tensor as its blocks lie: those of lanes and terms first, so that a
        part of them is one run of what lies behind."""
        parts = self.parts[tensor.name]
        return sorted(range(len(parts)), key=lambda at: _OUTER.index(parts[at]))

    def _shape(self, tensor: Tensor) -> tuple[int, ...]:
        sizes, parts = self.roles.sizes, self.parts[tensor.name]
        extents = ((tensor.shape[at], parts[at]) for at in self._order(tensor))
        outer = (extent if part is None else -(-extent // sizes[part]) for extent, part in extents)
        return (*outer, *(sizes[part] for part in self._block(tensor)))

    def _made(self, tensor: Tensor) -> Tensor:
        source = tensor.source
        if not tensor.shape:
            return tensor
        shape = self._shape(tensor)
        if source is None:
            return Tensor(tensor.name, shape, tensor.dtype, tensor.scope)
        outer = (source.axes[at] for at in self._order(tensor))
        axes = (*outer, *(Var(part) for part in self._block(tensor)))
        reduced = tuple(
            ReduceAxis(axis.name, INDEX, -(-axis.extent // self.roles.sizes[TERM]))
            if self.roles.of(axis.name) == TERM
            else axis
            for axis in source.reduce_axes
        )
        if reduced:
            reduced = (*reduced, ReduceAxis(TERM, INDEX, self.roles.sizes[TERM]))
        value = self._value(source.value, {axis.name: axis for axis in reduced})
        made = Compute(axes, value, source.combiner, reduced, source.start)
        return Tensor(tensor.name, shape, tensor.dtype, tensor.scope, source=made)

    def _value(self, value: Expr, reduced: Mapping[str, ReduceAxis]) -> Expr:
        def change(node: Expr) -> Expr:
            match node:
                case ReduceAxis(name=name):
                    return reduced[name]
                case Load(buffer=Tensor(shape=shape, name=name) as tensor, indices=at) if shape:
                    inner = (reduced.get(part, Var(part)) for part in self._block(tensor))
                    return Load(
                        self.made[name], (*(at[each] for each in self._order(tensor)), *inner)
                    )
                case _:
                    return node

        return rewrite_expr(value, change)

    def _layout(self, tensor: Tensor) -> Layout:
        sizes = self.roles.sizes
        parts = self.parts[tensor.name]
        outer: list[Part] = []
        where: dict[str, Part] = {}
        for axis in self._order(tensor):
            part = parts[axis]
            if part is None or sizes[part] == 1:
                outer.append(Whole(axis))
            else:
                outer.append(Outer(axis, sizes[part]))
                where[part] = Inner(axis, sizes[part])
        return Layout((*outer, *(where.get(part, One()) for part in self._block(tensor))))
