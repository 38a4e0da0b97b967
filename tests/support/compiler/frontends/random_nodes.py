"""Random nodes of ONNX: an operator with operands and attributes that fit, for each of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Random: TypeAlias = np.random.Generator


@dataclass(frozen=True)
class RandomNode:
    """A node with operands.

    Attributes
    ----------
    operands
        In order; None for one that is missing.
    outputs
        The number of results.
    runtime
        Whether ONNX Runtime computes what is expected, or else ONNX's reference evaluator.
    domain
        The operator's domain, if it is not the standard's.
    used
        The results that are compared; None for all.
    """

    operator: str
    operands: tuple[Array | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 20
    runtime: bool = True
    domain: str = ""
    used: tuple[int, ...] | None = None


def _floats(random: Random, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def _shape(random: Random, rank: int, least: int = 1, most: int = 6) -> tuple[int, ...]:
    return tuple(int(each) for each in random.integers(least, most + 1, rank))


def _flag(random: Random) -> int:
    return int(random.integers(0, 2))


def _axis(random: Random, rank: int) -> int:
    return int(random.integers(-rank, rank))


def conv(random: Random) -> RandomNode:
    """Convolutions of one to three axes, with groups, strides, dilation and padding."""
    rank, groups = int(random.integers(1, 4)), int(random.integers(1, 3))
    kernel = _shape(random, rank, most=3)
    data = _floats(random, 2, 2 * groups, *_shape(random, rank, 5, 8))
    weight = _floats(random, 3 * groups, 2, *kernel)
    bias = _floats(random, 3 * groups) if _flag(random) else None
    attributes = {
        "group": groups,
        "strides": _shape(random, rank, most=3),
        "dilations": _shape(random, rank, most=2),
        "pads": _shape(random, 2 * rank, 0, 2),
    }
    return RandomNode("Conv", (data, weight, bias), attributes)


def conv_transpose(random: Random) -> RandomNode:
    """Transposed convolutions of one to three axes, with and without a wanted shape."""
    rank, groups = int(random.integers(1, 4)), int(random.integers(1, 3))
    kernel = _shape(random, rank, most=4)
    strides, gaps = _shape(random, rank, most=3), _shape(random, rank, most=2)
    # With pads of 1 on both sides there is an element left.
    data = _floats(random, 2, 2 * groups, *_shape(random, rank, 3, 5))
    weight = _floats(random, 2 * groups, 3, *kernel)
    bias = _floats(random, 3 * groups) if _flag(random) else None
    attributes: dict[str, Any] = {"group": groups, "strides": strides, "dilations": gaps}
    match int(random.integers(0, 3)):
        case 0:
            # Of strides beyond the window the two implementations give different shapes.
            reach = [(k - 1) * gap + 1 for k, gap in zip(kernel, gaps, strict=True)]
            attributes["strides"] = list(map(min, strides, reach))
            attributes["auto_pad"] = ("SAME_UPPER", "SAME_LOWER")[_flag(random)]
        case 1:
            attributes["pads"] = _shape(random, 2 * rank, 0, 1)
            attributes["output_padding"] = [int(random.integers(0, each)) for each in strides]
        case _:
            attributes["output_shape"] = [
                extent * stride for extent, stride in zip(data.shape[2:], strides, strict=True)
            ]
    return RandomNode("ConvTranspose", (data, weight, bias), attributes)


def _pool(operator: str, random: Random, **attributes: Any) -> RandomNode:
    rank = int(random.integers(1, 4))
    data = _floats(random, 2, 3, *_shape(random, rank, 5, 7))
    kernel = _shape(random, rank, 2, 3)
    return RandomNode(
        operator,
        (data,),
        {
            "kernel_shape": kernel,
            "strides": _shape(random, rank, most=2),
            "pads": _shape(random, 2 * rank, 0, 1),
            "ceil_mode": 0 if operator == "LpPool" else _flag(random),
            **attributes,
        },
        2 if operator == "MaxPool" else 1,
    )


def max_pool(random: Random) -> RandomNode:
    """Maxima and their positions."""
    return _pool("MaxPool", random, dilations=None)


def lp_pool(random: Random) -> RandomNode:
    """Norms of windows."""
    return _pool("LpPool", random, p=int(random.integers(1, 4)))


def scatter_elements(random: Random) -> RandomNode:
    """Updates along an axis; without repeated indices where the order would matter."""
    shape = _shape(random, int(random.integers(1, 4)))
    axis = _axis(random, len(shape))
    reduction = ("none", "add", "mul", "max", "min")[int(random.integers(0, 5))]
    where = list(_shape(random, len(shape), most=2))
    where = [min(a, b) for a, b in zip(where, shape, strict=True)]
    extent = shape[axis]
    if reduction == "none":
        base = random.permutation(extent)[: where[axis]]
        view = [1] * len(shape)
        view[axis] = len(base)
        indices = np.broadcast_to(base.reshape(view), where).copy()
    else:
        indices = random.integers(-extent, extent, where)
    operands = (_floats(random, *shape), indices, _floats(random, *where))
    return RandomNode("ScatterElements", operands, {"axis": axis, "reduction": reduction}, 1, 18)


def scatter_nd(random: Random) -> RandomNode:
    """Updates of slices."""
    shape = _shape(random, int(random.integers(1, 4)), 2)
    depth = int(random.integers(1, len(shape) + 1))
    reduction = ("none", "add", "mul", "max", "min")[int(random.integers(0, 5))]
    places = np.stack(np.unravel_index(np.arange(np.prod(shape[:depth])), shape[:depth]), -1)
    count = int(random.integers(1, min(5, len(places)) + 1))
    chosen = random.permutation(len(places))[:count]
    if reduction != "none":
        chosen = random.integers(0, len(places), count)
    operands = (_floats(random, *shape), places[chosen], _floats(random, count, *shape[depth:]))
    return RandomNode("ScatterND", operands, {"reduction": reduction}, 1, 18)


def top_k(random: Random) -> RandomNode:
    """The greatest or the least, with equal elements."""
    shape = _shape(random, int(random.integers(1, 4)))
    axis = _axis(random, len(shape))
    data = random.integers(0, 5, shape).astype(np.float32)
    k = np.array([int(random.integers(1, shape[axis] + 1))])
    return RandomNode("TopK", (data, k), {"axis": axis, "largest": _flag(random)}, 2)


def cumulative_sum(random: Random) -> RandomNode:
    """Sums along an axis, of floats and integers."""
    shape = _shape(random, int(random.integers(1, 4)), most=9)
    axis = _axis(random, len(shape))
    data = _floats(random, *shape)
    if _flag(random):
        data = random.integers(-(2**31), 2**31, shape).astype(np.int32)
    attributes = {"exclusive": _flag(random), "reverse": _flag(random)}
    return RandomNode("CumSum", (data, np.array(axis)), attributes)


def cumulative_product(random: Random) -> RandomNode:
    """Products along an axis."""
    shape = _shape(random, int(random.integers(1, 4)))
    axis = np.array(_axis(random, len(shape)))
    attributes = {"exclusive": _flag(random), "reverse": _flag(random)}
    return RandomNode("CumProd", (_floats(random, *shape), axis), attributes, 1, 26, False)


def reverse_sequence(random: Random) -> RandomNode:
    """Sequences of several lengths."""
    shape = _shape(random, int(random.integers(2, 4)))
    batch = _flag(random)
    lengths = random.integers(1, shape[1 - batch] + 1, shape[batch])
    attributes = {"batch_axis": batch, "time_axis": 1 - batch}
    return RandomNode("ReverseSequence", (_floats(random, *shape), lengths), attributes)


def grid_sample(random: Random) -> RandomNode:
    """Images of two axes, in all modes, at positions inside and outside."""
    image = _shape(random, 2, 2, 5)
    grid = random.uniform(-1.6, 1.6, (2, 3, 4, 2)).astype(np.float32)
    attributes = {
        "mode": ("nearest", "linear", "cubic")[int(random.integers(0, 3))],
        "padding_mode": ("zeros", "border", "reflection")[int(random.integers(0, 3))],
        "align_corners": _flag(random),
    }
    return RandomNode("GridSample", (_floats(random, 2, 3, *image), grid), attributes)


def affine_grid(random: Random) -> RandomNode:
    """Grids of images and volumes."""
    rank = int(random.integers(2, 4))
    theta = _floats(random, 2, rank, rank + 1)
    size = np.array([2, 3, *_shape(random, rank, 2)])
    return RandomNode("AffineGrid", (theta, size), {"align_corners": _flag(random)})


def deform_conv(random: Random) -> RandomNode:
    """Convolutions with offsets, of groups, with and without a mask."""
    groups, parts = int(random.integers(1, 3)), int(random.integers(1, 3))
    kernel, pads = _shape(random, 2, most=3), _shape(random, 4, 0, 1)
    image, strides = _shape(random, 2, 4, 6), _shape(random, 2, most=2)
    rows, columns = (
        (image[axis] + pads[axis] + pads[2 + axis] - kernel[axis]) // strides[axis] + 1
        for axis in range(2)
    )
    elements = kernel[0] * kernel[1]
    mask = random.uniform(0, 1, (2, parts * elements, rows, columns)).astype(np.float32)
    operands = (
        _floats(random, 2, 2 * groups * parts, *image),
        _floats(random, 2 * groups, 2 * parts, *kernel),
        _floats(random, 2, parts * elements * 2, rows, columns),
        _floats(random, 2 * groups) if _flag(random) else None,
        mask if _flag(random) else None,
    )
    attributes = {"group": groups, "offset_group": parts, "pads": pads, "strides": strides}
    return RandomNode("DeformConv", operands, attributes, 1, 19, False)


def roi_align(random: Random) -> RandomNode:
    """Means over regions inside and partly outside of images."""
    start = random.uniform(-2, 6, (3, 2))
    regions = np.concatenate([start, start + random.uniform(0.1, 6, (3, 2))], 1)
    attributes = {
        "output_height": int(random.integers(1, 4)),
        "output_width": int(random.integers(1, 4)),
        "sampling_ratio": int(random.integers(1, 3)),
        "spatial_scale": 0.75,
        "coordinate_transformation_mode": ("half_pixel", "output_half_pixel")[_flag(random)],
    }
    operands = (
        _floats(random, 2, 3, 6, 5),
        regions.astype(np.float32),
        random.integers(0, 2, 3),
    )
    return RandomNode("RoiAlign", operands, attributes, 1, 16)


def resize(random: Random) -> RandomNode:
    """Images in all modes, larger and smaller."""
    mode = ("nearest", "linear", "cubic")[int(random.integers(0, 3))]
    antialias = _flag(random) if mode != "nearest" else 0
    data = _floats(random, 1, 2, *_shape(random, 2, 4, 7))
    scales = np.array([1, 1, *random.uniform(0.4, 2.5, 2)], np.float32)
    attributes = {
        "mode": mode,
        "antialias": antialias,
        "coordinate_transformation_mode": (
            *("half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"),
        )[int(random.integers(0, 4))],
        "exclude_outside": _flag(random) if mode == "cubic" else 0,
        "cubic_coeff_a": -0.5,
        "nearest_mode": ("floor", "ceil")[_flag(random)],
    }
    return RandomNode("Resize", (data, None, scales), attributes, 1, 19, False)


def crop_and_resize(random: Random) -> RandomNode:
    """Regions of images, partly outside."""
    data = _floats(random, 1, 2, *_shape(random, 2, 4, 7))
    region = np.array([0, 0, *random.uniform(-0.2, 0.4, 2), 1, 1, *random.uniform(0.6, 1.2, 2)])
    sizes = np.array([1, 2, *_shape(random, 2, 2)])
    attributes = {
        "mode": ("nearest", "linear", "cubic")[int(random.integers(0, 3))],
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 7.0,
        "nearest_mode": "floor",
    }
    operands = (data, region.astype(np.float32), None, sizes)
    return RandomNode("Resize", operands, attributes, 1, 19, False)


def einsum(random: Random) -> RandomNode:
    """Equations with broadcasting, diagonals and sums."""
    equations: tuple[tuple[str, ...], ...] = (
        ("ij,jk->ik", "34", "42"),
        ("bij,bkj->bik", "234", "254"),
        ("...ij,...jk->...ik", "2134", "1542"),
        ("iij->j", "335"),
        ("ij,k->kji", "23", "4"),
        ("ij", "34"),
        ("ji", "34"),
        ("ijk,kl,jl->il", "234", "45", "35"),
        ("...i->...", "234"),
        ("i,i->", "7", "7"),
    )
    equation, *shapes = equations[int(random.integers(0, len(equations)))]
    operands = tuple(_floats(random, *map(int, shape)) for shape in shapes)
    return RandomNode("Einsum", operands, {"equation": equation}, 1, 20, False)


def dft(random: Random) -> RandomNode:
    """Transforms of real and complex signals, padded and cut."""
    inverse, parts = _flag(random), int(random.integers(1, 3))
    data = _floats(random, 2, *_shape(random, 2, 2, 9), parts)
    onesided = _flag(random) if parts == 1 and not inverse else 0
    length = np.array(int(random.integers(2, 12))) if _flag(random) else None
    axis = np.array(int(random.integers(1, 3)))
    attributes = {"inverse": inverse, "onesided": onesided}
    return RandomNode("DFT", (data, length, axis), attributes, 1, 20, False)


def stft(random: Random) -> RandomNode:
    """Transforms of frames."""
    window = random.uniform(0, 1, int(random.integers(3, 9))).astype(np.float32)
    operands = (
        _floats(random, 2, int(random.integers(16, 24)), 1),
        np.array(int(random.integers(1, 5))),
        window,
        np.array(len(window)),
    )
    return RandomNode("STFT", operands, {"onesided": _flag(random)}, 1, 17)


def determinant(random: Random) -> RandomNode:
    """Matrices of several sizes, some singular."""
    size = int(random.integers(1, 7))
    data = _floats(random, 3, size, size)
    data[1, :, 0] = 0
    return RandomNode("Det", (data,))


def col2im(random: Random) -> RandomNode:
    """Overlapping windows of two axes."""
    kernel, strides = _shape(random, 2, most=3), _shape(random, 2, most=2)
    gaps, pads = _shape(random, 2, most=2), _shape(random, 4, 0, 1)
    image = _shape(random, 2, 5, 8)
    counts = [
        (image[axis] + pads[axis] + pads[2 + axis] - gaps[axis] * (kernel[axis] - 1) - 1)
        // strides[axis]
        + 1
        for axis in range(2)
    ]
    data = _floats(random, 2, 3 * kernel[0] * kernel[1], counts[0] * counts[1])
    attributes = {"strides": strides, "dilations": gaps, "pads": pads}
    return RandomNode("Col2Im", (data, np.array(image), np.array(kernel)), attributes, 1, 18)


def gemm(random: Random) -> RandomNode:
    """Products of matrices, turned or not, with and without what is added."""
    rows, terms, columns = _shape(random, 3)
    turned = _flag(random), _flag(random)
    a, b = ((terms, rows) if turned[0] else (rows, terms)), (terms, columns)
    added = ((columns,), (rows, columns), (1, columns), (rows, 1), ())[int(random.integers(0, 5))]
    operands = (
        _floats(random, *a),
        _floats(random, *(b[::-1] if turned[1] else b)),
        _floats(random, *added) if _flag(random) else None,
    )
    attributes: dict[str, Any] = {"transA": turned[0], "transB": turned[1]}
    if _flag(random):
        attributes |= {"alpha": 0.5, "beta": (1.0, -2.0)[_flag(random)]}
    return RandomNode("Gemm", operands, attributes)


def max_unpool(random: Random) -> RandomNode:
    """Elements back at places of a larger image."""
    image = (6, 4)
    flat = np.stack([random.permutation(24)[:6] for _ in range(6)]).reshape(2, 3, 3, 2)
    start = (np.arange(6) * 24).reshape(2, 3, 1, 1)
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    assert image == (3 * 2, 2 * 2)
    return RandomNode("MaxUnpool", (_floats(random, 2, 3, 3, 2), flat + start), attributes)


def tensor_scatter(random: Random) -> RandomNode:
    """Caches, written from an index on."""
    update = _floats(random, 2, 3, 2, 4)
    circular = _flag(random)
    starts = random.integers(0, 5 if circular else 4, 2)
    attributes = {"mode": ("linear", "circular")[circular], "axis": -2}
    return RandomNode(
        "TensorScatter", (_floats(random, 2, 3, 5, 4), update, starts), attributes, 1, 24, False
    )


def unique(random: Random) -> RandomNode:
    """Values and rows, in both orders."""
    data = random.integers(0, 3, _shape(random, 2, 2)).astype(np.float32)
    axis = {"axis": _flag(random)} if _flag(random) else {}
    return RandomNode("Unique", (data,), {"sorted": _flag(random), **axis}, 4)


def non_max_suppression(random: Random) -> RandomNode:
    """Boxes of two batches and two classes."""
    start = random.uniform(0, 1, (2, 8, 2))
    boxes = np.concatenate([start, start + random.uniform(0.2, 1, (2, 8, 2))], 2)
    operands = (
        boxes.astype(np.float32),
        random.uniform(0, 1, (2, 2, 8)).astype(np.float32),
        np.array([int(random.integers(1, 6))]),
        np.array([0.3], np.float32),
        np.array([0.2], np.float32),
    )
    attributes = {"center_point_box": _flag(random)}
    return RandomNode("NonMaxSuppression", operands, attributes, 1, 11)


def layer_norm(random: Random) -> RandomNode:
    """Normalisation with the mean and the deviation as results."""
    data = _floats(random, *_shape(random, 3, 2))
    axis = int(random.integers(0, 3))
    scale, bias = (_floats(random, *data.shape[axis:]) for _ in range(2))
    return RandomNode("LayerNormalization", (data, scale, bias), {"axis": axis}, 3, 17)


def loss(random: Random) -> RandomNode:
    """Negative log-likelihoods, weighted, with ignored classes."""
    outer = _shape(random, int(random.integers(0, 3)))
    data = _floats(random, 3, 5, *outer)
    attributes: dict[str, Any] = {"reduction": ("none", "mean", "sum")[int(random.integers(0, 3))]}
    if _flag(random):
        attributes["ignore_index"] = 1
    weight = random.uniform(0.1, 1, 5).astype(np.float32) if _flag(random) else None
    operands = (data, random.integers(0, 5, (3, *outer)), weight)
    operator = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")[_flag(random)]
    return RandomNode(operator, operands, attributes, 1, 13, False)


def bit_shift(random: Random) -> RandomNode:
    """Shifts of signed integers by any amount."""
    dtype = (np.int8, np.int16, np.int32, np.int64)[int(random.integers(0, 4))]
    limits = np.iinfo(dtype)
    data = random.integers(limits.min, limits.max, (20,), dtype, endpoint=True)
    amount = random.integers(-40, 80, (20,)).astype(dtype)
    attributes = {"direction": ("LEFT", "RIGHT")[_flag(random)]}
    return RandomNode("BitShift", (data, amount), attributes, 1, 28, False)


def non_zero(random: Random) -> RandomNode:
    """Positions of what is not 0, of all element types."""
    dtype = (np.float32, np.int32, np.uint8, np.bool_)[int(random.integers(0, 4))]
    shape = _shape(random, int(random.integers(1, 5)), least=0, most=5)
    return RandomNode("NonZero", (random.integers(0, 3, shape).astype(dtype),))


def compress(random: Random) -> RandomNode:
    """Slices along an axis, or elements, of a mask that may be too short."""
    shape = _shape(random, int(random.integers(1, 4)))
    axis = _axis(random, len(shape)) if _flag(random) else None
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    mask = random.integers(0, 2, int(random.integers(1, extent + 1))).astype(np.bool_)
    attributes = {} if axis is None else {"axis": axis}
    return RandomNode("Compress", (_floats(random, *shape), mask), attributes, 1, 11, False)


NODES: Mapping[str, Callable[[Random], RandomNode]] = {
    function.__name__: function
    for function in (
        *(conv, conv_transpose, max_pool, lp_pool, scatter_elements, scatter_nd, top_k),
        *(cumulative_sum, cumulative_product, reverse_sequence, grid_sample, affine_grid),
        *(deform_conv, roi_align, resize, crop_and_resize, einsum, dft, stft, determinant),
        *(col2im, max_unpool, tensor_scatter, unique, non_max_suppression, layer_norm, loss),
        *(bit_shift, non_zero, compress, gemm),
    )
}
