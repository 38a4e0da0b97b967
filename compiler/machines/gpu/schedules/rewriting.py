"""Tensor expressions with other stages in the place of some, of the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.visit import rewrite_expr
from tandem.compiler.te import Tensor
from tandem.compiler.te.build import stages
from tandem.compiler.te.tensor import Compute, ReduceAxis


def rewritten(
    outputs: Sequence[Tensor], change: Callable[[Tensor, Compute, set[str]], Tensor | None]
) -> tuple[Tensor, ...]:
    """The tensor expressions with changed stages, which may read new ones.

    Parameters
    ----------
    change
        What stands in the place of a tensor, of the same name, from its computation on the stages
        as they are now; None to leave it. It adds the names of new stages to those that are taken.
    """
    taken = {each.name for each in stages(outputs)}
    made: dict[str, Tensor] = {}
    for tensor in stages(outputs):
        if tensor.source is None:
            made[tensor.name] = tensor
            continue
        source = _replaced(tensor.source, made)
        found = change(tensor, source, taken)
        if found is not None:
            made[tensor.name] = found
        elif source is tensor.source:
            made[tensor.name] = tensor
        else:
            made[tensor.name] = computed(tensor, source)
    return tuple(made[each.name] for each in outputs)


def computed(tensor: Tensor, source: Compute) -> Tensor:
    """The tensor, computed in another way."""
    return Tensor(tensor.name, tensor.shape, tensor.dtype, tensor.scope, source=source)


def new_name(tensor: Tensor, suffix: str, taken: set[str]) -> str:
    """A name for a stage of a tensor that none has."""
    name = f"{tensor.name}_{suffix}"
    while name in taken:
        name += "_"
    return name


def _replaced(source: Compute, made: Mapping[str, Tensor]) -> Compute:
    """The computation on the new tensors of these names."""

    def on_new(expr: Expr) -> Expr:
        match expr:
            case Load(buffer=Tensor(name=name) as old, indices=indices) if made[name] is not old:
                return Load(made[name], indices)
            case _:
                return expr

    value = rewrite_expr(source.value, on_new)
    if value is source.value:
        return source
    return Compute(source.axes, value, source.combiner, source.reduce_axes, source.start)


def plain(expr: Expr) -> Expr:
    """The expression with variables in place of reduction axes, of the same names."""

    def as_var(node: Expr) -> Expr:
        return Var(node.name) if isinstance(node, ReduceAxis) else node

    return rewrite_expr(expr, as_var)


def digits(number: Expr, axes: Sequence[tuple[str, int]]) -> dict[str, Expr]:
    """The values of axes that a number counts, the last one fastest."""
    values: dict[str, Expr] = {}
    left: Expr = number
    for position, (name, extent) in enumerate(reversed(axes)):
        outermost = position == len(axes) - 1
        values[name] = left if outermost else left % index(extent)
        left = left // index(extent)
    return values
