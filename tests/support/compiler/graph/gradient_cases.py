"""Random calls of operators, for tests of their gradients."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.ir import FLOAT64
from tandem.compiler.operators.activations import GeluForm
from tests.support.compiler.graph import gradient_moves as moves
from tests.support.compiler.graph.gradient_draws import (
    Drawing,
    OperatorCall,
    broadcastable,
    call_of,
    chosen,
    extents,
    normal,
)


def _one(low: float, high: float, **choices: tuple[Any, ...]) -> Drawing:
    """One operand in a range, and attributes from choices."""

    def draw(rng: np.random.Generator) -> OperatorCall:
        x = np.asarray(rng.uniform(low, high, extents(rng)))
        return call_of(x, **chosen(rng, choices))

    return draw


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
        "col2im": moves.col2im,
        "concat": moves.concat,
        "conv2d": _conv2d,
        "cumulative_product": _cumulative_product,
        "cumulative_sum": _axis(exclusive=(False, True), reverse=(False, True)),
        "dense": _dense,
        "depth_to_space": moves.depth_to_space,
        "dequantise": _dequantise,
        "divide": _several(2, 0.5, 2.0),
        "elu": _one(-2, 2, alpha=(1.0, 0.5)),
        "expand": moves.expand,
        "flatten": moves.flatten,
        "gather": moves.gather,
        "gather_elements": moves.gather_elements,
        "gather_nd": moves.gather_nd,
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
        "one_hot": moves.one_hot,
        "pad": moves.pad,
        "power": _several(2, 0.5, 2.0),
        "prelu": _prelu,
        "put_row": moves.put_row,
        **{name: _reduction() for name in OPERATORS if name.startswith("reduce_")},
        "reduce_log_sum": _reduction(0.2),
        "reduce_prod": _product,
        "reshape": moves.reshape,
        "rms_norm": _last_axes(1),
        "scatter_elements": moves.scatter_elements,
        "scatter_nd": moves.scatter_nd,
        "selu": _one(-2, 2),
        "shrink": _one(-2, 2, bias=(0.0, 0.2)),
        "slice": moves.sliced,
        "softmax": _axis(),
        "space_to_depth": moves.space_to_depth,
        "split": moves.split,
        "squeeze": moves.squeeze,
        "swish": _one(-3, 3, alpha=(1.0, 0.5)),
        "tan": _one(-1.2, 1.2),
        "thresholded_relu": _one(-3, 3),
        "tile": moves.tile,
        "transpose": moves.transpose,
        "unsqueeze": moves.unsqueeze,
        "upsample": moves.upsample,
        "where": _where,
    }
)
"""How calls of each operator are drawn whose gradient may differ from 0."""
