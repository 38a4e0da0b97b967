"""Random nodes of ONNX Runtime's quantised operators: operands and attributes that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tests.support.compiler.frontends.random_nodes import Array, Random, RandomNode

DOMAIN = "com.microsoft"


def node(operator: str, *operands: Array | None, **attributes: Any) -> RandomNode:
    """A node of ONNX Runtime's operator; an attribute that is None is left out."""
    given = {name: value for name, value in attributes.items() if value is not None}
    return RandomNode(operator, operands, given, domain=DOMAIN)


def shape(random: Random, rank: int, least: int = 1, most: int = 6) -> tuple[int, ...]:
    """A shape with extents from `least` to `most`."""
    return tuple(int(each) for each in random.integers(least, most + 1, rank))


def flag(random: Random) -> int:
    """0 or 1."""
    return int(random.integers(0, 2))


def number(random: Random, least: int, most: int) -> int:
    """A number from `least` to `most`."""
    return int(random.integers(least, most + 1))


def one_of(random: Random, *choices: Any) -> Any:
    """One of the choices."""
    return choices[int(random.integers(0, len(choices)))]


def byte(random: Random) -> Any:
    """int8 or uint8."""
    return one_of(random, np.int8, np.uint8)


def integers(random: Random, dtype: Any, *extents: int) -> Array:
    """Integers of a type, over its whole range."""
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, extents).astype(dtype)


def weights(random: Random, data: Any, dtype: Any, *extents: int) -> Array:
    """Integers of a type that are multiplied with data of another; of int8 only 7 bits with uint8.

    On processors without VNNI, ONNX Runtime adds the products of uint8 and int8 in pairs, in 16
    bits, and clips the sums.
    """
    whole = integers(random, dtype, *extents)
    return whole >> 1 if (data, dtype) == (np.uint8, np.int8) else whole


def scale(random: Random, *extents: int, size: float = 1.0) -> Array:
    """Scales from a twentieth of `size` to `size`, often powers of two, so that there are ties."""
    if flag(random):
        return np.asarray(size * random.uniform(0.05, 1, extents), np.float32)
    return np.asarray(size * 2.0 ** -random.integers(0, 5, extents), np.float32)


