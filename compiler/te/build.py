"""From tensor expressions to the initial program of a schedule: one loop nest for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Expr,
    Load,
    Var,
    binary,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
)
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    IterKind,
    LoopKind,
    PrimFunc,
    Stmt,
    Store,
)
from tandem.compiler.ir.visit import rewrite_expr, sequence, subexpressions
from tandem.compiler.te.tensor import Combiner, Compute, ReduceAxis, Tensor
from tandem.compiler.te.tree import LoopRef


def stages(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs and all tensors they depend on, in topological order: operands first."""
    found: dict[str, Tensor] = {}

    def visit(tensor: Tensor) -> None:
        if found.get(tensor.name) is tensor:
            return
        if tensor.source is not None:
            for expr in subexpressions(tensor.source.value):
                if isinstance(expr, Load):
                    assert isinstance(expr.buffer, Tensor), "te expressions only load from tensors"
                    visit(expr.buffer)
        if found.setdefault(tensor.name, tensor) is not tensor:
            raise TensorError(f"two tensors are called {tensor.name}")

    for output in outputs:
        visit(output)
    return tuple(found.values())


def program_of(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor] = (), name: str | None = None
) -> PrimFunc:
    """Return the program that computes one stage after the other, over all of its axes in order.

    Parameters
    ----------
    inputs
        The first inputs of the program; the remaining inputs follow in the order of first use.
    """
    if not outputs:
        raise TensorError("a program needs an output")
    order = stages(outputs)
    placeholders = [each for each in order if each.source is None]
    known = {each.name: each for each in (*inputs, *placeholders)}
    for given in outputs:
        if given.source is None:
            raise TensorError(f"output {given.name} is not computed")
    for given in inputs:
        if given.source is not None:
            raise TensorError(f"input {given.name} is computed")
    results = {each.name for each in outputs}
    body = sequence(*(_stage(each, each.source) for each in order if each.source is not None))
    for tensor in reversed(order):
        if tensor.source is not None and tensor.name not in results:
            body = Alloc(tensor.buffer(), body)
    return PrimFunc(
        name or outputs[-1].name,
        tuple(each.buffer() for each in known.values()),
        tuple(each.buffer() for each in outputs),
        body,
    )


def nest(stage: str, axes: Sequence[tuple[str, int]], body: Stmt) -> Stmt:
    """Return serial loops around `body`, the first one outermost."""
    for axis, extent in reversed(axes):
        body = For(LoopRef(stage, axis).var, index(extent), LoopKind.SERIAL, body)
    return body


def stage_nest(
    store: Store, reduced: Sequence[tuple[str, int]] = (), init: Store | None = None
) -> Stmt:
    """Return the nest of a stage named as its buffer: loops over the buffer and reduction axes
    around a store whose indices are the stage's axes."""
    stage = store.buffer.name
    names = [each.name for each in store.indices if isinstance(each, Var)]
    spatial = list(zip(names, store.buffer.shape, strict=True))
    iters = tuple(
        BlockIter(Var(axis), extent, kind, LoopRef(stage, axis).var)
        for kind, axes in ((IterKind.SPATIAL, spatial), (IterKind.REDUCE, reduced))
        for axis, extent in axes
    )
    return nest(stage, [*spatial, *reduced], Block(stage, iters, (), init, store))


def _stage(tensor: Tensor, source: Compute) -> Stmt:
    buffer, value = tensor.buffer(), _plain(source.value)
    indices: tuple[Expr, ...] = tuple(Var(each.name) for each in source.axes)
    if source.combiner is None or source.start is None:
        return stage_nest(Store(buffer, indices, value))
    update = binary(source.combiner.value, Load(buffer, indices), value)
    reduced = [(axis.name, axis.extent) for axis in source.reduce_axes]
    return stage_nest(Store(buffer, indices, update), reduced, Store(buffer, indices, source.start))


def _plain(expr: Expr) -> Expr:
    """Replace tensors by plain buffers, and reduction axes by plain variables."""

    def change(node: Expr) -> Expr:
        match node:
            case ReduceAxis(name=name):
                return Var(name)
            case Load(buffer=Tensor() as tensor, indices=indices):
                return Load(tensor.buffer(), indices)
            case _:
                return node

    return rewrite_expr(expr, change)


def macs_of(outputs: Sequence[Tensor]) -> int:
    """The number of multiply-accumulates of tensor expressions: the terms of sums of products."""
    total = 0
    for stage in stages(outputs):
        source = stage.source
        if source is None or source.combiner is not Combiner.SUM:
            continue
        term = source.value
        while isinstance(term, Cast):
            term = term.operand
        if isinstance(term, Binary) and term.op is BinaryOp.MUL:
            total += prod(stage.shape) * prod(each.extent for each in source.reduce_axes)
    return total
