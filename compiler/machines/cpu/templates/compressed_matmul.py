"""Products of real numbers with a right operand of few bits, on the CPU.

    packed[jb, g, s, l]         codes of column jb * channels + l, `parts` in a word of 32 bits
    scales[jb, g, l]            and zero points of groups
    widened[jb, g, s, q, l]     = packed[jb, g, s, l] >> q * bits & mask, minus the zero point: an
                                  integer as a float, exact, in registers
    group[.., jb, i, g, l]      = sum of a[.., i, (g * steps + s) * parts + q] times
                                  widened[jb, g, s, q, l] over s, q
    sum[.., jb, i, l]           = sum of group[.., jb, i, g, l] * scales[jb, g, l] over g

A scale multiplies the sum of its group instead of its weights, which rounds less often.
"""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32, INT32, UINT8, UINT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.group_sums import CompressedLayer, in_lanes, scaled_sums
from tandem.compiler.machines.cpu.templates.layer import (
    PackedLayer,
    product_in_tiles,
    product_on_threads,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.matmul import matmul
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction


@dataclass(frozen=True, slots=True)
class BlockedWeight:
    """A right operand of few bits.

    Attributes
    ----------
    codes
        [depth, columns], unsigned integers.
    scales, zeros
        [groups, columns], as `operators.quantised.dequantise_blocks` takes them; zero points may
        be None, and are `middle` then.
    group
        The terms that share a scale.
    values
        The real numbers.
    """

    codes: Tensor
    scales: Tensor
    zeros: Tensor | None
    group: int
    middle: int
    values: Tensor


@dataclass(frozen=True, slots=True)
class WordLayout:
    """How codes lie in words: blocks of so many columns, groups of so many words for a column, and
    so many codes in a word."""

    blocks: int
    channels: int
    groups: int
    steps: int
    parts: int

    @staticmethod
    def of(weight: BlockedWeight, tile: Tile) -> WordLayout:
        """The layout for sums of a tile; raises `Refusal` if groups end within words."""
        depth, columns = weight.codes.shape
        parts, group = UINT32.bits // weight.codes.dtype.bits, min(weight.group, depth)
        groups = -(-depth // group)
        if groups > 1 and group % parts:
            raise Refusal(f"blocks of {group} weights, of which a word has {parts}")
        return WordLayout(
            -(-columns // tile.channels), tile.channels, groups, -(-group // parts), parts
        )

    @property
    def depth(self) -> int:
        """The terms of a sum, with those up to whole groups."""
        return self.groups * self.steps * self.parts

    def term(self, group: Expr, step: Expr, part: Expr | int) -> Expr:
        """The number of a term."""
        return (group * self.steps + step) * self.parts + part


def compressed_matmul(
    data: Tensor,
    weight: BlockedWeight,
    *,
    simd: Simd,
    out_dtype: DType | None = None,
    name: str = "matmul",
    tile: Tile | None = None,
) -> CompressedLayer:
    """`matmul` of real numbers, computed from packed codes.

    Parameters
    ----------
    tile
        By default `best_tile`.

    Raises
    ------
    Refusal
        The result is empty, or types or groups do not fit.
    TensorError
        The errors of `matmul`.
    """
    plain = matmul(data, weight.values, out_dtype=out_dtype, name=name)
    if 0 in plain.shape or plain.dtype != FLOAT32:
        raise Refusal(f"{plain.dtype}{list(plain.shape)}: float32 is computed from codes")
    if weight.zeros is not None and weight.zeros.dtype.is_float:
        raise Refusal("zero points are real numbers")
    if weight.codes.dtype.low < 0 or weight.codes.dtype.bits not in (2, 4, 8):
        raise Refusal(f"codes are {weight.codes.dtype}")
    rows, columns = plain.shape[-2:]
    tile = tile or best_tile(columns, 1, rows, FLOAT32, simd)
    layout = WordLayout.of(weight, tile)
    packings = [_words(weight.codes, layout, f"{name}_weight")]
    packings.append(_of_groups(weight.scales, layout, f"{name}_scales"))
    if weight.zeros is not None:
        packings.append(_of_groups(weight.zeros, layout, f"{name}_zeros"))
    packed = unpacked_inputs(packings)
    padded = data
    whole = -(-rows // tile.columns) * tile.columns
    if layout.depth > data.shape[-1] or whole > rows:
        padded = _padded(data, (whole, layout.depth), f"{name}_pad")
    widened = _widened(packed, weight, layout, f"{name}_widened")
    partial = _group_sums(padded, widened, layout, f"{name}_group")
    sums = _sums(partial, packed[1], f"{name}_sum")

    def element(*indices: Expr) -> Expr:
        *stack, i, j = indices
        return sums[(*stack, j // tile.channels, i, j % tile.channels)]

    assert plain.source is not None
    output = compute(plain.shape, element, name, [axis.name for axis in plain.source.axes])
    return CompressedLayer(
        data=data,
        weight=weight.values,
        packings=tuple(packings),
        packed=packed,
        padded=padded,
        sums=sums,
        output=output,
        tile=tile,
        dot=None,
        terms=SINGLE_TERMS,
        widened=widened,
        partial=partial,
        lanes=simd.lanes(FLOAT32),
    )


def _padded(data: Tensor, extents: tuple[int, int], name: str) -> Tensor:
    """The data with zeros up to whole groups, and its last row again up to whole tiles: nobody
    reads those sums."""
    *stack, rows, depth = data.shape

    def element(*indices: Expr) -> Expr:
        *outer, i, k = indices
        # The mask of a vector is the same for all rows: of others, LLVM 22 drops a half that is
        # never active, for AVX2, and reads what lies there.
        row = te.minimum(i, rows - 1) if extents[0] > rows else i
        return te.select(k < depth, data[(*outer, row, k)], 0.0)

    names = [*(f"b{axis}" for axis in range(len(stack))), "i", "k"]
    return compute((*stack, *extents), element, name, names)


def _words(codes: Tensor, layout: WordLayout, name: str) -> Tensor:
    """The codes in words, those of earlier terms in lower bits; 0 beyond the edges."""

    def element(jb: Expr, g: Expr, s: Expr, at: Expr) -> Expr:
        column, found = jb * layout.channels + at, te.const(0, UINT32)
        for part in range(layout.parts):
            term = layout.term(g, s, part)
            there = te.all_of(term < codes.shape[0], column < codes.shape[1])
            number = te.cast(codes[term, column], UINT32) << part * codes.dtype.bits
            found = found | te.select(there, number, 0)
        return found

    extents = layout.blocks, layout.groups, layout.steps, layout.channels
    return compute(extents, element, name, ["jb", "g", "s", "l"])


def _of_groups(numbers: Tensor, layout: WordLayout, name: str) -> Tensor:
    """The scales or zero points of groups in blocks of columns; 0 beyond the edges."""
    dtype = FLOAT32 if numbers.dtype.is_float else UINT8

    def element(jb: Expr, g: Expr, at: Expr) -> Expr:
        column = jb * layout.channels + at
        return te.select(column < numbers.shape[1], te.cast(numbers[g, column], dtype), 0)

    extents = layout.blocks, layout.groups, layout.channels
    return compute(extents, element, name, ["jb", "g", "l"])


def _widened(
    packed: tuple[Tensor, ...], weight: BlockedWeight, layout: WordLayout, name: str
) -> Tensor:
    """The integers that scales multiply, as floats."""
    bits = weight.codes.dtype.bits

    def element(jb: Expr, g: Expr, s: Expr, q: Expr, at: Expr) -> Expr:
        code = packed[0][jb, g, s, at] >> te.cast(q, UINT32) * bits & (1 << bits) - 1
        zero = te.const(weight.middle, INT32)
        if weight.zeros is not None:
            zero = te.cast(packed[2][jb, g, at], INT32)
        return te.cast(te.cast(code, INT32) - zero, FLOAT32)

    blocks, groups, steps, channels = packed[0].shape
    extents = blocks, groups, steps, layout.parts, channels
    return compute(extents, element, name, ["jb", "g", "s", "q", "l"])


def _group_sums(padded: Tensor, widened: Tensor, layout: WordLayout, name: str) -> Tensor:
    """The sums of groups: `[.., jb, i, g, l]`."""
    *stack, rows, _ = padded.shape
    s, q = reduce_axis(layout.steps, "s"), reduce_axis(layout.parts, "q")

    def element(*indices: Expr) -> Reduction:
        *outer, jb, i, g, at = indices
        left = padded[(*outer, i, layout.term(g, s, q))]
        return te.sum(left * widened[jb, g, s, q, at], (s, q))

    names = [*(f"b{axis}" for axis in range(len(stack))), "jb", "i", "g", "l"]
    extents = *stack, layout.blocks, rows, layout.groups, layout.channels
    return compute(extents, element, name, names)


def _sums(partial: Tensor, scales: Tensor, name: str) -> Tensor:
    """The sums of groups times their scales: `[.., jb, i, l]`."""
    *stack, blocks, rows, groups, channels = partial.shape
    g = reduce_axis(groups, "g")

    def element(*indices: Expr) -> Reduction:
        *outer, jb, i, at = indices
        return te.sum(partial[(*outer, jb, i, g, at)] * scales[jb, g, at], g)

    names = [*(f"b{axis}" for axis in range(len(stack))), "jb", "i", "l"]
    return compute((*stack, blocks, rows, channels), element, name, names)


def schedule_compressed_matmul(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of a product with a right operand of few bits: blocks of columns are distributed
    over threads; sums, sums of groups and a step's weights are in registers.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    assert isinstance(layer, CompressedLayer), "a product with a right operand of few bits"
    assert layer.partial is not None, "blocks have scales"
    partial, widened = layer.partial.name, layer.widened.name
    schedule = product_in_tiles(layer, out, layer.widened, layer.partial)
    schedule = scaled_sums(schedule, layer.sums, layer.partial, ("g",), ("i",), layer.lanes)
    schedule = schedule.set_scope(partial, Scope.LOCAL)
    schedule = in_lanes(schedule, partial, ("s", "q", "i"), layer.lanes)
    schedule = schedule.compute_at(widened, partial, "s").unroll(partial, "q")
    schedule = schedule.unroll(partial, "i").decompose_reduction(partial, "s")
    schedule = schedule.set_scope(widened, Scope.LOCAL)
    schedule = in_lanes(schedule, widened, ("q",), layer.lanes).unroll(widened, "q")
    schedule = product_on_threads(schedule, out)
    if layer.padded.source is None or layer.padded is layer.data:
        return schedule
    return schedule.vectorize(layer.padded.name, "k")
