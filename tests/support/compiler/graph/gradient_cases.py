"""Random calls of operators, for tests of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.ir import FLOAT64
from tandem.compiler.operators.activations import GeluForm
from tandem.compiler.operators.pad import PadMode
from tandem.compiler.operators.scatter import ScatterReduction

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """An operator's operands, floats of which are differentiated, and its attributes."""

    operands: tuple[Array, ...]
    attributes: Mapping[str, Any]


def call_of(*operands: Array, **attributes: Any) -> OperatorCall:
    return OperatorCall(operands, attributes)


Drawing: TypeAlias = Callable[[np.random.Generator], OperatorCall]


def extents(rng: np.random.Generator, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """A small shape of some rank."""
    return tuple(int(n) for n in rng.integers(1, 4, rng.integers(least, most + 1)))


def broadcastable(rng: np.random.Generator, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast."""
    whole = extents(rng)
    found = []
    for _ in range(count):
        own = whole[rng.integers(0, len(whole) + 1) :]
        found.append(tuple(1 if rng.random() < 0.3 else n for n in own))
    return found


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.standard_normal(shape))


def _one(low: float, high: float, **choices: tuple[Any, ...]) -> Drawing:
    """One operand in a range, and attributes from choices."""

    def draw(rng: np.random.Generator) -> OperatorCall:
        x = np.asarray(rng.uniform(low, high, extents(rng)))
        return call_of(x, **chosen(rng, choices))

    return draw


def chosen(rng: np.random.Generator, choices: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    return {name: values[int(rng.integers(len(values)))] for name, values in choices.items()}


def _several(count: int, low: float = -2.0, high: float = 2.0) -> Drawing:
    """Operands that broadcast."""

    def draw(rng: np.random.Generator) -> OperatorCall:
        shapes = broadcastable(rng, count)
        return call_of(*(np.asarray(rng.uniform(low, high, shape)) for shape in shapes))

    return draw


def _any_number(rng: np.random.Generator) -> OperatorCall:
    return _several(int(rng.integers(1, 4)))(rng)


def _where(rng: np.random.Generator) -> OperatorCall:
    condition, a, b = broadcastable(rng, 3)
    return call_of(np.asarray(rng.random(condition) < 0.5), normal(rng, a), normal(rng, b))


def _prelu(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    slope = tuple(1 if rng.random() < 0.4 else n for n in shape[rng.integers(0, len(shape) + 1) :])
    return call_of(normal(rng, shape), normal(rng, slope))


def _modulo(rng: np.random.Generator) -> OperatorCall:
    a, b = broadcastable(rng, 2)
    return call_of(
        np.asarray(rng.uniform(-4, 4, a), np.float32),
        np.asarray(rng.uniform(0.5, 2, b) * rng.choice([-1, 1], b), np.float32),
        fmod=int(rng.integers(2)),
    )


def _cast(rng: np.random.Generator) -> OperatorCall:
    return call_of(normal(rng, extents(rng)), to=FLOAT64)


def _matmul(rng: np.random.Generator) -> OperatorCall:
    depth = int(rng.integers(1, 5))
    first, second = broadcastable(rng, 2)
    rows, columns = (tuple(int(n) for n in rng.integers(1, 4, k)) for k in rng.integers(0, 2, 2))
    a = (*(first if rows else ()), *rows, depth)
    b = (*(second if columns else ()), depth, *columns)
    return call_of(normal(rng, a), normal(rng, b))


def _dense(rng: np.random.Generator) -> OperatorCall:
    rows, depth, columns = (int(n) for n in rng.integers(1, 5, 3))
    operands = [normal(rng, (rows, depth)), normal(rng, (columns, depth))]
    if rng.random() < 0.5:
        operands.append(normal(rng, (columns,)))
    return call_of(*operands)


def _gemm(rng: np.random.Generator) -> OperatorCall:
    rows, depth, columns = (int(n) for n in rng.integers(1, 5, 3))
    trans = chosen(rng, {"trans_a": (False, True), "trans_b": (False, True)})
    a = (depth, rows) if trans["trans_a"] else (rows, depth)
    b = (columns, depth) if trans["trans_b"] else (depth, columns)
    operands = [normal(rng, a), normal(rng, b)]
    if rng.random() < 0.7:
        c = [(), (columns,), (1, columns), (rows, 1), (rows, columns)][int(rng.integers(5))]
        operands.append(normal(rng, c))
    factors = chosen(rng, {"alpha": (1.0, 0.5), "beta": (1.0, -2.0)})
    return call_of(*operands, **trans, **factors)


def _conv2d(rng: np.random.Generator) -> OperatorCall:
    groups = int(rng.integers(1, 4))
    inputs, outputs, batch = (int(n) for n in rng.integers(1, 3, 3))
    kernel = tuple(int(n) for n in rng.integers(1, 4, 2))
    strides, dilation = (tuple(int(n) for n in rng.integers(1, 3, 2)) for _ in range(2))
    padding = tuple(int(n) for n in rng.integers(0, 4, 4))
    image = tuple(
        int(rng.integers(0, 4)) + max(1, far * (k - 1) + 1 - before - after)
        for far, k, before, after in zip(dilation, kernel, padding[:2], padding[2:], strict=True)
    )
    operands = [
        normal(rng, (batch, groups * inputs, *image)),
        normal(rng, (groups * outputs, inputs, *kernel)),
    ]
    if rng.random() < 0.5:
        operands.append(normal(rng, (groups * outputs,)))
    return call_of(*operands, strides=strides, padding=padding, dilation=dilation, groups=groups)


def _reduction(low: float = -2.0) -> Drawing:
    def draw(rng: np.random.Generator) -> OperatorCall:
        shape = extents(rng)
        axes = None
        if rng.random() < 0.7:
            found = [axis for axis in range(len(shape)) if rng.random() < 0.5]
            axes = tuple(axis - len(shape) * int(rng.random() < 0.5) for axis in found)
        x = np.asarray(rng.uniform(low, 2.0, shape))
        return call_of(x, axes=axes, keepdims=bool(rng.random() < 0.5))

    return draw


def _product(rng: np.random.Generator) -> OperatorCall:
    call = _reduction()(rng)
    x = np.where(rng.random(call.operands[0].shape) < 0.15, 0.0, call.operands[0])
    return OperatorCall((np.asarray(x),), call.attributes)


def _axis(most: int = 3, **choices: tuple[Any, ...]) -> Drawing:
    def draw(rng: np.random.Generator) -> OperatorCall:
        shape = extents(rng, 1, most)
        axis = int(rng.integers(-len(shape), len(shape)))
        return call_of(normal(rng, shape), axis=axis, **chosen(rng, choices))

    return draw


def _cumulative_product(rng: np.random.Generator) -> OperatorCall:
    call = _axis(exclusive=(False, True), reverse=(False, True))(rng)
    x = np.where(rng.random(call.operands[0].shape) < 0.15, 0.0, call.operands[0])
    return OperatorCall((x,), call.attributes)


def _image(rng: np.random.Generator) -> OperatorCall:
    return call_of(normal(rng, (*extents(rng, 2, 2), *extents(rng, 1, 3))))


def _pool(**choices: tuple[Any, ...]) -> Drawing:
    def draw(rng: np.random.Generator) -> OperatorCall:
        rank = int(rng.integers(1, 4))
        kernel = tuple(int(n) for n in rng.integers(1, 4, rank))
        strides, dilation = (tuple(int(n) for n in rng.integers(1, 3, rank)) for _ in range(2))
        # Less than the window, so that none is of padding only.
        padding = tuple(int(rng.integers(0, k)) for k in (*kernel, *kernel))
        padding = padding if max(dilation) == 1 else (0,) * (2 * rank)
        image = tuple(
            int(rng.integers(0, 3)) + far * (k - 1) + 1
            for far, k in zip(dilation, kernel, strict=True)
        )
        return call_of(
            normal(rng, (*extents(rng, 2, 2), *image)),
            kernel=kernel,
            strides=strides,
            dilation=dilation,
            padding=padding,
            ceil_mode=bool(rng.random() < 0.5),
            **chosen(rng, choices),
        )

    return draw


def _batch_norm(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 2, 4)
    numbers = [normal(rng, shape[1:2]) for _ in range(3)]
    return call_of(normal(rng, shape), *numbers, rng.uniform(0.2, 2.0, shape[1:2]), epsilon=0.001)


def _instance_norm(rng: np.random.Generator) -> OperatorCall:
    shape = (*extents(rng, 2, 2), *(int(n) for n in rng.integers(2, 4, rng.integers(1, 3))))
    return call_of(normal(rng, shape), *(normal(rng, shape[1:2]) for _ in range(2)), epsilon=0.1)


def _last_axes(most: int) -> Drawing:
    def draw(rng: np.random.Generator) -> OperatorCall:
        shape = tuple(int(n) for n in rng.integers(2, 4, rng.integers(1, 4)))
        axis = int(rng.integers(-len(shape), len(shape)))
        count = int(rng.integers(1, most + 1))
        own = shape[rng.integers(0, len(shape) + 1) :]
        return call_of(
            normal(rng, shape), *(normal(rng, own) for _ in range(count)), axis=axis, epsilon=0.1
        )

    return draw


def _transpose(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 0, 4)
    perm = tuple(int(n) for n in rng.permutation(len(shape))) if rng.random() < 0.8 else None
    return call_of(normal(rng, shape), perm=perm)


def _reshape(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 0, 4)
    size = int(np.prod(shape))
    wanted = [(-1,), (1, -1), (size, 1), (0, -1) if shape else (-1,)][int(rng.integers(4))]
    return call_of(normal(rng, shape), shape=wanted)


def _flatten(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 0, 4)
    return call_of(normal(rng, shape), axis=int(rng.integers(-len(shape), len(shape) + 1)))


def _squeeze(rng: np.random.Generator) -> OperatorCall:
    shape = list(extents(rng, 1, 4))
    at = int(rng.integers(len(shape)))
    shape[at] = 1
    axes = None if rng.random() < 0.3 else (at - len(shape) * int(rng.random() < 0.5),)
    return call_of(normal(rng, tuple(shape)), axes=axes)


def _unsqueeze(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    rank = len(shape) + 2
    axes = rng.choice(rank, 2, replace=False)
    return call_of(normal(rng, shape), axes=tuple(int(axis - rank * (axis % 2)) for axis in axes))


def _expand(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    own = tuple(1 if rng.random() < 0.5 else n for n in shape[rng.integers(0, len(shape) + 1) :])
    return call_of(normal(rng, own), shape=shape)


def _tile(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    return call_of(
        normal(rng, shape), repeats=tuple(int(n) for n in rng.integers(1, 4, len(shape)))
    )


def _depth_to_space(rng: np.random.Generator) -> OperatorCall:
    block = int(rng.integers(1, 3))
    batch, channels, height, width = (int(n) for n in rng.integers(1, 4, 4))
    shape = (batch, channels * block**2, height, width)
    choices = chosen(rng, {"column_row_depth": (False, True)})
    return call_of(normal(rng, shape), block=block, **choices)


def _space_to_depth(rng: np.random.Generator) -> OperatorCall:
    block = int(rng.integers(1, 3))
    batch, channels, height, width = (int(n) for n in rng.integers(1, 4, 4))
    return call_of(normal(rng, (batch, channels, height * block, width * block)), block=block)


def _upsample(rng: np.random.Generator) -> OperatorCall:
    factors = tuple(int(n) for n in rng.integers(1, 4, 2))
    return call_of(normal(rng, extents(rng, 4, 4)), factors=factors)


def _concat(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    parts = [
        (*shape[:axis], int(rng.integers(1, 4)), *shape[axis + 1 :])
        for _ in range(rng.integers(1, 4))
    ]
    return call_of(*(normal(rng, part) for part in parts), axis=axis - len(shape))


def _split(rng: np.random.Generator) -> OperatorCall:
    shape = list(extents(rng, 1, 3))
    axis = int(rng.integers(len(shape)))
    sizes = tuple(int(n) for n in rng.integers(0, 3, rng.integers(1, 4)))
    sizes = (*sizes, 1)
    shape[axis] = sum(sizes)
    return call_of(normal(rng, tuple(shape)), sizes=sizes, axis=axis)


def _slice(rng: np.random.Generator) -> OperatorCall:
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    axes = tuple(int(n) for n in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)])
    starts, ends, steps = [], [], []
    for axis in axes:
        step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
        low, high = sorted(int(n) for n in rng.integers(-shape[axis] - 1, shape[axis] + 2, 2))
        starts.append(low if step > 0 else high)
        ends.append(high if step > 0 else low)
        steps.append(step)
    return call_of(
        normal(rng, shape), starts=tuple(starts), ends=tuple(ends), axes=axes, steps=tuple(steps)
    )


def _pad(rng: np.random.Generator) -> OperatorCall:
    shape = tuple(int(n) for n in rng.integers(3, 5, rng.integers(1, 4)))
    mode = list(PadMode)[int(rng.integers(4))]
    pads = tuple(int(n) for n in rng.integers(-1, 4, 2 * len(shape)))
    return call_of(normal(rng, shape), pads=pads, mode=mode)


def _gather(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(-len(shape), len(shape)))
    extent = shape[axis]
    return call_of(normal(rng, shape), rng.integers(-extent, extent, extents(rng, 0, 2)), axis=axis)


def _gather_elements(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    own = list(shape)
    own[axis] = int(rng.integers(1, 5))
    return call_of(normal(rng, shape), rng.integers(-shape[axis], shape[axis], own), axis=axis)


def _gather_nd(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 4)
    batch = int(rng.integers(0, len(shape)))
    depth = int(rng.integers(1, len(shape) - batch + 1))
    outer = (*shape[:batch], *extents(rng, 0, 2)) if batch else extents(rng, 1, 2)
    columns = [rng.integers(-n, n, outer) for n in shape[batch : batch + depth]]
    return call_of(normal(rng, shape), np.stack(columns, -1), batch_dims=batch)


def _one_hot(rng: np.random.Generator) -> OperatorCall:
    shape, depth = extents(rng), int(rng.integers(1, 4))
    axis = int(rng.integers(-len(shape) - 1, len(shape) + 1))
    indices = np.asarray(rng.integers(-depth - 1, depth + 1, shape))
    return call_of(indices, normal(rng, (2,)), depth=depth, axis=axis)


def _put_row(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    index = np.array(rng.integers(-1, shape[0] + 1))
    return call_of(normal(rng, shape), normal(rng, shape[1:]), index)


_REDUCTIONS = (ScatterReduction.NONE, ScatterReduction.ADD)


def _scatter_elements(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    own = tuple(int(rng.integers(1, n + 1)) for n in shape)
    indices = rng.integers(-shape[axis] - 1, shape[axis] + 1, own)
    choices = chosen(rng, {"reduction": _REDUCTIONS})
    return call_of(normal(rng, shape), indices, normal(rng, own), axis=axis, **choices)


def _scatter_nd(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    depth = int(rng.integers(1, len(shape) + 1))
    outer = extents(rng, 1, 2)
    indices = np.stack([rng.integers(-n - 1, n + 1, outer) for n in shape[:depth]], -1)
    choices = chosen(rng, {"reduction": _REDUCTIONS})
    return call_of(normal(rng, shape), indices, normal(rng, (*outer, *shape[depth:])), **choices)


def _col2im(rng: np.random.Generator) -> OperatorCall:
    rank = int(rng.integers(1, 4))
    kernel, strides, dilation, more = (
        tuple(int(n) for n in rng.integers(1, 3, rank)) for _ in range(4)
    )
    padding = tuple(int(n) for n in rng.integers(0, 2, 2 * rank))
    image = tuple(f * (k - 1) + n for f, k, n in zip(dilation, kernel, more, strict=True))
    counts = [
        (image[a] + padding[a] + padding[rank + a] - dilation[a] * (kernel[a] - 1) - 1)
        // strides[a]
        + 1
        for a in range(rank)
    ]
    batch, channels = (int(n) for n in rng.integers(1, 3, 2))
    return call_of(
        normal(rng, (batch, channels * int(np.prod(kernel)), int(np.prod(counts)))),
        image=image,
        kernel=kernel,
        strides=strides,
        padding=padding,
        dilation=dilation,
    )


def _dequantise(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(-len(shape), len(shape)))
    own = [(), (1,), (shape[axis],)][int(rng.integers(3))]
    return call_of(
        rng.integers(-128, 128, shape).astype(np.int8),
        np.asarray(rng.uniform(0.1, 1.0, own)),
        np.asarray(rng.integers(-5, 5, own), np.int8),
        axis=axis,
    )


CASES: Final[Mapping[str, Drawing]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "absolute",
                "atan",
                "cos",
                "cosh",
                "erf",
                "exp",
                "identity",
                "negative",
                "sin",
                "sinh",
            ),
            _one(-2, 2),
        ),
        **dict.fromkeys(("asinh", "softplus", "softsign", "mish", "sigmoid", "tanh"), _one(-3, 3)),
        **dict.fromkeys(("relu", "hard_swish"), _one(-5, 5)),
        **dict.fromkeys(("acos", "asin", "atanh"), _one(-0.9, 0.9)),
        **dict.fromkeys(("log", "reciprocal", "sqrt"), _one(0.2, 3)),
        **dict.fromkeys(("add", "multiply", "subtract"), _several(2)),
        **dict.fromkeys(("maximum", "mean", "minimum", "total"), _any_number),
        "acosh": _one(1.1, 4),
        "batch_norm": _batch_norm,
        "cast": _cast,
        "celu": _one(-2, 2, alpha=(1.0, 0.5)),
        "clip": _one(-2, 2, min=(-1.0, None), max=(0.5, None, -1.5)),
        "col2im": _col2im,
        "concat": _concat,
        "conv2d": _conv2d,
        "cumulative_product": _cumulative_product,
        "cumulative_sum": _axis(exclusive=(False, True), reverse=(False, True)),
        "dense": _dense,
        "depth_to_space": _depth_to_space,
        "dequantise": _dequantise,
        "divide": _several(2, 0.5, 2.0),
        "elu": _one(-2, 2, alpha=(1.0, 0.5)),
        "expand": _expand,
        "flatten": _flatten,
        "gather": _gather,
        "gather_elements": _gather_elements,
        "gather_nd": _gather_nd,
        "gelu": _one(-3, 3, approximate=tuple(GeluForm)),
        "gemm": _gemm,
        "global_average_pool": _image,
        "global_max_pool": _image,
        "hard_sigmoid": _one(-5, 5, alpha=(0.2, 0.5)),
        "instance_norm": _instance_norm,
        "layer_norm": _last_axes(2),
        "leaky_relu": _one(-2, 2, alpha=(0.01, 0.3)),
        "log_softmax": _axis(),
        "matmul": _matmul,
        "modulo": _modulo,
        "max_pool": _pool(),
        "average_pool": _pool(count_include_pad=(False, True)),
        "lp_pool": _pool(p=(1, 2, 3)),
        "one_hot": _one_hot,
        "pad": _pad,
        "power": _several(2, 0.5, 2.0),
        "prelu": _prelu,
        "put_row": _put_row,
        **{name: _reduction() for name in OPERATORS if name.startswith("reduce_")},
        "reduce_log_sum": _reduction(0.2),
        "reduce_prod": _product,
        "reshape": _reshape,
        "rms_norm": _last_axes(1),
        "scatter_elements": _scatter_elements,
        "scatter_nd": _scatter_nd,
        "selu": _one(-2, 2),
        "shrink": _one(-2, 2, bias=(0.0, 0.2)),
        "slice": _slice,
        "softmax": _axis(),
        "space_to_depth": _space_to_depth,
        "split": _split,
        "squeeze": _squeeze,
        "swish": _one(-3, 3, alpha=(1.0, 0.5)),
        "tan": _one(-1.2, 1.2),
        "thresholded_relu": _one(-3, 3),
        "tile": _tile,
        "transpose": _transpose,
        "unsqueeze": _unsqueeze,
        "upsample": _upsample,
        "where": _where,
    }
)
"""How calls of each operator are drawn whose gradient may differ from 0."""
