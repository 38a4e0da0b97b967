"""From tensor expressions to the program that a schedule begins with: a loop nest a stage."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import TensorError
from compiler.ir.expr import Expr, Load, Var, binary
from compiler.ir.ops import index
from compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    Function,
    IterKind,
    LoopKind,
    Stmt,
    Store,
)
from compiler.ir.visit import rewrite_expr, sequence, subexpressions
from compiler.te.tensor import Compute, ReduceAxis, Tensor

__all__ = ["loop_name", "nest", "program_of", "stage_nest", "stages"]


def loop_name(stage: str, axis: str) -> str:
    """A loop's name in a program."""
    return f"{stage}.{axis}"


def stages(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs and all they are computed from, each after what it reads."""
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
) -> Function:
    """Each stage after the other, each over all of its axes, in their order.

    Parameters
    ----------
    inputs
        The order of the program's inputs; those not named follow in the order of their use.
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
    return Function(
        name or outputs[-1].name,
        tuple(each.buffer() for each in known.values()),
        tuple(each.buffer() for each in outputs),
        body,
    )


def nest(stage: str, axes: Sequence[tuple[str, int]], body: Stmt) -> Stmt:
    """Serial loops around `body`, the first one outermost."""
    for axis, extent in reversed(axes):
        body = For(Var(loop_name(stage, axis)), index(extent), LoopKind.SERIAL, body)
    return body


def stage_nest(
    store: Store, reduced: Sequence[tuple[str, int]] = (), init: Store | None = None
) -> Stmt:
    """A stage of the buffer's name: loops over all of the buffer, and along axes to reduce, around
    a store whose indices are the stage's axes."""
    stage = store.buffer.name
    names = [each.name for each in store.indices if isinstance(each, Var)]
    spatial = list(zip(names, store.buffer.shape, strict=True))
    iters = tuple(
        BlockIter(Var(axis), extent, kind, Var(loop_name(stage, axis)))
        for kind, axes in ((IterKind.SPATIAL, spatial), (IterKind.REDUCE, reduced))
        for axis, extent in axes
    )
    return nest(stage, [*spatial, *reduced], Block(stage, iters, (), init, store))


def _stage(tensor: Tensor, source: Compute) -> Stmt:
    buffer, value = tensor.buffer(), _plain(source.value)
    indices: tuple[Expr, ...] = tuple(Var(each.name) for each in source.axes)
    if source.combiner is None or source.start is None:
        return stage_nest(Store(buffer, indices, value))
    joined = binary(source.combiner.value, Load(buffer, indices), value)
    reduced = [(each.name, each.extent) for each in source.reduce_axes]
    return stage_nest(Store(buffer, indices, joined), reduced, Store(buffer, indices, source.start))


def _plain(expr: Expr) -> Expr:
    """Without tensors and reduce axes: with plain buffers and variables."""

    def change(each: Expr) -> Expr:
        match each:
            case ReduceAxis(name=name):
                return Var(name)
            case Load(buffer=Tensor() as tensor, indices=indices):
                return Load(tensor.buffer(), indices)
            case _:
                return each

    return rewrite_expr(expr, change)
