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
from tandem.compiler.operators.pad import PadMode
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


def _col2im(x: Any, *, image: Any, padding: Any, **more: Any) -> Any:
    rank = len(image)
    whole = [size + padding[at] + padding[rank + at] for at, size in enumerate(image)]
    # Of one axis: rows of one row.
    flat = 2 - rank
    given = {
        "kernel_size": (1,) * flat + more["kernel"],
        "dilation": (1,) * flat + more["dilation"],
        "stride": (1,) * flat + more["strides"],
    }
    found = functional.fold(x, (1,) * flat + tuple(whole), **given)
    begins = (0,) * flat + padding[:rank]
    height, width = (1,) * flat + image
    inner = found[:, :, begins[0] :, begins[1] :][:, :, :height, :width]
    return inner[:, :, 0] if flat else inner


def _depth_to_space(x: Any, block: int, column_row_depth: bool) -> Any:
    if column_row_depth:
        return functional.pixel_shuffle(x, block)
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, block, block, channels // block**2, height, width)
    return parts.permute(0, 3, 4, 1, 5, 2).reshape(batch, -1, height * block, width * block)


def _dequantise(x: Any, scale: Any, zero: Any, axis: int) -> Any:
    shape = [1] * x.dim()
    shape[axis] = -1
    return (x - zero.reshape(shape).to(torch.int32)) * scale.reshape(shape)


def _flatten(x: Any, axis: int) -> Any:
    rows = int(np.prod(x.shape[: axis + x.dim() if axis < 0 else axis]))
    return x.reshape(rows, -1)


def _gather_nd(x: Any, indices: Any, batch_dims: int) -> Any:
    if batch_dims:
        pairs = zip(x, indices, strict=True)
        return torch.stack([_gather_nd(one, own, batch_dims - 1) for one, own in pairs])
    return x[tuple(indices.unbind(-1))]


def _windows(x: Any, kernel: Any, strides: Any, dilation: Any) -> Any:
    """The windows of an image, whose elements are the last axis."""
    rank = len(kernel)
    for at, (size, step, far) in enumerate(zip(kernel, strides, dilation, strict=True)):
        x = x.unfold(2 + at, far * (size - 1) + 1, step)[..., ::far]
    return x.flatten(-rank)


def _padded(x: Any, padding: Any) -> Any:
    rank = len(padding) // 2
    pads = [n for axis in reversed(range(rank)) for n in (padding[axis], padding[rank + axis])]
    return functional.pad(x, pads)


def _average_pool(x: Any, *, padding: Any, ceil_mode: bool, **more: Any) -> Any:
    assert not ceil_mode
    counts = torch.ones_like(x).detach()
    if more.pop("count_include_pad"):
        counts = torch.ones_like(_padded(counts, padding))
    else:
        counts = _padded(counts, padding)
    return _windows(_padded(x, padding), **more).sum(-1) / _windows(counts, **more).sum(-1)


def _lp_pool(x: Any, *, padding: Any, ceil_mode: bool, p: int, **more: Any) -> Any:
    assert not ceil_mode
    return torch.linalg.vector_norm(_windows(_padded(x, padding), **more), p, dim=-1)


def _one_hot(indices: Any, values: Any, depth: int, axis: int) -> Any:
    inside = (indices >= -depth) & (indices < depth)
    hot = functional.one_hot(indices % depth, depth) * inside[..., None]
    return values[0] + (values[1] - values[0]) * torch.movedim(hot, -1, axis)


def _pad(x: Any, pads: tuple[int, ...], mode: PadMode) -> Any:
    if mode is PadMode.CONSTANT:
        return _padded(x, pads)
    for axis, extent in enumerate(x.shape):
        around = (pads[axis], pads[x.dim() + axis])
        index = np.pad(np.arange(extent), around, mode=mode.value)
        x = x.index_select(axis, torch.tensor(index))
    return x


def _put_row(x: Any, row: Any, index: Any) -> Any:
    at = int(index)
    if not 0 <= at < len(x):
        return x * 1.0
    return torch.cat([x[:at], row[None], x[at + 1 :]])


