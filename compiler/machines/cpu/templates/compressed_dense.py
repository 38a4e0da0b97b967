"""Dense layers on the CPU whose weights stay compressed: codes in bytes, widened in registers.

    group[jb, i, g, l]          = sum of padded[i, input] * widened[jb, g, s, q, l, t] over s, q, t
    sum[jb, i, l]               = sum of group[jb, i, g, l] * scales over g

`byte_codes.py` has codes, scales, and the numbers of inputs.
"""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.dtypes import INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.byte_codes import (
    CodeLayout,
    CompressedWeight,
    packed_codes,
    packed_scales,
    scale_of,
    widened_codes,
)
from tandem.compiler.machines.cpu.templates.dense import excess_of_rows
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.group_sums import CompressedLayer, sums_of_bytes
from tandem.compiler.machines.cpu.templates.layer import (
    PackedLayer,
    product_in_tiles,
    shift,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.matmul import dense
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction


def compressed_dense(
    data: Tensor,
    weight: CompressedWeight,
    *,
    simd: Simd,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
    name: str = "dense",
    tile: Tile | None = None,
) -> CompressedLayer:
    """`dense` of widened weights, computed from packed codes.

    Parameters
    ----------
    tile
        By default `best_tile`.

    Raises
    ------
    Refusal
        The result is empty or no int32, or groups do not fit registers.
    TensorError
        The errors of `dense`.
    """
    plain = dense(data, weight.widened, bias=bias, out_dtype=out_dtype, name=name)
    if 0 in plain.shape or plain.dtype != INT32:
        raise Refusal(f"{plain.dtype}{list(plain.shape)}: sums of int32 are computed from codes")
    rows, outputs = plain.shape
    types = data.dtype, weight.widened.dtype, INT32
    shifted, dot = simd.dot_of_shifted(*types), simd.layer_dot(*types)
    tile = tile or best_tile(outputs, 1, rows, INT32, simd, dot)
    layout = CodeLayout.of(weight, tile, dot)
    whole = -(-rows // tile.columns) * tile.columns
    padded = data
    if (whole, layout.inputs) != data.shape or shifted:
        shape = whole, layout.inputs
        padded = _padded(data, shape, f"{name}_pad", shifted is not None)
    packings = [packed_codes(weight, layout, f"{name}_weight")]
    if weight.scales is not None:
        packings.append(packed_scales(weight.scales, layout, f"{name}_scales"))
    if shifted:
        packings.append(
            excess_of_rows(weight.widened, (layout.blocks, layout.channels), f"{name}_excess")
        )
    packed = unpacked_inputs(packings)
    widened = widened_codes(packed[0], weight, layout, f"{name}_widened")
    partial = None
    if weight.scales is None:
        sums = _group_sums(padded, widened, layout, f"{name}_sum")
    else:
        partial = _group_sums(padded, widened, layout, f"{name}_group")
        sums = _sums(partial, packed[1], layout, f"{name}_sum")

    def element(i: Expr, j: Expr) -> Expr:
        at = (j // tile.channels, i, j % tile.channels)
        value = sums[at] if weight.scales is not None else sums[(*at[:2], 0, at[2])]
        if shifted:
            value = value - packed[-1][at[0], at[2]]
        return value if bias is None else value + bias[j]

    output = compute(plain.shape, element, name)
    lanes = simd.lanes(INT32) if dot is None else dot.outputs[0].size
    return CompressedLayer(
        data=data,
        weight=weight.widened,
        packings=tuple(packings),
        packed=packed,
        padded=padded,
        sums=sums,
        output=output,
        tile=tile,
        dot=dot,
        terms=SINGLE_TERMS,
        widened=widened,
        partial=partial,
        lanes=lanes,
    )


def _padded(data: Tensor, extents: tuple[int, int], name: str, shifted: bool) -> Tensor:
    """The data with zeros up to whole tiles and groups, whatever codes there mean; may be
    shifted."""

    def element(i: Expr, k: Expr) -> Expr:
        there = te.all_of(i < data.shape[0], k < data.shape[1])
        value = data[i, k]
        return te.select(there, shift(value) if shifted else value, 0)

    return compute(extents, element, name)


def _group_sums(padded: Tensor, widened: Tensor, layout: CodeLayout, name: str) -> Tensor:
    """The sums of groups, in blocks of outputs: `[jb, i, g, l]`."""
    axes = s, q, k = tuple(
        map(reduce_axis, (layout.steps, layout.parts, layout.depth), ("s", "q", "k"))
    )

    def element(jb: Expr, i: Expr, g: Expr, at: Expr) -> Reduction:
        left, right = padded[i, layout.input_of(g, s, q, k)], widened[jb, g, s, q, at, k]
        return te.sum(te.cast(left, INT32) * te.cast(right, INT32), axes)

    extents = layout.blocks, padded.shape[0], layout.groups, layout.channels
    return compute(extents, element, name, ["jb", "i", "g", "l"])


def _sums(partial: Tensor, scales: Tensor, layout: CodeLayout, name: str) -> Tensor:
    """The sums of groups times their scales: `[jb, i, l]`."""
    g = reduce_axis(layout.groups, "g")

    def element(jb: Expr, i: Expr, at: Expr) -> Reduction:
        return te.sum(partial[jb, i, g, at] * scale_of(scales, jb, g, (), at), g)

    blocks, rows, _, channels = partial.shape
    return compute((blocks, rows, channels), element, name, ["jb", "i", "l"])


def schedule_compressed_dense(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of the layer's program: `schedule_packed_dense` with weights widened in the
    inner loop, and sums of groups in registers too.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    assert isinstance(layer, CompressedLayer), "a layer of compressed weights"
    schedule = product_in_tiles(layer, out, layer.widened, layer.partial or layer.sums)
    schedule = sums_of_bytes(schedule, layer, ("g",), ("s",), "q", ("i",))
    schedule = schedule.parallel(out.name, "block")
    if layer.padded is layer.data:
        return schedule
    k = layer.padded.source.axes[1].name if layer.padded.source is not None else "k"
    return schedule.vectorize(layer.padded.name, k).parallel(layer.padded.name, "i")
