"""Dense layers."""

from __future__ import annotations

from compiler import te
from compiler.errors import IRError
from compiler.ir.dtypes import DType
from compiler.ir.expr import Expr
from compiler.operators.broadcast import at, broadcast_shape
from compiler.operators.checks import accumulator, meeting, ranked, refuse, show
from compiler.operators.epilogue import add_bias
from compiler.te import Tensor, compute, reduce_axis
from compiler.te.tensor import Reduction

__all__ = ["dense", "gemm"]


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    out_dtype: DType | None = None,
    name: str = "dense",
) -> Tensor:
    """`name[i, j]`, the sum over `k` of `data[i, k] * weight[j, k]`, plus `bias[j]`.

    Stages: `{name}_sum`, then `name`, where there is a bias. Types as `conv2d`.

    Raises
    ------
    TensorError
        Ranks, extents, types.
    """
    ranked("dense", name, data, 2, "rows and features")
    ranked("dense", name, weight, 2, "outputs and features")
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
    """alpha * a @ b + beta * c, with `a` or `b` transposed; c broadcasts to the product.

    Stages: `{name}_sum`, then `name`, where there is more than the product.

    Raises
    ------
    TensorError
        Ranks, extents, types; a factor that the type does not hold.
    """
    ranked("gemm", name, a, 2, "a matrix")
    ranked("gemm", name, b, 2, "a matrix")
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
    meeting(operator, name, (a, b), (depth, other))
    dtype = accumulator(operator, name, a, b, out_dtype)
    k = reduce_axis(depth, "k")

    def element(i: Expr, j: Expr) -> Reduction:
        left = a[k, i] if trans_a else a[i, k]
        right = b[j, k] if trans_b else b[k, j]
        return te.sum(te.cast(left, dtype) * te.cast(right, dtype), k)

    sums = compute((rows, columns), element, name if bias is None else f"{name}_sum")
    return sums if bias is None else add_bias(operator, name, sums, bias, axis=1)
