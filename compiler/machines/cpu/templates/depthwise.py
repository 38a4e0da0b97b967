"""Depthwise convolutions on the CPU whose rows fill no vectors: rows follow each other in lanes.

    flat[n, c, q]           the padded image, one row of W elements after the other
    sum[n, c, p]            = sum over ky, kx of flat[n, c, p + ky * dy * W + kx * dx] * weight
    conv[n, c, y, x]        = sum[n, c, y * W + x] (+ bias[c])

Of each row the last sums, whose windows reach into the next row, are not used. Strides are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.flat_layer import (
    FlatLayerOnCpu,
    flat_in_tiles,
    flat_on_threads,
)
from tandem.compiler.machines.cpu.templates.layer import PackedLayer
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction

_MOST_VECTORS = 8
"""Vectors of sums that are accumulated together: additions do not wait for each other."""
_CHANNELS = 8
"""The most channels that are copied before they are summed: loads of what was just stored in other
vectors wait for the stores."""
_WORTH = 0.9
"""The greatest time, relative to that of rows one by one, at which rows follow each other."""
_WRITTEN_OUT = 25
"""The most elements of a window whose sum is written out."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """How the rows of an image lie in vectors.

    Attributes
    ----------
    width
        Elements of a row of the padded image.
    count, columns
        Rows and columns of the result.
    lanes
        Elements of a vector.
    """

    width: int
    count: int
    columns: int
    lanes: int

    @property
    def vectors(self) -> int:
        """Vectors that are accumulated together."""
        return -(-self._least // self.groups)

    @property
    def groups(self) -> int:
        """Groups of such vectors."""
        return -(-self._least // _MOST_VECTORS)

    @property
    def _least(self) -> int:
        return -(-self.count * self.width // self.lanes)

    @property
    def sums(self) -> int:
        """The sums in whole groups."""
        return self.groups * self.vectors * self.lanes

    def worthwhile(self, window: int) -> bool:
        """Whether this takes less time than vectors of one row each, with windows of so many
        elements."""
        row = -(-self.columns // self.lanes)
        flat = self.groups * self.vectors * window + self.count * row
        return flat <= _WORTH * self.count * row * window


@dataclass(frozen=True, slots=True)
class FlatLayer(PackedLayer):
    """A layer of flat images: its tile is the sums of a channel that are accumulated together."""

    rows: _Rows
    simd: Simd


def flat_depthwise(
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
) -> FlatLayer | None:
    """`conv2d`, which describes the parameters, of flat images.

    None where it does not help: an empty output, strides, several channels in a group, or rows that
    fill vectors.

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
    batch, channels, count, columns = plain.shape
    if 0 in plain.shape or (*strides,) != (1, 1) or not groups == channels == data.shape[1]:
        return None
    _, _, height, width = weight.shape
    rows = _Rows(data.shape[3] + padding[1] + padding[3], count, columns, simd.lanes(plain.dtype))
    if not rows.worthwhile(height * width):
        return None
    reach = (height - 1) * dilation[0] * rows.width + (width - 1) * dilation[1]
    flat = _flat(data, rows, -(-(rows.sums + reach) // rows.width), padding, f"{name}_flat")
    ky, kx = reduce_axis(height, "ky"), reduce_axis(width, "kx")

    def summed(n: Expr, c: Expr, p: Expr) -> Reduction:
        value = flat[n, c, p + ky * (dilation[0] * rows.width) + kx * dilation[1]]
        product = te.cast(value, plain.dtype) * te.cast(weight[c, 0, ky, kx], plain.dtype)
        return te.sum(product, (ky, kx))

    sums = compute((batch, channels, rows.sums), summed, f"{name}_sum", ["n", "c", "p"])

    def element(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        # The condition holds: the last sum is there so that all of them are computed, in vectors
        # without masks.
        value = te.select(x < columns, sums[n, c, y * rows.width + x], sums[n, c, rows.sums - 1])
        return value if bias is None else value + bias[c]

    output = compute(plain.shape, element, name)
    tile = Tile(1, 1, rows.vectors * rows.lanes)
    return FlatLayer(
        *(data, weight, (), (weight,), flat, sums, output, tile, None, SINGLE_TERMS, rows, simd)
    )


def _flat(data: Tensor, rows: _Rows, count: int, padding: Sequence[int], name: str) -> Tensor:
    """The image with its border, `count` rows of it, as one row; zeros behind its end."""
    _, _, height, width = data.shape
    top, left, *_ = padding

    def element(n: Expr, c: Expr, q: Expr) -> Expr:
        y, x = q // rows.width, q % rows.width
        inside = te.all_of(index(top) <= y, y < top + height, index(left) <= x, x < left + width)
        return te.select(inside, data[n, c, y - top, x - left], 0)

    return compute((*data.shape[:2], count * rows.width), element, name, ["n", "c", "q"])


def schedule_flat_depthwise(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of a depthwise convolution of flat images: some channels are copied, summed and
    stored while they are in the nearest cache; threads share blocks of them.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    assert isinstance(layer, FlatLayer)
    sums, rows = layer.sums.name, layer.rows
    schedule = flat_in_tiles(layer, out, _CHANNELS, rows.lanes)
    schedule = schedule.vectorize(sums, "lane").decompose_reduction(sums, "ky")
    if layer.weight.shape[2] * layer.weight.shape[3] <= _WRITTEN_OUT:
        schedule = schedule.unroll(sums, "ky").unroll(sums, "kx")
    return flat_on_threads(schedule, layer, out, rows.width, rows.width, layer.simd)


class DepthwiseOnCpu(FlatLayerOnCpu):
    """A depthwise convolution whose rows do not fill vectors; its weights are read as they are."""

    name = "depthwise"
    packed = staticmethod(flat_depthwise)
    scheduled = staticmethod(schedule_flat_depthwise)
