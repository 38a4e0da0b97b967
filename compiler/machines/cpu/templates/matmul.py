"""Products of matrices on the CPU, with the right operand packed in the order of multiplication.

    packed[.., jb, k, l]    the element [.., k, jb * channels + l] of the right operand, or 0
    sum[.., jb, i, l]       columns of the result side by side, for the lanes of vectors
    matmul[.., i, j]        = sum[.., j // channels, i, j % channels]

A constant right operand is packed once; of any other the kernel packs a block of columns before it
multiplies it with all rows, which costs little where there are several rows. The last tile of rows
has fewer: its other sums repeat the last row, and nobody reads them.
"""

from __future__ import annotations

from functools import partial

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.layer import (
    BLOCKED,
    COMPRESSED,
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    carry_in_registers,
    element_by_element,
    product_in_tiles,
    product_on_threads,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.broadcast import broadcast_indices
from tandem.compiler.operators.matmul import matmul
from tandem.compiler.plan.pattern import Apply, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction

_LEAST_ROWS = 4
"""The fewest rows for which a right operand that is no constant is packed."""
_RANKS = (2, 3, 4, 5)


def packed_matmul(
    data: Tensor,
    weight: Tensor,
    *,
    simd: Simd,
    constant: bool,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
    name: str = "matmul",
    tile: Tile | None = None,
) -> PackedLayer | None:
    """`matmul`, which describes the parameters, with its right operand packed (`{name}_weight`).

    None if the result is empty or has integers, which dense layers multiply.

    Parameters
    ----------
    constant
        Whether another program packs the right operand.
    bias
        None: `matmul` has none.
    tile
        By default `best_tile`.

    Raises
    ------
    TensorError
        The errors of `matmul`.
    """
    assert bias is None, "matmul has two operands"
    plain = matmul(data, weight, out_dtype=out_dtype, name=name)
    if 0 in plain.shape or not plain.dtype.is_float:
        return None
    rows, columns = plain.shape[-2:]
    tile = tile or best_tile(columns, 1, rows, plain.dtype, simd)
    packing = _packing(weight, tile.channels, f"{name}_weight")
    (packed,) = unpacked_inputs([packing]) if constant else (packing,)
    sums = _sums(data, packed, plain, tile, f"{name}_sum")

    def element(*indices: Expr) -> Expr:
        *stack, i, j = indices
        return sums[(*stack, j // tile.channels, i, j % tile.channels)]

    assert plain.source is not None
    output = compute(plain.shape, element, name, [axis.name for axis in plain.source.axes])
    packings = (packing,) if constant else ()
    return PackedLayer(
        data, weight, packings, (packed,), data, sums, output, tile, None, SINGLE_TERMS
    )


def _packing(weight: Tensor, channels: int, name: str) -> Tensor:
    """The right operand in blocks of columns, with zeros up to whole blocks."""
    *stack, depth, columns = weight.shape

    def element(*indices: Expr) -> Expr:
        *outer, jb, k, at = indices
        column = jb * channels + at
        return te.select(column < columns, weight[(*outer, k, column)], 0)

    axes = [*(f"b{axis}" for axis in range(len(stack))), "jb", "k", "l"]
    return compute((*stack, -(-columns // channels), depth, channels), element, name, axes)


def _sums(data: Tensor, packed: Tensor, plain: Tensor, tile: Tile, name: str) -> Tensor:
    """The sums, in blocks of columns and whole tiles of rows."""
    *stack, rows, _ = plain.shape
    whole = -(-rows // tile.columns) * tile.columns
    k = reduce_axis(data.shape[-1], "k")

    def element(*indices: Expr) -> Reduction:
        *outer, jb, i, at = indices
        row = i if whole == rows else te.minimum(i, rows - 1)
        left = data[(*broadcast_indices(data.shape[:-2], outer), row, k)]
        right = packed[(*broadcast_indices(packed.shape[:-3], outer), jb, k, at)]
        return te.sum(te.cast(left, plain.dtype) * te.cast(right, plain.dtype), k)

    axes = [*(f"b{axis}" for axis in range(len(stack))), "jb", "i", "l"]
    return compute((*stack, packed.shape[-3], whole, tile.channels), element, name, axes)


def schedule_packed_matmul(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of a product with a packed right operand.

    Blocks of columns of all products are distributed over threads. A tile's sums are accumulated in
    registers over all terms; the following operators are computed on these registers.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    sums, tile, (packed,) = layer.sums.name, layer.tile, layer.packed
    schedule = product_in_tiles(layer, out)
    schedule = carry_in_registers(schedule, sums, ("k",), ("i",), None)
    if packed.source is not None:
        schedule = schedule.compute_at(packed.name, out.name, "block").vectorize(packed.name, "l")
    whole = out.shape[-2] // tile.columns
    if 0 < whole < -(-out.shape[-2] // tile.columns):
        # The last tile has fewer rows: it gets code of its own, without sums that nothing reads.
        schedule = schedule.partition(out.name, "row", whole)
    return product_on_threads(schedule, out)


class _MatmulOnCpu(LayerOnCpu):
    """A product of matrices, or of stacks of them."""

    scheduled = staticmethod(schedule_packed_matmul)

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        rows, columns = workload.result.static_shape("out")[-2:]
        return columns, 1, rows


_LEFT = Operand("a", ranks=_RANKS, constant=None)


class MatmulOnCpu(_MatmulOnCpu):
    """A product with a constant right operand, which is packed once."""

    name = "matmul"
    patterns = tuple(
        Apply("matmul", (_LEFT, right))
        for right in (Operand("b", ranks=_RANKS, constant=True), *COMPRESSED, *BLOCKED)
    )
    packed = staticmethod(partial(packed_matmul, constant=True))


class ComputedMatmulOnCpu(_MatmulOnCpu):
    """A product of several rows with a right operand that the kernel packs."""

    name = "computed_matmul"
    patterns = (Apply("matmul", (_LEFT, Operand("b", ranks=_RANKS))),)
    packed = staticmethod(partial(packed_matmul, constant=False))

    def bind(self, found: KernelMatch, machine: CpuTarget) -> tuple[LayerWorkload, Arguments]:
        kernel, layer = found.kernel, found.match.lets[-1]
        assert isinstance(layer.value, Call), "matched"
        left, right = layer.value.args
        names = [param.name for param in kernel.params]
        if isinstance(right, Constant) or right.name not in names or left == right:
            raise Refusal("the right operand is no parameter of its own")
        workload = LayerWorkload(kernel, kernel.body.lets.index(layer), names.index(right.name))
        if workload.result.static_shape("out")[-2] < _LEAST_ROWS:
            raise Refusal("there are few rows")
        element_by_element(kernel, layer)
        self.check(workload, machine)
        return workload, Arguments()
