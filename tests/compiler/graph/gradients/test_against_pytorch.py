"""Gradients of operators in float32 against PyTorch's, at corners and ties too.

PyTorch is no dependency: the tests are skipped without it. Put it beside, on PYTHONPATH.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import pullback
from tandem.compiler.operators.activations import GeluForm
from tandem.compiler.operators.scatter import ScatterReduction
from tests.compiler.graph.gradients.test_rules import function_of
from tests.support.compiler.graph.gradient_cases import CASES
from tests.support.compiler.graph.gradient_draws import Array, OperatorCall, call_of

torch = pytest.importorskip("torch")
functional: Any = torch.nn.functional

Reference: TypeAlias = Callable[..., Any]
"""An operator of PyTorch: tensors by position, and our attributes by keyword."""


def _axes(x: Any, axes: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(range(x.dim())) if axes is None else axes


def _reduction(function: Callable[[Any, tuple[int, ...], bool], Any]) -> Reference:
    def reduce(x: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
        over = _axes(x, axes)
        # PyTorch reduces all axes where none is named.
        return function(x, over, keepdims) if over else function(x[None], (0,), False)

    return reduce


def _gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, **trans: bool) -> Any:
    left = a.T if trans["trans_a"] else a
    right = b.T if trans["trans_b"] else b
    product = alpha * (left @ right)
    return product if c is None else product + beta * c


def _conv2d(x: Any, w: Any, b: Any = None, *, padding: tuple[int, ...], **more: Any) -> Any:
    top, left, bottom, right = padding
    image = functional.pad(x, (left, right, top, bottom))
    more["stride"] = more.pop("strides")
    return functional.conv2d(image, w, b, **more)


def _max_pool(
    x: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: Any
) -> Any:
    rank = len(kernel)
    pads = [n for axis in reversed(range(rank)) for n in (padding[axis], padding[rank + axis])]
    image = functional.pad(x, pads, value=float("-inf"))
    pool = getattr(functional, f"max_pool{rank}d")
    return pool(image, kernel, strides, 0, dilation, ceil_mode)


def _slice(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    from tandem.compiler.operators.slicing import elements

    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        x = x.index_select(axis, torch.tensor([*elements(x.shape[axis], start, end, step)]).long())
    return x


def _layer_norm(x: Any, scale: Any, bias: Any = None, *, axis: int, epsilon: float) -> Any:
    shape = x.shape[axis % x.dim() :]
    normal = functional.layer_norm(x, shape, eps=epsilon) * scale
    return normal if bias is None else normal + bias


def _rms_norm(x: Any, scale: Any, *, axis: int, epsilon: float) -> Any:
    return functional.rms_norm(x, x.shape[axis % x.dim() :], eps=epsilon) * scale


def _batch_norm(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float) -> Any:
    shape = (1, -1, *(1 for _ in x.shape[2:]))
    centre, factor = mean.reshape(shape), (variance.reshape(shape) + epsilon).rsqrt()
    return (x - centre) * factor * scale.reshape(shape) + bias.reshape(shape)


def _gather(x: Any, indices: Any, axis: int) -> Any:
    along, shape = axis % x.dim(), x.shape
    flat = x.index_select(along, indices.reshape(-1) % shape[along])
    return flat.reshape((*shape[:along], *indices.shape, *shape[along + 1 :]))


def _scatter_add(x: Any, indices: Any, updates: Any, axis: int, reduction: Any) -> Any:
    inside = (indices >= -x.shape[axis]) & (indices < x.shape[axis])
    assert reduction is ScatterReduction.ADD
    return x.scatter_add(axis, indices % x.shape[axis], torch.where(inside, updates, 0.0))


def _cumulative(function: str) -> Reference:
    def cumulate(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
        assert not exclusive
        own = x.flip(axis) if reverse else x
        found = getattr(torch, function)(own, axis)
        return found.flip(axis) if reverse else found

    return cumulate


def _same(name: str) -> Reference:
    return lambda *tensors: getattr(torch, name)(*tensors)


REFERENCES: Final[Mapping[str, Reference]] = MappingProxyType(
    {
        **{
            name: _same(name)
            for name in (
                *("acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf"),
                *("exp", "log", "maximum", "minimum", "multiply", "negative", "reciprocal", "relu"),
                *("sigmoid", "sin", "sinh", "sqrt", "subtract", "tan", "tanh", "where", "divide"),
                "absolute",
            )
        },
        "batch_norm": _batch_norm,
        "celu": lambda x, alpha: functional.celu(x, alpha),
        "clip": lambda x, min, max: torch.clamp(x, min, max) if (min, max) != (None, None) else x,
        "concat": lambda *tensors, axis: torch.cat(tensors, axis),
        "conv2d": _conv2d,
        "cumulative_product": _cumulative("cumprod"),
        "cumulative_sum": _cumulative("cumsum"),
        "dense": lambda *tensors: functional.linear(*tensors),
        "elu": lambda x, alpha: functional.elu(x, alpha),
        "expand": lambda x, shape: x.expand(shape),
        "gather": _gather,
        "gather_elements": lambda x, i, axis: x.gather(axis, i % x.shape[axis]),
        "gelu": lambda x, approximate: functional.gelu(
            x, approximate="none" if approximate is GeluForm.NONE else "tanh"
        ),
        "gemm": _gemm,
        "global_average_pool": lambda x: x.mean(tuple(range(2, x.dim())), True),
        "global_max_pool": lambda x: x.amax(tuple(range(2, x.dim())), True),
        "hard_swish": lambda x: functional.hardswish(x),
        "layer_norm": _layer_norm,
        "leaky_relu": lambda x, alpha: functional.leaky_relu(x, alpha),
        "log_softmax": lambda x, axis: functional.log_softmax(x, axis),
        "matmul": _same("matmul"),
        "max_pool": _max_pool,
        "mean": lambda *tensors: sum(tensors) / len(tensors),
        "mish": lambda x: functional.mish(x),
        "power": _same("pow"),
        "prelu": lambda x, slope: torch.where(x > 0, x, slope * x),
        "reduce_l1": _reduction(lambda x, axes, keep: x.abs().sum(axes, keep)),
        "reduce_l2": _reduction(lambda x, axes, keep: x.norm(2, axes, keep)),
        "reduce_log_sum": _reduction(lambda x, axes, keep: x.sum(axes, keep).log()),
        "reduce_log_sum_exp": _reduction(lambda x, axes, keep: x.logsumexp(axes, keep)),
        "reduce_max": _reduction(lambda x, axes, keep: x.amax(axes, keep)),
        "reduce_mean": _reduction(lambda x, axes, keep: x.mean(axes, keep)),
        "reduce_min": _reduction(lambda x, axes, keep: x.amin(axes, keep)),
        "reduce_sum": _reduction(lambda x, axes, keep: x.sum(axes, keep)),
        "reduce_sum_square": _reduction(lambda x, axes, keep: (x * x).sum(axes, keep)),
        "rms_norm": _rms_norm,
        "scatter_elements": _scatter_add,
        "selu": lambda x: functional.selu(x),
        "slice": _slice,
        "softmax": lambda x, axis: functional.softmax(x, axis),
        "softplus": lambda x: functional.softplus(x),
        "softsign": lambda x: functional.softsign(x),
        "split": lambda x, sizes, axis: x.split(sizes, axis),
        "swish": lambda x, alpha: x * torch.sigmoid(alpha * x),
        "thresholded_relu": lambda x: functional.threshold(x, 1.0, 0.0),
        "tile": lambda x, repeats: x.tile(repeats),
        "total": lambda *tensors: sum(tensors),
        "transpose": lambda x, perm: x.permute(perm or tuple(reversed(range(x.dim())))),
    }
)

CORNERS: Final[Mapping[str, tuple[OperatorCall, ...]]] = MappingProxyType(
    {
        **{
            name: (call_of(np.array([-1.0, 0.0, 1.0])),)
            for name in ("absolute", "relu", "hard_swish")
        },
        "celu": (call_of(np.array([-1.0, 0.0, 1.0]), alpha=0.5),),
        "clip": (call_of(np.array([-2.0, -1.0, 0.0, 0.5, 1.0]), min=-1.0, max=0.5),),
        "elu": (call_of(np.array([-1.0, 0.0, 1.0]), alpha=0.5),),
        "leaky_relu": (call_of(np.array([-1.0, 0.0, 1.0]), alpha=0.25),),
        "max_pool": (
            call_of(
                np.array([[[1.0, 3.0, 3.0, 2.0, 2.0, 2.0]]]),
                kernel=(3,),
                strides=(1,),
                padding=(1, 1),
                dilation=(1,),
                ceil_mode=False,
            ),
        ),
        "maximum": (call_of(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])),),
        "minimum": (call_of(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])),),
        "power": (call_of(np.array([0.0, 0.0, 2.0]), np.array([2.0, 1.0, 0.0])),),
        "prelu": (call_of(np.array([-1.0, 0.0, 1.0]), np.array([0.25])),),
        "reduce_l2": (call_of(np.zeros((2, 2)), axes=(1,), keepdims=False),),
        "reduce_max": (call_of(np.array([[1.0, 2.0, 2.0]]), axes=(1,), keepdims=True),),
        "reduce_min": (call_of(np.array([[1.0, 1.0, 2.0]]), axes=None, keepdims=True),),
        "selu": (call_of(np.array([-1.0, 0.0, 1.0])),),
        "thresholded_relu": (call_of(np.array([0.5, 1.0, 2.0])),),
    }
)


def compare(name: str, call: OperatorCall, rng: np.random.Generator) -> None:
    """Compares the gradients of a random sum of the results' elements."""
    operands = [
        value.astype(np.float32) if value.dtype.kind == "f" else value for value in call.operands
    ]
    tensors = [torch.tensor(each, requires_grad=each.dtype.kind == "f") for each in operands]
    results = REFERENCES[name](*tensors, **call.attributes)
    results = results if isinstance(results, tuple) else (results,)
    weights = [np.asarray(rng.uniform(-1, 1, each.shape), np.float32) for each in results]
    pairs = zip(results, weights, strict=True)
    sum((one * torch.tensor(weight)).sum() for one, weight in pairs).backward()
    given = OperatorCall(tuple(operands), call.attributes)
    found = evaluate(pullback(function_of(name, given)), [*operands, *weights])
    wanted: list[Array] = [
        (torch.zeros_like(tensor) if tensor.grad is None else tensor.grad).numpy()
        for tensor in tensors
        if tensor.requires_grad
    ]
    for one, other in zip(found, wanted, strict=True):
        scale = max(1e-3, float(np.abs(other).max(initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * scale)


def excluded(name: str, call: OperatorCall) -> bool:
    """Whether PyTorch has no such form."""
    attributes = call.attributes
    if name.startswith("cumulative"):
        return bool(attributes["exclusive"])
    if name in ("maximum", "minimum"):
        return len(call.operands) != 2
    if name == "scatter_elements":
        return attributes["reduction"] is not ScatterReduction.ADD
    return (
        name == "clip" and None not in attributes.values() and attributes["max"] < attributes["min"]
    )


@pytest.mark.parametrize("name", REFERENCES)
def test_random_shapes(name: str) -> None:
    compared = 0
    seed = 0
    while compared < 20:
        rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
        seed += 1
        call = CASES[name](rng)
        if not excluded(name, call):
            compare(name, call, rng)
            compared += 1


@pytest.mark.parametrize("name", CORNERS)
def test_corners_and_ties(name: str) -> None:
    for call in CORNERS[name]:
        compare(name, call, np.random.default_rng(0))