def _product(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape([x.shape[at] if size == 0 else size for at, size in enumerate(shape)])


def _scatter_nd(x: Any, indices: Any, updates: Any, reduction: Any) -> Any:
    assert reduction is ScatterReduction.ADD
    extents = torch.tensor(x.shape[: indices.shape[-1]])
    inside = ((indices >= -extents) & (indices < extents)).all(-1)
    mask = inside.reshape((*inside.shape, *(1 for _ in updates.shape[inside.dim() :])))
    places = tuple((indices % extents).unbind(-1))
    return x.index_put(places, torch.where(mask, updates, 0.0), accumulate=True)


def _shrink(x: Any, bias: float, lambd: float = 0.5) -> Any:
    return torch.where(x > lambd, x - bias, torch.where(x < -lambd, x + bias, x * 0.0))


def _space_to_depth(x: Any, block: int) -> Any:
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, channels, height // block, block, width // block, block)
    return parts.permute(0, 3, 5, 1, 2, 4).reshape(batch, -1, height // block, width // block)


def _unsqueeze(x: Any, axes: tuple[int, ...]) -> Any:
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


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
        "average_pool": _average_pool,
        "batch_norm": _batch_norm,
        "cast": lambda x, to: x.to(getattr(torch, str(to))),
        "celu": lambda x, alpha: functional.celu(x, alpha),
        "clip": lambda x, min, max: torch.clamp(x, min, max) if (min, max) != (None, None) else x,
        "col2im": _col2im,
        "concat": lambda *tensors, axis: torch.cat(tensors, axis),
        "conv2d": _conv2d,
        "cumulative_product": _cumulative("cumprod"),
        "cumulative_sum": _cumulative("cumsum"),
        "dense": lambda *tensors: functional.linear(*tensors),
        "depth_to_space": _depth_to_space,
        "dequantise": _dequantise,
        "elu": lambda x, alpha: functional.elu(x, alpha),
        "expand": lambda x, shape: x.expand(shape),
        "flatten": _flatten,
        "gather": _gather,
        "gather_nd": _gather_nd,
        "gather_elements": lambda x, i, axis: x.gather(axis, i % x.shape[axis]),
        "gelu": lambda x, approximate: functional.gelu(
            x, approximate="none" if approximate is GeluForm.NONE else "tanh"
        ),
        "gemm": _gemm,
        "global_average_pool": lambda x: x.mean(tuple(range(2, x.dim())), True),
        "global_max_pool": lambda x: x.amax(tuple(range(2, x.dim())), True),
        "hard_sigmoid": lambda x, alpha, beta=0.5: torch.clamp(alpha * x + beta, 0.0, 1.0),
        "identity": lambda x: x.clone(),
        "instance_norm": lambda x, scale, bias, epsilon: functional.instance_norm(
            x, weight=scale, bias=bias, eps=epsilon
        ),
        "hard_swish": lambda x: functional.hardswish(x),
        "layer_norm": _layer_norm,
        "leaky_relu": lambda x, alpha: functional.leaky_relu(x, alpha),
        "log_softmax": lambda x, axis: functional.log_softmax(x, axis),
        "lp_pool": _lp_pool,
        "matmul": _same("matmul"),
        "max_pool": _max_pool,
        "mean": lambda *tensors: sum(tensors) / len(tensors),
        "mish": lambda x: functional.mish(x),
        "modulo": lambda a, b, fmod: torch.fmod(a, b) if fmod else torch.remainder(a, b),
        "one_hot": _one_hot,
        "pad": _pad,
        "power": _same("pow"),
        "prelu": lambda x, slope: torch.where(x > 0, x, slope * x),
        "reduce_l1": _reduction(lambda x, axes, keep: x.abs().sum(axes, keep)),
        "reduce_l2": _reduction(lambda x, axes, keep: x.norm(2, axes, keep)),
        "reduce_log_sum": _reduction(lambda x, axes, keep: x.sum(axes, keep).log()),
        "reduce_log_sum_exp": _reduction(lambda x, axes, keep: x.logsumexp(axes, keep)),
        "reduce_max": _reduction(lambda x, axes, keep: x.amax(axes, keep)),
        "reduce_mean": _reduction(lambda x, axes, keep: x.mean(axes, keep)),
        "reduce_min": _reduction(lambda x, axes, keep: x.amin(axes, keep)),
        "reduce_prod": _reduction(_product),
        "reduce_sum": _reduction(lambda x, axes, keep: x.sum(axes, keep)),
        "reduce_sum_square": _reduction(lambda x, axes, keep: (x * x).sum(axes, keep)),
        "put_row": _put_row,
        "reshape": _reshape,
        "rms_norm": _rms_norm,
        "scatter_elements": _scatter_add,
        "scatter_nd": _scatter_nd,
        "selu": lambda x: functional.selu(x),
        "shrink": _shrink,
        "slice": _slice,
        "softmax": lambda x, axis: functional.softmax(x, axis),
        "softplus": lambda x: functional.softplus(x),
        "softsign": lambda x: functional.softsign(x),
        "space_to_depth": _space_to_depth,
        "squeeze": lambda x, axes: x.squeeze() if axes is None else x.squeeze(axes),
        "split": lambda x, sizes, axis: x.split(sizes, axis),
        "swish": lambda x, alpha: x * torch.sigmoid(alpha * x),
        "thresholded_relu": lambda x: functional.threshold(x, 1.0, 0.0),
        "tile": lambda x, repeats: x.tile(repeats),
        "total": lambda *tensors: sum(tensors),
        "transpose": lambda x, perm: x.permute(perm or tuple(reversed(range(x.dim())))),
        "unsqueeze": _unsqueeze,
        "upsample": lambda x, factors: x.repeat_interleave(factors[0], 2).repeat_interleave(
            factors[1], 3
        ),
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
    dtypes = [result.detach().numpy().dtype for result in results]
    pairs = zip(results, dtypes, strict=True)
    weights = [np.asarray(rng.uniform(-1, 1, one.shape), dtype) for one, dtype in pairs]
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
    if name == "col2im":
        return len(attributes["image"]) > 2
    if name == "pad":
        return attributes["mode"] is not PadMode.CONSTANT and min(attributes["pads"]) < 0
    if name in ("average_pool", "lp_pool"):
        return bool(attributes["ceil_mode"])
    if name.startswith("scatter"):
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
