"""Depthwise convolutions of bytes on the CPU, by dot products of neighbours in a row.

    flat[n, c, f, q]        the padded image: its rows f, f + sy, f + 2 sy ... one after the other
    packed[c, ky, kx, k]    the weights, four of a row together, zeros behind the last
    sum[n, c, p]            = sum over ky, kx, k of flat[n, c, .., sx * p + 4 * kx + k] * packed
    conv[n, c, y, x]        = sum[n, c, y * pitch + x] (+ bias[c])

A vector has the sums of neighbouring pixels, across the ends of rows; those of windows that reach
into the next row are not used. One instruction picks the windows out of a register, whatever their
stride, and another multiplies four elements of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.intrinsics import DEPTH, WINDOWS_READ
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.flat_layer import (
    FlatLayerOnCpu,
    flat_in_tiles,
    flat_on_threads,
)
from tandem.compiler.machines.cpu.templates.layer import (
    EXCESS,
    PackedLayer,
    shift,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction

_MOST_VECTORS = 8
"""Vectors of sums that are accumulated together: a product need not wait for the one before it."""
_CHANNELS, _NEAREST_CACHE = 8, 16 * 1024
"""The most channels that are copied before they are summed, and their bytes: loads of what was just
stored in other vectors wait for the stores."""


@dataclass(frozen=True, slots=True)
class _Flat:
    """How the rows of an image lie one behind the other.

    Attributes
    ----------
    kernel, strides
        Rows and columns of a window, and the distances of windows.
    dilation
        The distance of rows of a window.
    count, columns
        Rows and columns of the result.
    lanes
        Sums of a vector.
    """

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilation: int
    count: int
    columns: int
    lanes: int

    @property
    def quads(self) -> int:
        """Dot products of a row of a window."""
        return -(-self.kernel[1] // DEPTH)

    @property
    def pitch(self) -> int:
        """Sums of a row of the result, with those that are not used."""
        return -(-((self.columns - 1) * self.strides[1] + self.kernel[1]) // self.strides[1])

    @property
    def width(self) -> int:
        """Elements of a row of the padded image."""
        return self.pitch * self.strides[1]

    @property
    def groups(self) -> int:
        """Groups of vectors that are accumulated together."""
        return -(-self._least // _MOST_VECTORS)

    @property
    def vectors(self) -> int:
        """Vectors of a group."""
        return -(-self._least // self.groups)

    @property
    def _least(self) -> int:
        return -(-self.count * self.pitch // self.lanes)

    @property
    def sums(self) -> int:
        """The sums in whole groups."""
        return self.groups * self.vectors * self.lanes

    @property
    def rows(self) -> int:
        """Rows of the padded image that lie one after the other, and those behind its end that
        vectors reach into."""
        reach = (self.kernel[0] - 1) * self.dilation // self.strides[0] * self.width
        size = self.sums * self.strides[1] + reach + self.quads * DEPTH + WINDOWS_READ
        return -(-size // self.width)

    def row(self, ky: Expr) -> tuple[Expr, Expr]:
        """For a row of a window, which rows of the image it is among, and its number there."""
        distance = ky * self.dilation
        return distance % self.strides[0], distance // self.strides[0]


@dataclass(frozen=True, slots=True)
class DottedLayer(PackedLayer):
    """A layer of flat images: its tile is the sums of a channel that are accumulated together."""

    flat: _Flat
    windows: PrimFunc
    simd: Simd


def dotted_depthwise(
    data: Tensor,
    weight: Tensor,
    *,
    simd: Simd,
    bias: Tensor | None = None,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    out_dtype: DType | None = None,
    name: str = "conv",
) -> DottedLayer | None:
    """`conv2d`, which describes the parameters, of flat images of bytes.

    None where it does not help: an empty output, several channels in a group, windows of one column
    or with gaps in their rows, other types than bytes, or no instruction.

    Raises
    ------
    TensorError
        The errors of `conv2d`.
    """
    plain = conv2d(
        data,
        weight,
        bias=bias,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        out_dtype=out_dtype,
        name=name,
    )
    _, channels, count, columns = plain.shape
    if 0 in plain.shape or not groups == channels == data.shape[1]:
        return None
    if data.dtype not in (INT8, UINT8) or weight.dtype != INT8 or plain.dtype != INT32:
        return None
    _, _, height, width = weight.shape
    windows = simd.windows(strides[1])
    if windows is None or width == 1 or dilation[1] != 1:
        return None
    flat = _Flat(
        (height, width),
        (strides[0], strides[1]),
        dilation[0],
        count,
        columns,
        windows.outputs[0].size,
    )
    image = _image(data, flat, padding, f"{name}_flat")
    packings = [_packing(weight, flat, f"{name}_weight")]
    if data.dtype == INT8:
        packings.append(_excess(weight, f"{name}_excess"))
    packed = unpacked_inputs(packings)
    sums = _sums(image, packed[0], flat, f"{name}_sum")

    def element(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        # The condition holds: the last sum is there so that all of them are computed.
        used, last = sums[n, c, y * flat.pitch + x], sums[n, c, flat.sums - 1]
        value = te.select(x < columns, used, last)
        if len(packed) > 1:
            value = value - packed[1][c]
        return value if bias is None else value + bias[c]

    output = compute(plain.shape, element, name)
    tile = Tile(1, 1, flat.vectors * flat.lanes)
    given = tuple(packings), packed
    layer = (data, weight, *given, image, sums, output, tile, None, SINGLE_TERMS)
    return DottedLayer(*layer, flat, windows, simd)


def _image(data: Tensor, flat: _Flat, padding: Sequence[int], name: str) -> Tensor:
    """The image with its border, as unsigned bytes; rows a vertical stride apart lie one behind the
    other."""
    _, _, height, width = data.shape
    top, left, *_ = padding
    signed = data.dtype == INT8

    def element(n: Expr, c: Expr, f: Expr, q: Expr) -> Expr:
        y, x = q // flat.width * flat.strides[0] + f, q % flat.width
        inside = te.all_of(index(top) <= y, y < top + height, index(left) <= x, x < left + width)
        value = data[n, c, y - top, x - left]
        return te.select(inside, shift(value) if signed else value, EXCESS if signed else 0)

    extents = (*data.shape[:2], flat.strides[0], flat.rows * flat.width)
    return compute(extents, element, name, ["n", "c", "f", "q"])


def _packing(weight: Tensor, flat: _Flat, name: str) -> Tensor:
    """The weights, `[c, ky, kx, k]`."""
    channels, _, height, width = weight.shape

    def element(c: Expr, ky: Expr, kx: Expr, k: Expr) -> Expr:
        column = kx * DEPTH + k
        return te.select(column < width, weight[c, 0, ky, column], 0)

    extents = (channels, height, flat.quads, DEPTH)
    return compute(extents, element, name, ["c", "ky", "kx", "k"])


def _excess(weight: Tensor, name: str) -> Tensor:
    """What shifted data adds to the sums of each channel."""
    channels, _, *window = weight.shape
    axes = [reduce_axis(extent, axis) for extent, axis in zip(window, ("ky", "kx"), strict=True)]
    return compute(
        (channels,), lambda c: te.sum(te.cast(weight[(c, 0, *axes)], INT32) * EXCESS, axes), name
    )


def _sums(image: Tensor, packed: Tensor, flat: _Flat, name: str) -> Tensor:
    """The sums of all windows, of which those across the ends of rows are not used."""
    ky = reduce_axis(flat.kernel[0], "ky")
    kx, k = reduce_axis(flat.quads, "kx"), reduce_axis(DEPTH, "k")
    among, row = flat.row(ky)

    def summed(n: Expr, c: Expr, p: Expr) -> Reduction:
        element = p * flat.strides[1] + row * flat.width + kx * DEPTH + k
        product = te.cast(image[n, c, among, element], INT32) * te.cast(packed[c, ky, kx, k], INT32)
        return te.sum(product, (ky, kx, k))

    return compute((*image.shape[:2], flat.sums), summed, name, ["n", "c", "p"])


def schedule_dotted_depthwise(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of a depthwise convolution of bytes: some channels are copied, summed and stored
    while they are in the nearest cache; threads share blocks of them.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    assert isinstance(layer, DottedLayer)
    sums, image, flat = layer.sums.name, layer.padded.name, layer.flat
    channel = flat.sums * INT32.bits // 8 + flat.strides[0] * flat.rows * flat.width
    most = max(1, min(_CHANNELS, _NEAREST_CACHE // channel))
    schedule = (
        flat_in_tiles(layer, out, most, flat.lanes, ("k",))
        .unroll(sums, "ky")
        .unroll(sums, "kx")
        .decompose_reduction(sums, "ky")
        .vectorize(f"{sums}_init", "lane")
        .tensorize(sums, "lane", layer.windows)
        .unroll(image, "f")
    )
    given = flat.width, flat.pitch, layer.simd, flat.strides[0]
    return flat_on_threads(schedule, layer, out, *given)


class DottedDepthwiseOnCpu(FlatLayerOnCpu):
    """A depthwise convolution of bytes with constant weights, which are packed once."""

    name = "depthwise_dots"
    packed = staticmethod(dotted_depthwise)
    scheduled = staticmethod(schedule_dotted_depthwise)
