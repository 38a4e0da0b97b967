"""Products of stacks of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from compiler import te
from compiler.ir.dtypes import DType
from compiler.ir.expr import Expr
from compiler.operators.broadcast import broadcast_extents, broadcast_indices
from compiler.operators.checks import accumulator, meeting, refuse, show
from compiler.te import Tensor, compute, reduce_axis
from compiler.te.tensor import Reduction

__all__ = ["matmul"]


def matmul(a: Tensor, b: Tensor, *, out_dtype: DType | None = None, name: str = "matmul") -> Tensor:
    """NumPy's `a @ b`: `name[..., i, j]`, the sum over `k`; axes before the last two broadcast.

    A tensor of one dimension is a row on the left, a column on the right, and that axis is missing
    in the result. Types as `conv2d`.

    Raises
    ------
    TensorError
        Scalars, extents that do not meet or broadcast, types.
    """
    if not a.shape or not b.shape:
        refuse("matmul", name, f"{show(a)} and {show(b)}: a scalar is no matrix")
    depth, other = a.shape[-1], b.shape[-2:][0]
    meeting("matmul", name, (a, b), (depth, other))
    dtype = accumulator("matmul", name, a, b, out_dtype)

    def refusal(axis: int, extents: Sequence[int]) -> NoReturn:
        found = " and ".join(map(str, extents))
        refuse("matmul", name, f"{show(a)} and {show(b)}: axis {axis - 2} has {found} matrices")

    stack = broadcast_extents((a.shape[:-2], b.shape[:-2]), refusal)
    k = reduce_axis(depth, "k")
    inner = [*("i" for _ in a.shape[-2:-1]), *("j" for _ in b.shape[1:][-1:])]
    shape = (*stack, *a.shape[-2:-1], *b.shape[1:][-1:])

    def element(*indices: Expr) -> Reduction:
        batch = indices[: len(stack)]
        own = dict(zip(inner, indices[len(stack) :], strict=True))
        left = (
            *broadcast_indices(a.shape[:-2], batch),
            *(own[each] for each in own if each == "i"),
            k,
        )
        right = (
            *broadcast_indices(b.shape[:-2], batch),
            k,
            *(own[each] for each in own if each == "j"),
        )
        return te.sum(te.cast(a[left], dtype) * te.cast(b[right], dtype), k)

    return compute(shape, element, name, [*(f"b{n}" for n in range(len(stack))), *inner])
