"""Sums and products of all elements up to each position of an axis."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import NUMBERS
from tandem.compiler.operators.checks import axis_of, check_kind
from tandem.compiler.te import Tensor, compute


def cumulative_sum(
    data: Tensor,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    *,
    name: str = "cumulative_sum",
) -> Tensor:
    """The sum of the elements up to each position along `axis`.

    Stages: `{name}_start` if exclusive, `{name}_1`, `{name}_2`, `{name}_4` and so on: stage d adds
    pairs at distance d, so that as many stages are needed as the extent has bits (Hillis and
    Steele, Data parallel algorithms, 1986).

    Parameters
    ----------
    exclusive
        Whether the element at the position is left out.
    reverse
        Whether sums start at the end of the axis.

    Raises
    ------
    TensorError
        The axis is out of range; the elements are bools.
    """
    return _cumulative("cumulative_sum", data, axis, exclusive, reverse, name)


def cumulative_product(
    data: Tensor,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    *,
    name: str = "cumulative_product",
) -> Tensor:
    """The product of the elements up to each position; otherwise as `cumulative_sum`."""
    return _cumulative("cumulative_product", data, axis, exclusive, reverse, name)


def _cumulative(
    operator: str, data: Tensor, axis: int, exclusive: bool, reverse: bool, name: str
) -> Tensor:
    check_kind(operator, name, data, *NUMBERS)
    along = axis_of(operator, name, data, axis)
    extent = data.shape[along]
    multiplies = operator == "cumulative_product"
    one = te.const(int(multiplies), data.dtype)

    def before(stage: Tensor, indices: tuple[Expr, ...], distance: int, otherwise: Expr) -> Expr:
        """The element `distance` positions before, or `otherwise` if there is none."""
        at = indices[along]
        inside = at < extent - distance if reverse else at >= distance
        other = at + distance if reverse else at - distance
        return te.select(inside, stage[(*indices[:along], other, *indices[along + 1 :])], otherwise)

    def joined(stage: Tensor, distance: int, called: str) -> Tensor:
        def element(*indices: Expr) -> Expr:
            other = before(stage, indices, distance, one)
            return stage[indices] * other if multiplies else stage[indices] + other

        return compute(data.shape, element, called)

    distances = [1 << bit for bit in range(max(extent - 1, 0).bit_length())]
    stage = data
    if exclusive or not distances:
        start = name if not distances else f"{name}_start"
        stage = compute(
            data.shape, lambda *i: before(data, i, 1, one) if exclusive else data[i], start
        )
    for distance in distances:
        last = distance == distances[-1]
        stage = joined(stage, distance, name if last else f"{name}_{distance}")
    return stage
