"""Operators that no library has, as tensor expressions: what sketches are for.

- `tropical product`: a product of matrices whose sums are maxima and whose products are sums, a
  step of all shortest or longest paths.
- `L1 distances`: of all rows of one matrix to all rows of another.
- `local variation`: how far an image's windows of 3 x 3 are from their middles, with weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis


def tropical_product(rows: int = 128, columns: int = 128, depth: int = 128) -> Tensor:
    """The greatest of a[i, k] + b[k, j]."""
    a, b = placeholder((rows, depth), FLOAT32, "a"), placeholder((depth, columns), FLOAT32, "b")
    k = reduce_axis(depth, "k")
    return compute((rows, columns), lambda i, j: te.max(a[i, k] + b[k, j], axis=k), "longest")


def distances(rows: int = 128, others: int = 128, depth: int = 64) -> Tensor:
    """The sum of |x[i, k] - y[j, k]|."""
    x, y = placeholder((rows, depth), FLOAT32, "x"), placeholder((others, depth), FLOAT32, "y")
    k = reduce_axis(depth, "k")
    return compute(
        (rows, others), lambda i, j: te.sum(te.abs(x[i, k] - y[j, k]), axis=k), "distance"
    )


def local_variation(channels: int = 32, size: int = 56) -> Tensor:
    """The sum of w[a, b] |x[c, i + a, j + b] - x[c, i + 1, j + 1]| over windows."""
    x = placeholder((channels, size + 2, size + 2), FLOAT32, "x")
    w = placeholder((3, 3), FLOAT32, "w")
    a, b = reduce_axis(3, "a"), reduce_axis(3, "b")
    return compute(
        (channels, size, size),
        lambda c, i, j: te.sum(
            w[a, b] * te.abs(x[c, i + a, j + b] - x[c, i + 1, j + 1]), axis=(a, b)
        ),
        "variation",
    )


EXPRESSIONS: Mapping[str, Callable[[], Tensor]] = MappingProxyType(
    {
        "tropical product": tropical_product,
        "L1 distances": distances,
        "local variation": local_variation,
    }
)
"""The operators, by name."""