def zero(random: Random, dtype: Any) -> Array:
    """A zero point: any, or the one in the middle.

    A zero point may be missing, by the definitions; ONNX Runtime refuses that, or aborts.
    """
    info = np.iinfo(dtype)
    middle = np.asarray((info.min + info.max + 1) // 2, dtype)
    return integers(random, dtype) if flag(random) else middle


def _data(random: Random, dtype: Any, *extents: int) -> tuple[Array, Array, Array]:
    return integers(random, dtype, *extents), scale(random), zero(random, dtype)


def _pair(operator: str) -> Callable[[Random], RandomNode]:
    def draw(random: Random) -> RandomNode:
        dtype = byte(random)
        whole = shape(random, number(random, 1, 4))
        kept = tuple(1 if flag(random) else each for each in whole)
        shapes = [whole, one_of(random, whole, kept, whole[1:], ())]
        if flag(random):
            shapes.reverse()
        (a, b), size = shapes, 4.0 if operator == "QLinearAdd" else 60.0
        return node(
            operator,
            *_data(random, dtype, *a),
            *_data(random, dtype, *b),
            scale(random, size=size),
            zero(random, dtype),
        )

    return draw


def _sigmoid(random: Random) -> RandomNode:
    dtype = byte(random)
    data = integers(random, dtype, *shape(random, number(random, 1, 4)))
    small = scale(random, size=0.1), zero(random, dtype), scale(random, size=0.01)
    return node("QLinearSigmoid", data, *small, zero(random, dtype))


def _leaky_relu(random: Random) -> RandomNode:
    dtype = byte(random)
    data = _data(random, dtype, *shape(random, number(random, 1, 4)))
    slope = one_of(random, None, 0.1, 0.25, 2.0)
    return node("QLinearLeakyRelu", *data, scale(random), zero(random, dtype), alpha=slope)


def _image(random: Random, rank: int, last: int, least: int = 4) -> tuple[int, ...]:
    batch, channels, *image = (*shape(random, 2, most=4), *shape(random, rank, least, 8))
    return (batch, *image, channels) if last else (batch, channels, *image)


def _global_average(random: Random) -> RandomNode:
    dtype, last = byte(random), flag(random)
    data = integers(random, dtype, *_image(random, number(random, 1, 3), last))
    zeros = zero(random, dtype), zero(random, dtype)
    result = scale(random), zeros[1]
    return node(
        "QLinearGlobalAveragePool", data, scale(random), zeros[0], *result, channels_last=last
    )


def _windows(random: Random, rank: int) -> dict[str, Any]:
    kernel = shape(random, rank, 2, 3)
    if not number(random, 0, 3):
        return {"kernel_shape": kernel, "auto_pad": one_of(random, "SAME_UPPER", "VALID")}
    return {
        "kernel_shape": kernel,
        "strides": shape(random, rank, most=3),
        "pads": shape(random, 2 * rank, 0, 1),
        "ceil_mode": flag(random),
    }


def _average(random: Random) -> RandomNode:
    dtype, last, rank = byte(random), flag(random), number(random, 1, 3)
    return node(
        "QLinearAveragePool",
        *_data(random, dtype, *_image(random, rank, last)),
        scale(random),
        zero(random, dtype),
        channels_last=last,
        count_include_pad=flag(random),
        **_windows(random, rank),
    )


def _max(random: Random) -> RandomNode:
    rank = number(random, 1, 3)
    data = integers(random, byte(random), *_image(random, rank, 1))
    return node("NhwcMaxPool", data, **_windows(random, rank))


def _concat(random: Random) -> RandomNode:
    dtype = byte(random)
    whole = shape(random, number(random, 1, 4))
    axis = number(random, 0, len(whole) - 1)
    operands: list[Array | None] = [scale(random), zero(random, dtype)]
    for _ in range(number(random, 1, 4)):
        own = (*whole[:axis], number(random, 1, 5), *whole[axis + 1 :])
        same = operands[:2] if flag(random) else (scale(random), zero(random, dtype))
        operands += (integers(random, dtype, *own), *same)
    return node("QLinearConcat", *operands, axis=one_of(random, axis, axis - len(whole)))


def _softmax(random: Random) -> RandomNode:
    dtype, rank = byte(random), number(random, 1, 4)
    data = integers(random, dtype, *shape(random, rank))
    result = np.float32(one_of(random, 1 / 256, 1 / 255, 0.0041, 1 / 128))
    return node(
        "QLinearSoftmax",
        data,
        scale(random, size=0.1),
        zero(random, dtype),
        np.asarray(result),
        np.asarray(np.iinfo(dtype).min, dtype),
        axis=number(random, -rank, rank - 1),
        opset=one_of(random, 11, 13),
    )


def _where(random: Random) -> RandomNode:
    dtype, whole = byte(random), shape(random, number(random, 1, 3))
    zeros = [zero(random, dtype) for _ in range(3)]
    scales = [scale(random)] * 3 if flag(random) else [scale(random) for _ in range(3)]
    return node(
        "QLinearWhere",
        random.integers(0, 2, whole).astype(bool),
        *(integers(random, dtype, *whole), scales[0], zeros[0]),
        *(integers(random, dtype, *one_of(random, whole, ())), scales[1], zeros[1]),
        *(scales[2], zeros[2]),
    )


def _gemm(random: Random) -> RandomNode:
    a, b = byte(random), byte(random)
    if a == np.int8:
        # ONNX Runtime has no int8 by uint8.
        b = np.int8
    m, n, k = shape(random, 3, most=9)
    trans_a, trans_b = flag(random), flag(random)
    columns = (n,) if flag(random) else ()
    operands: list[Array | None] = [
        integers(random, a, *((k, m) if trans_a else (m, k))),
        scale(random),
        zero(random, a),
        weights(random, a, b, *((n, k) if trans_b else (k, n))),
        scale(random, *columns),
        np.zeros(columns, b) if flag(random) else integers(random, b, *columns),
    ]
    bias = one_of(random, (n,), (1, n), (m, n), (m, 1), (1,), None)
    operands.append(None if bias is None else random.integers(-4000, 4000, bias).astype(np.int32))
    if flag(random):
        operands += (scale(random, size=900.0), zero(random, a))
    alpha = one_of(random, None, None, 0.5, 1.3)
    return node("QGemm", *operands, transA=trans_a, transB=trans_b, alpha=alpha)


def _conv(random: Random) -> RandomNode:
    a, b, last, groups = byte(random), byte(random), flag(random), number(random, 1, 2)
    rank = 2 if last else number(random, 1, 3)
    b = np.int8 if a == np.int8 else b
    image = shape(random, rank, 4, 7)
    data = (2, *image, 2 * groups) if last else (2, 2 * groups, *image)
    columns = (3 * groups,) if flag(random) else ()
    bias = random.integers(-4000, 4000, 3 * groups).astype(np.int32) if flag(random) else None
    return node(
        "QLinearConv",
        *(integers(random, a, *data), scale(random), zero(random, a)),
        weights(random, a, b, 3 * groups, 2, *shape(random, rank, most=3)),
        *(scale(random, *columns), np.zeros(columns, b)),
        *(scale(random, size=900.0), zero(random, a)),
        bias,
        channels_last=last or None,
        group=groups,
        strides=shape(random, rank, most=2),
        pads=shape(random, 2 * rank, 0, 1),
    )


def _quantize(random: Random) -> RandomNode:
    to = one_of(random, np.int8, np.uint8, np.int16, np.uint16)
    whole = shape(random, number(random, 1, 4))
    axis = number(random, 0, len(whole) - 1) if flag(random) else None
    own = () if axis is None else (whole[axis],)
    data = (random.standard_normal(whole) * 40).astype(np.float32)
    zeros = integers(random, to, *own)
    return node("QuantizeLinear", data, scale(random, *own), zeros, axis=axis)


def _dequantize(random: Random) -> RandomNode:
    dtype = one_of(random, np.int8, np.uint8, np.int16, np.uint16, np.int32)
    whole = shape(random, number(random, 1, 4))
    axis = number(random, 0, len(whole) - 1) if flag(random) else None
    own = () if axis is None else (whole[axis],)
    zeros = None if dtype == np.int32 else integers(random, dtype, *own)
    return node(
        "DequantizeLinear", integers(random, dtype, *whole), scale(random, *own), zeros, axis=axis
    )


QUANTISED: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {
        "DequantizeLinear": _dequantize,
        "NhwcMaxPool": _max,
        "QGemm": _gemm,
        "QLinearAdd": _pair("QLinearAdd"),
        "QLinearAveragePool": _average,
        "QLinearConcat": _concat,
        "QLinearConv": _conv,
        "QLinearGlobalAveragePool": _global_average,
        "QLinearLeakyRelu": _leaky_relu,
        "QLinearMul": _pair("QLinearMul"),
        "QLinearSigmoid": _sigmoid,
        "QLinearSoftmax": _softmax,
        "QLinearWhere": _where,
        "QuantizeLinear": _quantize,
    }
)
