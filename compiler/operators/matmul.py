"""Products of matrices: dense layers, ONNX's Gemm, NumPy's matmul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tandem.compiler import te
from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import (
    at,
    broadcast_extents,
    broadcast_indices,
    broadcast_shape,
)
from tandem.compiler.operators.checks import (
    accumulator_type,
    check_inner_extents,
    check_rank,
    refuse,
    show,
)
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    out_dtype: DType | None = None,
    name: str = "dense",
) -> Tensor:
    """`name[i, j]`, the sum over `k` of `data[i, k] * weight[j, k]`, plus `bias[j]`.

    Stages: `{name}_sum` if there is a bias, `name`. Types: see `checks.accumulator_type`.

    Raises
    ------
    TensorError
        Ranks, extents or types do not fit.
    """
    check_rank("dense", name, data, 2, "rows and features")
    check_rank("dense", name, weight, 2, "outputs and features")
    return _product("dense", name, data, weight, bias, out_dtype, False, True)


def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    trans_a: bool = False,
    trans_b: bool = False,
    name: str = "gemm",
) -> Tensor:
    """alpha * a @ b + beta * c, optionally with `a` or `b` transposed; c broadcasts to a @ b.

    Stages: `{name}_sum` unless the result is a @ b, `name`.

    Raises
    ------
    TensorError
        Ranks, extents or types do not fit; the type does not hold alpha or beta.
    """
    check_rank("gemm", name, a, 2, "a matrix")
    check_rank("gemm", name, b, 2, "a matrix")
    if c is None and alpha == 1.0:
        return _product("gemm", name, a, b, None, a.dtype, trans_a, trans_b)
    sums = _product("gemm", f"{name}_sum", a, b, None, a.dtype, trans_a, trans_b)
    if c is not None and broadcast_shape("gemm", name, (sums, c)) != sums.shape:
        refuse("gemm", name, f"{show(c)} does not broadcast to {show(sums)}")

    def element(i: Expr, j: Expr) -> Expr:
        value = sums[i, j]
        if alpha != 1.0:
            value = value * alpha
        if c is None:
            return value
        return value + (at(c, (i, j)) if beta == 1.0 else at(c, (i, j)) * beta)

    try:
        return compute(sums.shape, element, name)
    except IRError as error:
        refuse("gemm", name, f"alpha {alpha}, beta {beta}: {error}")


def _product(
    operator: str,
    name: str,
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    out_dtype: DType | None,
    trans_a: bool,
    trans_b: bool,
) -> Tensor:
    rows, depth = reversed(a.shape) if trans_a else a.shape
    other, columns = reversed(b.shape) if trans_b else b.shape
    check_inner_extents(operator, name, (a, b), (depth, other))
    dtype = accumulator_type(operator, name, a, b, out_dtype)
    k = reduce_axis(depth, "k")

    def element(i: Expr, j: Expr) -> Reduction:
        left = a[k, i] if trans_a else a[i, k]
        right = b[j, k] if trans_b else b[k, j]
        return te.sum(te.cast(left, dtype) * te.cast(right, dtype), k)

    sums = compute((rows, columns), element, name if bias is None else f"{name}_sum")
    return sums if bias is None else add_bias(operator, name, sums, bias, axis=1)


def matmul(a: Tensor, b: Tensor, *, out_dtype: DType | None = None, name: str = "matmul") -> Tensor:
    """NumPy's `a @ b`: `name[..., i, j]`, the sum over `k`; axes before the last two broadcast.

    A 1-D `a` is a row, a 1-D `b` a column; the result lacks this axis. Types: see
    `checks.accumulator_type`.

    Raises
    ------
    TensorError
        An operand is a scalar; extents or types do not fit.
    """
    if not a.shape or not b.shape:
        refuse("matmul", name, f"{show(a)} and {show(b)}: a scalar is no matrix")
    depth, other = a.shape[-1], b.shape[-2:][0]
    check_inner_extents("matmul", name, (a, b), (depth, other))
    dtype = accumulator_type("matmul", name, a, b, out_dtype)

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


def add_bias(operator: str, name: str, sums: Tensor, bias: Tensor, axis: int) -> Tensor:
    """A stage `name`: `sums` plus a vector `bias` along `axis`."""
    extent = sums.shape[axis]
    if bias.shape != (extent,) or bias.dtype != sums.dtype:
        refuse(operator, name, f"bias {show(bias)} has to be {sums.dtype}[{extent}]")

    def element(*indices: Expr) -> Expr:
        return sums[indices] + bias[indices[axis]]

    axes = [each.name for each in sums.source.axes] if sums.source else None
    return compute(sums.shape, element, name, axes)
