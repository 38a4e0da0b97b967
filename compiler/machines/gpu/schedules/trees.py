"""Reductions by the threads of a block: each reduces some terms, and a tree what they have found.

A reduction of many terms to few elements has a block for each element. Its threads take terms side
by side, and leave what they have found in shared memory; then half of the threads combine two
results each, and half of these, until one is left (Harris, Optimizing Parallel Reduction in CUDA,
2007). Floats are thus added in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.expr import Binary, Expr, Load, Select, Var
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import Block, IterKind
from tandem.compiler.ir.visit import blocks, substitute
from tandem.compiler.machines.gpu.launch import SHARED
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.rewriting import (
    computed,
    digits,
    new_name,
    plain,
    rewritten,
)
from tandem.compiler.te import Tensor
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Compute, reduce_axis
from tandem.compiler.te.tree import axes_of, read_by

_LEAST = 64
"""The fewest terms of an element that are worth a block of threads."""
_MOST_ELEMENTS = 1 << 16
"""The most elements: more have work for all threads of a GPU, one each."""
_WARP = 32
"""Threads that run together."""
_TERMS = 4
"""The fewest terms of a thread, where there are enough for a warp."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A reduction among the stages of tensor expressions.

    Attributes
    ----------
    result
        The stage of the elements, which may be inlined.
    partial
        The stage of what threads find, with `lane` as its last axis.
    levels
        The stages of the tree, from the threads to the result.
    lane, terms
        The names of the axes of threads, and of a thread's terms.
    threads
        Of a block.
    """

    result: str
    partial: str
    levels: tuple[str, ...]
    lane: str
    terms: str
    threads: int


def with_trees(
    outputs: Sequence[Tensor], left: Sequence[str], machine: GpuMachine
) -> tuple[tuple[Tensor, ...], tuple[Tree, ...]]:
    """The tensor expressions with reductions of many terms to few elements as trees.

    Parameters
    ----------
    left
        Stages that stay as they are.
    """
    trees: list[Tree] = []

    def as_tree(tensor: Tensor, source: Compute, taken: set[str]) -> Tensor | None:
        count = prod(each.extent for each in source.reduce_axes)
        few = tensor.shape and 0 < prod(tensor.shape) <= _MOST_ELEMENTS
        if tensor.name in left or source.combiner is None or count < _LEAST or not few:
            return None
        made, tree = _tree(tensor, source, taken, _threads(count, machine))
        taken |= {tree.partial, *tree.levels}
        trees.append(tree)
        return made

    return rewritten(outputs, as_tree), tuple(trees)


def _threads(count: int, machine: GpuMachine) -> int:
    """The threads for so many terms, a power of two."""
    return 1 << (min(machine.threads, max(_WARP, count // _TERMS)).bit_length() - 1)


def _tree(tensor: Tensor, source: Compute, taken: set[str], threads: int) -> tuple[Tensor, Tree]:
    """The tensor as the result of a tree, and that."""
    combiner, start = source.combiner, source.start
    assert combiner is not None, "a reduction"
    assert start is not None, "a reduction"
    op, identity = combiner.value, combiner.identity(tensor.dtype)
    names = {each.name for each in source.axes}
    lane, inner = (_unlike(name, names) for name in ("lane", "step"))
    count = prod(each.extent for each in source.reduce_axes)
    at, step = Var(lane), reduce_axis(-(-count // threads), inner)
    number = step * index(threads) + at
    terms = digits(number, [(each.name, each.extent) for each in source.reduce_axes])
    value = substitute(plain(source.value), terms)
    if count % threads:
        value = Select(Binary(BinaryOp.LT, number, index(count)), value, identity)
    found = Tensor(
        new_name(tensor, "partial", taken),
        (*tensor.shape, threads),
        tensor.dtype,
        source=Compute((*source.axes, at), value, combiner, (step,), identity),
    )
    last, levels = found, []
    left = threads // 2
    while left > 1:
        both = _pair(op, last, (*source.axes, at), at + index(left))
        last = Tensor(
            new_name(tensor, f"tree{left}", taken),
            (*tensor.shape, left),
            tensor.dtype,
            source=Compute((*source.axes, at), both),
        )
        levels.append(last.name)
        left //= 2
    result = _pair(op, last, (*source.axes, index(0)), index(1))
    if start != identity:
        result = Binary(op, start, result)
    made = computed(tensor, Compute(source.axes, result))
    return made, Tree(tensor.name, found.name, tuple(levels), lane, inner, threads)


def _pair(op: BinaryOp, read: Tensor, at: tuple[Expr, ...], other: Expr) -> Expr:
    """Two elements of a stage, combined; the second is elsewhere on the last axis."""
    return Binary(op, Load(read, at), Load(read, (*at[:-1], other)))


def _unlike(name: str, names: set[str]) -> str:
    while name in names:
        name += "_"
    return name


def reader_reduces(schedule: Schedule, tree: Tree) -> bool:
    """Whether a tree's result was inlined into a reduction, which would have no loop over it."""
    return bool(_reader(schedule, _last(tree)).axes(IterKind.REDUCE))


def in_blocks(schedule: Schedule, tree: Tree) -> Schedule:
    """The schedule with a block for each element of a tree's result."""
    stages = (*tree.levels[::-1], tree.partial)
    root = _reader(schedule, _last(tree)).name
    first, *others = axes_of(schedule.program.body, root)
    for axis in others:
        schedule = schedule.fuse(root, first, axis, _ELEMENT)
        first = _ELEMENT
    for stage in stages:
        schedule = schedule.set_scope(stage, SHARED).compute_at(stage, root, first)
    return on_lanes(schedule, tree).bind(root, first, "blocks")


def on_lanes(schedule: Schedule, tree: Tree) -> Schedule:
    """The schedule with the stages of a tree on the threads of their block."""
    near = f"{tree.partial}_acc"
    schedule = schedule.cache_write(tree.partial, Scope.LOCAL, near)
    schedule = schedule.compute_at(near, tree.partial, tree.lane)
    schedule = schedule.decompose_reduction(near, tree.terms)
    for stage in (tree.partial, *tree.levels):
        schedule = schedule.bind(stage, tree.lane, "threads")
    return schedule


def _last(tree: Tree) -> str:
    """The stage that the result reads."""
    return (tree.partial, *tree.levels)[-1]


_ELEMENT = "element"
"""The loop over the elements of a result."""


def _reader(schedule: Schedule, stage: str) -> Block:
    """The one stage that reads a stage."""
    body = schedule.program.body
    (found,) = (each for each in blocks(body) if stage in read_by(each) and each.name != stage)
    return found
