"""Fourier transforms, as products with matrices that are known at import, and filter banks."""

from __future__ import annotations

from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.operators.parts import Gather, Pad, Slice
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.ir.dtypes import FLOAT64

_LARGEST: Final = 1 << 24
"""The maximum number of elements of a transform's matrix."""


def _dft(node: Node) -> Value:
    data = node.input(0)
    position = node.integer("axis") if node.has("axis") else node.scalar(2)
    (axis,) = node.axes([-2 if position is None else int(position)], data)
    axis %= data.rank
    inverse, onesided = bool(node.integer("inverse")), bool(node.integer("onesided"))
    length = node.scalar(1)
    if length is None:
        extent = node.extent(axis, data)
        length = 2 * (extent - 1) if inverse and onesided else extent
    return _transformed(node, data, axis, int(length), inverse, onesided)


def _transformed(
    node: Node, data: Value, axis: int, length: int, inverse: bool, onesided: bool
) -> Value:
    """The transform of `length` elements along an axis; real and imaginary parts are in the last.

    `onesided` leaves out the frequencies that follow from others, of the result, or if `inverse`
    of the data.
    """
    parts = node.extent(data.rank - 1, data)
    if axis == data.rank - 1 or parts not in (1, 2) or length < 1:
        node.refuse(f"{length} elements along axis {axis} of {data.type}")
    if onesided and not inverse and parts == 2:
        node.refuse(f"{data.type} is not real, so that no frequency follows from others")
    used = length // 2 + 1 if inverse and onesided else length
    matrix = _matrix(node, used, length, parts, inverse, onesided)
    data = _resized(node, data, axis, used)
    # [..., parts * elements] times the matrix, and the axis back to its place.
    others = [each for each in range(data.rank - 1) if each != axis]
    rows = node.call("transpose", data, to=Transpose((*others, data.rank - 1, axis)))
    outer = [data.shape[each] for each in others]
    flat = node.reshape(rows, (*outer, parts * used))
    # Sums of a whole signal, most of which cancel, are too coarse in float32.
    flat, factors = node.cast(flat, FLOAT64), node.constant(matrix.reshape(parts * used, -1))
    if not outer:
        flat = node.reshape(flat, (1, parts * used))
    product = node.cast(node.call("matmul", flat, factors, to=Product()), data.dtype)
    result = node.reshape(product, (*outer, *matrix.shape[2:]))
    order = list(range(len(others)))
    order.insert(axis, len(others))
    return node.call("transpose", result, to=Transpose((*order, data.rank - 1)))


def _matrix(node: Node, used: int, length: int, parts: int, inverse: bool, onesided: bool) -> Array:
    """Factors [part, element of the data, element of the result, part]."""
    count = length // 2 + 1 if onesided and not inverse else length
    results = 1 if onesided and inverse else 2
    if used * count * parts * results > _LARGEST:
        node.unsupported(f"a transform of {length} elements")
    steps = np.outer(np.arange(used), np.arange(count)) % length
    angles = 2 * np.pi / length * steps
    cosine, sine = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    if onesided and inverse:
        # Every frequency stands for its conjugate too, but for the first and, if even, the last.
        twice = np.full((used, 1), 2.0)
        twice[0] = 1
        if length % 2 == 0:
            twice[-1] = 1
        cosine, sine = cosine * twice, sine * twice
    factors = np.array([[cosine, sine], [-sine, cosine]])[:parts, :results]
    return np.asarray(factors.transpose(0, 2, 3, 1) / (length if inverse else 1))


def _resized(node: Node, data: Value, axis: int, length: int) -> Value:
    """The first `length` elements along an axis, with zeros for those that are missing."""
    extent = node.extent(axis, data)
    if extent > length:
        return node.call("slice", data, to=Slice((0,), (length,), (axis,)))
    if extent == length:
        return data
    pads = [0] * (2 * data.rank)
    pads[data.rank + axis] = length - extent
    return node.call("pad", data, to=Pad(tuple(pads), value=0.0))


def _stft(node: Node) -> Value:
    """Transforms of overlapping frames of a signal, weighted by a window."""
    signal, window = node.input(0), node.optional(2)
    step = int(node.needed(node.scalar(1), "frame_step is missing"))
    given = node.scalar(3)
    if signal.rank != 3:
        node.refuse(f"the signal is {signal.type}")
    size = node.extent(1, signal)
    if given is not None:
        length = int(given)
    else:
        length = size if window is None else node.extent(0, window)
    if step < 1 or not 1 <= length <= size or (window is not None and window.shape != (length,)):
        node.refuse(f"frames of {length}, {step} apart, of {signal.type}")
    frames = 1 + (size - length) // step
    where = np.add.outer(np.arange(frames) * step, np.arange(length))
    found = node.call("gather", signal, node.constant(where), to=Gather(1))
    if window is not None:
        weights = node.reshape(node.cast(window, signal.dtype), (length, 1))
        found = node.call("multiply", found, weights)
    return _transformed(node, found, 2, length, False, bool(node.integer("onesided")))


def _mel_weights(node: Node) -> Value:
    """Triangular filters from frequencies of a transform to steps of the mel scale."""
    numbers = [float(node.needed(node.scalar(each), "an operand is missing")) for each in range(5)]
    bins, length, rate = (int(each) for each in numbers[:3])
    low, high = (2595 * np.log10(1 + each / 700) for each in numbers[3:])
    rows = length // 2 + 1
    if not (1 <= bins and 1 <= rate and 0 < rows * bins <= _LARGEST):
        node.refuse(f"{bins} bins of {length} elements at {rate} Hz")
    # The standard divides by the number of edges, one more than there are steps.
    mels = np.arange(bins + 2) * ((high - low) / (bins + 2)) + low
    edges = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype(int)
    if edges[0] < 0 or edges[-1] > rows:
        node.refuse(f"edges of {numbers[3]} to {numbers[4]} Hz for {length} elements at {rate} Hz")
    found = np.zeros((rows, bins))
    for number, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        rising, falling = np.arange(left, centre + 1), np.arange(centre, right)
        found[rising, number] = (rising - left) / (centre - left) if centre > left else 1
        if len(falling):
            found[falling, number] = (right - falling) / (right - centre)
    to = node.element_type(node.integer("output_datatype"))
    return node.constant(found.astype(to.numpy))


_LENGTH = "the length known at import"

CONVERTERS: tuple[Converter, ...] = (
    Converter("DFT", (17, 20), _dft, f"axis and {_LENGTH.removeprefix('the ')}"),
    Converter("STFT", (17,), _stft, f"step and {_LENGTH.removeprefix('the ')}"),
    Converter("MelWeightMatrix", (17,), _mel_weights, "all operands known at import"),
)
