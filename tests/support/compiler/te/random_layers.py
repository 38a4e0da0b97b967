"""Small random layers as tensor expressions, determined by a seed: what sketches tile."""

from __future__ import annotations

import random

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.tensor import Reduction

TYPES = (FLOAT32, FLOAT32, INT32, INT8)


def random_layer(rng: random.Random) -> Tensor:
    """A convolution, product, pooling or normalisation, maybe with stages that follow."""
    return rng.choice((_convolution, _convolution, _product, _pooling, _softmax))(rng)


def _convolution(rng: random.Random) -> Tensor:
    """In one to three dimensions, with groups, strides, dilation and padding."""
    rank, dtype = rng.randint(1, 3), rng.choice(TYPES)
    groups, inputs, outputs = rng.choice((1, 1, 2)), rng.randint(1, 4), rng.randint(1, 6)
    stride, dilation, padding = rng.choice((1, 1, 2)), rng.choice((1, 1, 2)), rng.randint(0, 1)
    size, kernel = rng.randint(4, 7), rng.randint(1, 2)
    inside = [size] * rank
    data = placeholder((1, groups * inputs, *inside), dtype, "data")
    weight = placeholder((groups * outputs, inputs, *[kernel] * rank), dtype, "weight")

    def framed(n: Expr, c: Expr, *at: Expr) -> Expr:
        tests = [test for i in at for test in (padding <= i, i < size + padding)]
        return te.select(te.all_of(*tests), data[(n, c, *(i - padding for i in at))], 0)

    framed_size = size + 2 * padding
    pad = compute((1, groups * inputs, *[framed_size] * rank), framed, "pad") if padding else data
    count = (framed_size - (kernel - 1) * dilation - 1) // stride + 1
    term = reduce_axis(inputs, "ci")
    window = [reduce_axis(kernel, f"k{axis}") for axis in range(rank)]

    def sums(n: Expr, c: Expr, *at: Expr) -> Reduction:
        channel = term if groups == 1 else c // outputs * inputs + term
        places = (i * stride + k * dilation for i, k in zip(at, window, strict=True))
        value = pad[(n, channel, *places)] * weight[(c, term, *window)]
        return te.sum(value, axis=(term, *window))

    found = compute((1, groups * outputs, *[count] * rank), sums, "conv")
    return _followed(rng, found)


def _product(rng: random.Random) -> Tensor:
    """Of matrices, or of several, either operand in either order."""
    dtype, turned = rng.choice(TYPES), rng.random() < 0.5
    m, n, k = (rng.randint(1, 9) for _ in range(3))
    stack = (rng.randint(1, 3),) if rng.random() < 0.5 else ()
    a = placeholder((*stack, m, k), dtype, "a")
    b = placeholder((*stack, n, k) if turned else (*stack, k, n), dtype, "b")
    r = reduce_axis(k, "k")

    def sums(*at: Expr) -> Reduction:
        *outer, i, j = at
        right = (*outer, j, r) if turned else (*outer, r, j)
        return te.sum(a[(*outer, i, r)] * b[right], axis=r)

    return _followed(rng, compute((*stack, m, n), sums, "product"))


def _pooling(rng: random.Random) -> Tensor:
    size, channels, kernel = rng.randint(3, 7), rng.randint(1, 3), rng.randint(1, 3)
    data = placeholder((channels, size, size), rng.choice(TYPES), "data")
    count = (size - kernel) // 2 + 1
    y, x = reduce_axis(kernel, "ky"), reduce_axis(kernel, "kx")
    join = rng.choice((te.max, te.sum))
    return compute(
        (channels, count, count),
        lambda c, i, j: join(data[c, i * 2 + y, j * 2 + x], axis=(y, x)),
        "pool",
    )


def _softmax(rng: random.Random) -> Tensor:
    """The stages of a softmax, with a product in place of the exponential, so that sums are exact
    in any order."""
    rows, columns = rng.randint(1, 9), rng.randint(1, 40)
    x = placeholder((rows, columns), FLOAT32, "x")
    first, second = reduce_axis(columns, "k"), reduce_axis(columns, "k")
    top = compute((rows,), lambda i: te.max(x[i, first], axis=first), "top")
    near = compute((rows, columns), lambda i, j: (x[i, j] - top[i]) * 2.0, "near")
    total = compute((rows,), lambda i: te.sum(near[i, second], axis=second), "total")
    return compute((rows, columns), lambda i, j: near[i, j] - total[i], "shares")


def _followed(rng: random.Random, found: Tensor) -> Tensor:
    """The tensor, or an element-wise stage of it and of a bias or a residual."""
    kind = rng.choice(("nothing", "clip", "bias", "residual"))
    if kind == "nothing":
        return found
    if kind == "clip":
        return compute(found.shape, lambda *i: te.maximum(found[i], 0), "out")
    axis = 1 if len(found.shape) > 2 else len(found.shape) - 1
    shape = found.shape if kind == "residual" else (found.shape[axis],)
    other = placeholder(shape, found.dtype, "other")

    def joined(*i: Expr) -> Expr:
        return found[i] + other[i if kind == "residual" else (i[axis],)]

    return compute(found.shape, joined, "out")
