"""Dense layers on the CPU, with weights packed in the order of multiplication.

    packed[jb, k, l]        the weight of output jb * channels + l
    sum[jb, i, l]           the same outputs side by side, for the lanes of vectors
    dense[i, j]             = sum[j // channels, i, j % channels] (+ bias[j])

As in `packed_conv2d`, terms of a dot product are adjacent, last in `packed`, and extents are
rounded up to whole tiles.
"""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.layer import (
    EXCESS,
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    carry_in_registers,
    layer_patterns,
    product_in_tiles,
    shift,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.matmul import dense
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction


def packed_dense(
    data: Tensor,
    weight: Tensor,
    *,
    simd: Simd,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
    name: str = "dense",
    tile: Tile | None = None,
) -> PackedLayer | None:
    """`dense`, which describes the parameters, with packed weights (`{name}_weight`).

    None if the output is empty.

    Parameters
    ----------
    tile
        By default `best_tile`; with a dot product, its channels are a multiple of its lanes.

    Raises
    ------
    TensorError
        The errors of `dense`.
    """
    plain = dense(data, weight, bias=bias, out_dtype=out_dtype, name=name)
    if 0 in plain.shape:
        return None
    rows, outputs = plain.shape
    inputs = data.shape[1]
    types = data.dtype, weight.dtype, plain.dtype
    shifted = simd.dot_of_shifted(*types)
    dot = simd.layer_dot(*types)
    tile = tile or best_tile(outputs, 1, rows, plain.dtype, simd, dot)
    terms = DotTerms.of(dot, inputs)
    steps, whole = -(-inputs // terms.count), -(-rows // tile.columns) * tile.columns
    padded = data
    if steps * terms.count > inputs or whole > rows or shifted:
        shape = whole, steps * terms.count
        padded = _padded(data, shape, f"{name}_pad", shifted is not None)
    blocks = -(-outputs // tile.channels)
    packings = [_packing(weight, (blocks, steps), tile.channels, terms, f"{name}_weight")]
    if shifted:
        packings.append(excess_of_rows(weight, (blocks, tile.channels), f"{name}_excess"))
    packed = unpacked_inputs(packings)
    extents = blocks, whole, tile.channels
    sums = _sums(padded, packed[0], extents, terms, plain.dtype, f"{name}_sum")

    def element(i: Expr, j: Expr) -> Expr:
        value = sums[j // tile.channels, i, j % tile.channels]
        if shifted:
            value = value - packed[1][j // tile.channels, j % tile.channels]
        return value if bias is None else value + bias[j]

    output = compute(plain.shape, element, name)
    return PackedLayer(
        data, weight, tuple(packings), packed, padded, sums, output, tile, dot, terms
    )


def _padded(data: Tensor, extents: tuple[int, int], name: str, shifted: bool) -> Tensor:
    """The data with zeros up to whole tiles and dot products, shifted or not."""

    def element(i: Expr, k: Expr) -> Expr:
        there = te.all_of(i < data.shape[0], k < data.shape[1])
        value = data[i, k]
        return te.select(there, shift(value), EXCESS) if shifted else te.select(there, value, 0)

    return compute(extents, element, name)


def _packing(
    weight: Tensor, extents: tuple[int, int], channels: int, terms: DotTerms, name: str
) -> Tensor:
    """The weights in blocks of outputs: `[jb, kb, l]`, with axes of `DotTerms`."""

    def element(jb: Expr, kb: Expr, *inner: Expr) -> Expr:
        at, term = terms.split(inner)
        row, column = jb * channels + at, terms.index(kb, term)
        there = te.all_of(row < weight.shape[0], column < weight.shape[1])
        return te.select(there, weight[row, column], 0)

    names = ["jb", "kb", *terms.weight_names]
    return compute((*extents, *terms.weight_extents(channels)), element, name, names)


def excess_of_rows(weight: Tensor, extents: tuple[int, int], name: str) -> Tensor:
    """What shifted data adds to the sums of a matrix of weights: `[jb, l]`, of these extents."""
    k = reduce_axis(weight.shape[1], "k")

    def element(jb: Expr, at: Expr) -> Reduction:
        row = jb * extents[1] + at
        value = te.cast(weight[row, k], INT32) * EXCESS
        return te.sum(te.select(row < weight.shape[0], value, 0), (k,))

    return compute(extents, element, name, ["jb", "l"])


def _sums(
    padded: Tensor,
    packed: Tensor,
    extents: tuple[int, int, int],
    terms: DotTerms,
    dtype: DType,
    name: str,
) -> Tensor:
    """The sums, in blocks of outputs."""
    kb, inner = reduce_axis(packed.shape[1], "kb"), terms.axes()

    def element(jb: Expr, i: Expr, at: Expr) -> Reduction:
        column = terms.index(kb, terms.data_index(inner))
        left, right = padded[i, column], packed[(jb, kb, *terms.weight_indices(at, inner))]
        return te.sum(te.cast(left, dtype) * te.cast(right, dtype), (kb, *inner))

    return compute(extents, element, name, ["jb", "i", "l"])


def schedule_packed_dense(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of a dense layer's second program, of `data`, packed weights and other inputs of
    `out`.

    Blocks of outputs are distributed over threads. A tile's sums are accumulated in registers over
    all terms; the following operators are computed on these registers.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    schedule = product_in_tiles(layer, out)
    inner = (*layer.terms.steps, "i")
    schedule = carry_in_registers(schedule, layer.sums.name, ("kb",), inner, layer.dot)
    schedule = schedule.parallel(out.name, "block")
    if layer.padded is layer.data:
        return schedule
    return schedule.vectorize(layer.padded.name, "k").parallel(layer.padded.name, "i")


class DenseOnCpu(LayerOnCpu):
    """A dense layer with constant weights, which are packed once."""

    name = "dense"
    patterns = layer_patterns("dense", rank=2)
    packed = staticmethod(packed_dense)
    scheduled = staticmethod(schedule_packed_dense)

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        rows, channels = workload.result.static_shape("out")
        return channels, 1, rows
