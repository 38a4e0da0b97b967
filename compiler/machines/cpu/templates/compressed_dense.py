"""Dense layers on the CPU whose weights stay compressed: codes in bytes, widened in registers.

    packed[jb, g, s, l, t]      codes of output jb * channels + l, `parts` in a byte
    scales[jb, g // 2, l]       the scales of two groups in a byte
    widened[jb, g, s, q, l, t]  = table[packed[jb, g, s, l, t] >> q * bits & mask], in registers
    group[jb, i, g, l]          = sum of padded[i, ((g * steps + s) * parts + q) * depth + t] times
                                  widened[jb, g, s, q, l, t] over s, q, t
    sum[jb, i, l]               = sum of group[jb, i, g, l] * scales over g

The bytes of a register hold the codes of `parts` dot products, of which two share a load of four
bits, so that a register of weights is a load, a shift, and a permutation of the table. A scale
multiplies the sum of its group instead of its weights: as long as no product of an entry and a
scale leaves int8, sums are those of the widened weights in every bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.code_tables import entry_of
from tandem.compiler.ir.dtypes import BOOL, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dense import excess_of_rows
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.layer import (
    PackedLayer,
    carry_in_registers,
    product_in_tiles,
    shift,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.matmul import dense
from tandem.compiler.operators.widen import SCALES
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction

_BYTE = UINT8.bits
_SCALE_BITS, _LARGEST_SCALE = SCALES.bits, SCALES.high


@dataclass(frozen=True, slots=True)
class CompressedWeight:
    """A matrix of compressed weights.

    Attributes
    ----------
    codes
        [outputs, inputs], as `operators.widen.widen` takes them.
    scales
        [outputs, groups], or None.
    group
        The inputs that share a scale; all of them without scales.
    widened
        The int8 weights.
    """

    codes: Tensor
    scales: Tensor | None
    table: tuple[int, ...]
    group: int
    widened: Tensor

    @property
    def bits(self) -> int:
        """The bits of a code."""
        return self.codes.dtype.bits


@dataclass(frozen=True, slots=True)
class CodeLayout:
    """How codes lie in bytes.

    Attributes
    ----------
    blocks, channels
        Blocks of outputs, and the outputs of one.
    groups, steps
        Groups along the inputs, and the bytes for each output and term in one.
    parts, depth
        The codes in a byte, each of another dot product; and the terms of a dot product.
    """

    blocks: int
    channels: int
    groups: int
    steps: int
    parts: int
    depth: int

    @staticmethod
    def of(weight: CompressedWeight, tile: Tile, dot: PrimFunc | None) -> CodeLayout:
        """The layout for sums of a tile, which a dot product computes if one is given.

        Raises
        ------
        Refusal
            Groups end within the bytes of a register.
        """
        outputs, inputs = weight.codes.shape
        depth = 1 if dot is None else dot.inputs[1].size
        parts = _BYTE // weight.bits
        terms, group = depth * parts, min(weight.group, inputs)
        groups = -(-inputs // group)
        if groups > 1 and group % terms:
            raise Refusal(f"groups of {group} weights, which are widened {terms} at a time")
        blocks = -(-outputs // tile.channels)
        return CodeLayout(blocks, tile.channels, groups, -(-group // terms), parts, depth)

    @property
    def inputs(self) -> int:
        """The inputs, with those up to whole groups."""
        return self.groups * self.steps * self.parts * self.depth

    def input_of(self, group: Expr, step: Expr, part: Expr | int, term: Expr) -> Expr:
        """The number of an input."""
        return ((group * self.steps + step) * self.parts + part) * self.depth + term


@dataclass(frozen=True, slots=True)
class CompressedDense(PackedLayer):
    """A dense layer of compressed weights. Its programs pack codes, then scales, then excesses.

    Attributes
    ----------
    widened, partial
        The weights in registers, and sums of groups; None of formats without scales.
    lanes
        The sums in a register.
    """

    widened: Tensor
    partial: Tensor | None
    lanes: int


def compressed_dense(
    data: Tensor,
    weight: CompressedWeight,
    *,
    simd: Simd,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
    name: str = "dense",
    tile: Tile | None = None,
) -> CompressedDense:
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
    packings = [_packed_codes(weight, layout, f"{name}_weight")]
    if weight.scales is not None:
        packings.append(_packed_scales(weight.scales, layout, f"{name}_scales"))
    if shifted:
        packings.append(
            excess_of_rows(weight.widened, (layout.blocks, layout.channels), f"{name}_excess")
        )
    packed = unpacked_inputs(packings)
    widened = _widened(packed[0], weight, layout, f"{name}_widened")
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
    return CompressedDense(
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


def _packed_codes(weight: CompressedWeight, layout: CodeLayout, name: str) -> Tensor:
    """The codes in bytes, those of earlier inputs in lower bits; 0 beyond the edges."""
    codes = weight.codes

    def element(jb: Expr, g: Expr, s: Expr, at: Expr, t: Expr) -> Expr:
        row = jb * layout.channels + at
        found: Expr = te.const(0, UINT8)
        for part in range(layout.parts):
            column = layout.input_of(g, s, part, t)
            there = te.all_of(row < codes.shape[0], column < codes.shape[1])
            code = codes[row, column]
            number = te.select(code, te.const(1, UINT8), 0) if code.dtype == BOOL else code
            found = found | te.select(there, te.cast(number, UINT8) << part * weight.bits, 0)
        return found

    extents = layout.blocks, layout.groups, layout.steps, layout.channels, layout.depth
    return compute(extents, element, name, ["jb", "g", "s", "l", "t"])


def _packed_scales(scales: Tensor, layout: CodeLayout, name: str) -> Tensor:
    """The scales of two groups in a byte, that of the first in its low bits."""

    def element(jb: Expr, h: Expr, at: Expr) -> Expr:
        row = jb * layout.channels + at

        def scale(group: Expr) -> Expr:
            there = te.all_of(row < scales.shape[0], group < scales.shape[1])
            return te.select(there, te.cast(scales[row, group], UINT8), 0)

        return scale(h * 2) | scale(h * 2 + 1) << _SCALE_BITS

    extents = layout.blocks, -(-layout.groups // 2), layout.channels
    return compute(extents, element, name, ["jb", "h", "l"])


def _widened(packed: Tensor, weight: CompressedWeight, layout: CodeLayout, name: str) -> Tensor:
    """The int8 entries of codes."""
    mask = (1 << weight.bits) - 1

    def element(jb: Expr, g: Expr, s: Expr, q: Expr, at: Expr, t: Expr) -> Expr:
        code = packed[jb, g, s, at, t] >> te.cast(q, UINT8) * weight.bits & mask
        return entry_of(code, weight.table)

    blocks, groups, steps, channels, depth = packed.shape
    extents = blocks, groups, steps, layout.parts, channels, depth
    return compute(extents, element, name, ["jb", "g", "s", "q", "l", "t"])


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
        both = te.cast(scales[jb, g // 2, at], INT32)
        scale = both >> te.cast(g % 2, INT32) * _SCALE_BITS & _LARGEST_SCALE
        return te.sum(partial[jb, i, g, at] * scale, g)

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
    assert isinstance(layer, CompressedDense), "a layer of compressed weights"
    sums, widened = layer.sums.name, layer.widened.name
    schedule = product_in_tiles(layer, out, layer.widened, layer.partial or layer.sums)
    inner = sums
    if layer.partial is not None:
        inner = layer.partial.name
        schedule = (
            schedule.set_scope(sums, Scope.LOCAL)
            .split(sums, "l", layer.lanes, ("vector", "lane"))
            .reorder(sums, "g", "i", "vector", "lane")
            .compute_at(inner, sums, "g")
            .vectorize(sums, "lane")
            .unroll(sums, "vector")
            .unroll(sums, "i")
            .decompose_reduction(sums, "g")
        )
    schedule = carry_in_registers(schedule, inner, ("s",), ("q", "i"), layer.dot, widened)
    schedule = (
        schedule.set_scope(widened, Scope.LOCAL)
        .unroll(widened, "q")
        .split(widened, "l", layer.lanes, ("vector", "lane"))
        .fuse(widened, "lane", "t", "byte")
        .unroll(widened, "vector")
        .vectorize(widened, "byte")
    )
    schedule = schedule.parallel(out.name, "block")
    if layer.padded is layer.data:
        return schedule
    k = layer.padded.source.axes[1].name if layer.padded.source is not None else "k"
    return schedule.vectorize(layer.padded.name, k).parallel(layer.padded.name, "i")
