"""Convolutions of 3 x 3 on the CPU by Winograd's algorithm, with weights transformed once.

An output of `m` x `m` pixels is computed from `a` x `a` inputs, a = m + 2 (Lavin and Gray, 2016):

    V[i, j, ci, t]          = B^T d B       the input tile d of tile t
    U[i, j, cb, ci, l]      = G g G^T       the weights g, transformed when they are packed
    S[i, j, cb, t, l]       = sum of U * V over ci, an a * a times smaller product
    output tile             = A^T S A

For m = 4 this takes a quarter of the multiplications, for m = 2 four ninths. Rounding errors are
larger than the direct convolution's: up to `TOLERANCE` of the largest sum of the products'
magnitudes. NaN and infinity in the data spread to the whole tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS
from tandem.compiler.machines.cpu.templates.layer import (
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    carry_in_registers,
    copy_on_threads,
    layer_patterns,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.machines.cpu.templates.winograd_sizes import WinogradSizes
from tandem.compiler.machines.cpu.templates.winograd_transforms import (
    KERNEL,
    TRANSFORMS,
    Matrix,
    Transform,
)
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.plan.space import Bools, Choices, Floats, Space, rank_by
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.build import stages
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction

TOLERANCE = {2: 2e-6, 4: 1e-5}
"""The greatest error of an output, relative to the largest sum of magnitudes of the products of an
output, by the outputs of a tile."""
_WORTHWHILE = 0.9
"""The greatest share of the direct convolution's time for which the algorithm is used."""


def _row(matrix: Matrix, number: Expr, terms: Sequence[Expr]) -> Expr:
    """The sum of a matrix's row `number` times the terms."""
    found: Expr | None = None
    for at, row in reversed(list(enumerate(matrix))):
        total: Expr | None = None
        for factor, term in zip(row, terms, strict=True):
            if factor:
                part = term if factor == 1 else term * float(factor)
                total = part if total is None else total + part
        assert total is not None, "no row is zero"
        found = total if found is None else te.select(te.equal(number, at), total, found)
    assert found is not None
    return found


@dataclass(frozen=True, slots=True)
class WinogradLayer(PackedLayer):
    """A convolution's stages.

    Attributes
    ----------
    lanes
        The channels whose outputs are transformed together: those of a vector.
    row_stage, data_tiles, half
        Half of the data's transform, the transformed data, and half of the output's transform.
    """

    lanes: int
    transform: Transform
    row_stage: Tensor
    data_tiles: Tensor
    half: Tensor

    @property
    def row_passes(self) -> int:
        """The number of register tiles above each other."""
        return self.data_tiles.shape[4] // self.tile.rows


def winograd_conv2d(
    data: Tensor,
    weight: Tensor,
    *,
    simd: Simd,
    outputs: int,
    tile: Tile,
    bias: Tensor | None = None,
    padding: Sequence[int] = (0, 0, 0, 0),
    name: str = "conv",
    **others: object,
) -> WinogradLayer:
    """`conv2d` of 3 x 3 windows with stride 1, in tiles of `outputs` x `outputs` pixels.

    Parameters
    ----------
    tile
        The register tile: channels, a divisor of the layer's, and rows and columns of tiles.
    others
        Attributes of `conv2d`, which have their defaults.
    """
    plain = conv2d(data, weight, bias=bias, padding=padding, name=name)
    batch, channels, height, width = plain.shape
    inputs = weight.shape[1]
    transform = TRANSFORMS[outputs]
    m, a = transform.outputs, transform.inputs
    down, across = (
        -(-extent // (m * step)) * step
        for extent, step in ((height, tile.rows), (width, tile.columns))
    )
    blocks, lanes = -(-channels // tile.channels), tile.channels
    top, left = padding[:2]

    def pad(n: Expr, ci: Expr, y: Expr, x: Expr) -> Expr:
        there = te.all_of(top <= y, y < top + data.shape[2], left <= x, x < left + data.shape[3])
        return te.select(there, data[n, ci, y - top, x - left], 0.0)

    padded = compute(
        (batch, inputs, down * m + KERNEL - 1, across * m + KERNEL - 1), pad, f"{name}_pad"
    )

    def row(n: Expr, ci: Expr, ty: Expr, i: Expr, x: Expr) -> Expr:
        return _row(transform.data, i, [padded[n, ci, ty * m + k, x] for k in range(a)])

    rows = compute((batch, inputs, down, a, padded.shape[3]), row, f"{name}_rows")

    def tiled(n: Expr, i: Expr, j: Expr, ci: Expr, ty: Expr, tx: Expr) -> Expr:
        return _row(transform.data, j, [rows[n, ci, ty, i, tx * m + k] for k in range(a)])

    tiles = compute((batch, a, a, inputs, down, across), tiled, f"{name}_tiles")
    packing = _packing(weight, transform, lanes, f"{name}_weight")
    packed = unpacked_inputs([packing])
    ci = reduce_axis(inputs, "ci")

    def product(n: Expr, i: Expr, j: Expr, cb: Expr, ty: Expr, tx: Expr, at: Expr) -> Reduction:
        return te.sum(tiles[n, i, j, ci, ty, tx] * packed[0][i, j, cb, ci, at], ci)

    sums = compute(
        (batch, a, a, blocks, down, across, lanes),
        product,
        f"{name}_sum",
        ["n", "i", "j", "cb", "ty", "tx", "l"],
    )

    def halved(n: Expr, cb: Expr, ty: Expr, tx: Expr, p: Expr, j: Expr, at: Expr) -> Expr:
        return _row(transform.output, p, [sums[n, i, j, cb, ty, tx, at] for i in range(a)])

    half = compute(
        (batch, blocks, down, across, m, a, lanes),
        halved,
        f"{name}_half",
        ["n", "cb", "ty", "tx", "p", "j", "l"],
    )

    def element(n: Expr, co: Expr, y: Expr, x: Expr) -> Expr:
        terms = [half[n, co // lanes, y // m, x // m, y % m, j, co % lanes] for j in range(a)]
        value = _row(transform.output, x % m, terms)
        return value if bias is None else value + bias[co]

    output = compute(plain.shape, element, name)
    return WinogradLayer(
        data,
        weight,
        (packing,),
        packed,
        padded,
        sums,
        output,
        tile,
        None,
        SINGLE_TERMS,
        simd.lanes(plain.dtype),
        transform,
        rows,
        tiles,
        half,
    )


def _packing(weight: Tensor, transform: Transform, lanes: int, name: str) -> Tensor:
    """The transformed weights, computed in float64: `[i, j, cb, ci, l]`."""
    channels, inputs, _, _ = weight.shape

    def element(i: Expr, j: Expr, cb: Expr, ci: Expr, at: Expr) -> Expr:
        channel = cb * lanes + at

        def wide(r: int, s: int) -> Expr:
            value = te.cast(weight[channel, ci, r, s], FLOAT64)
            if channels % lanes:
                value = te.select(channel < channels, value, 0.0)
            return value

        columns = [
            _row(transform.weight, i, [wide(r, s) for r in range(KERNEL)]) for s in range(KERNEL)
        ]
        return te.cast(_row(transform.weight, j, columns), weight.dtype)

    shape = (transform.inputs, transform.inputs, -(-channels // lanes), inputs, lanes)
    return compute(shape, element, name, ["i", "j", "cb", "ci", "l"])


def schedule_winograd_conv2d(conv: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of the layer's program.

    Rows of tiles are distributed over threads. Each transforms its data for all channels, then
    multiplies in register tiles, then transforms and stores the outputs of each tile. Where one row
    of register tiles is all there is, threads share each of the three steps: channels of the data,
    then points and blocks of channels, each of which has its own weights, then channels.
    """
    assert isinstance(conv, WinogradLayer)
    assert out.source is not None
    n, co, y, x = (each.name for each in out.source.axes)
    m, tile, result = conv.transform.outputs, conv.tile, f"{out.name}_tile"
    sums, half, tiles, rows = (
        stage.name for stage in (conv.sums, conv.half, conv.data_tiles, conv.row_stage)
    )
    acc = f"{sums}_acc"
    schedule = Schedule.of(out, inputs=conv.inputs)
    staying = {conv.padded.name, sums, half, tiles, rows, out.name}
    for stage in stages([out]):
        if stage.source is not None and stage.name not in staying:
            schedule = schedule.compute_inline(stage.name)
    schedule = (
        schedule.cache_write(out.name, Scope.LOCAL, result)
        .cache_write(sums, Scope.LOCAL, acc)
        .split(out.name, co, conv.lanes, ("block", "l"))
        .split(out.name, y, m * tile.rows, ("row", "y"))
        .split(out.name, "y", m, ("ty", "p"))
        .split(out.name, x, m, ("tx", "q"))
        .reorder(out.name, n, "row", "block", "ty", "tx", "p", "q", "l")
        .compute_at(result, out.name, "tx")
        .split(result, co, conv.lanes, ("block", "l"))
        .compute_at(half, out.name, "tx")
        .compute_at(sums, out.name, "row")
        .split(sums, "ty", tile.rows, ("row", "ty"))
        .split(sums, "tx", tile.columns, ("column", "tx"))
        .reorder(sums, "n", "i", "j", "cb", "row", "column", "ty", "tx", "l")
        .compute_at(acc, sums, "column")
        .compute_at(tiles, out.name, "row")
        .reorder(tiles, "n", "ci", "ty", "i", "j", "tx")
        .compute_at(rows, tiles, "ty")
    )
    # The data's transform: rows of the image, then columns of tiles.
    schedule = (
        schedule.reorder(rows, "x", "i")
        .vectorize(rows, "x")
        .unroll(rows, "i")
        .unroll(tiles, "i")
        .unroll(tiles, "j")
        .vectorize(tiles, "tx")
    )
    # The product.
    schedule = schedule.unroll(sums, "ty").unroll(sums, "tx").vectorize(sums, "l")
    schedule = carry_in_registers(schedule, acc, ("ci",), ("ty", "tx"), None)
    # The output's transform, and the operators that follow.
    schedule = (
        schedule.set_scope(half, Scope.LOCAL)
        .unroll(half, "p")
        .unroll(half, "j")
        .vectorize(half, "l")
        .reorder(result, y, x, "l")
        .vectorize(result, "l")
        .unroll(result, y)
        .unroll(result, x)
        .set_layout(result, ("0", "2", "3", "1"))
        .unroll(out.name, "p")
        .vectorize(out.name, "q")
        .unroll(out.name, "l")
    )
    if 0 < out.shape[3] // m < -(-out.shape[3] // m):
        # Whole tiles are stored without masks.
        schedule = schedule.partition(out.name, "tx", out.shape[3] // m)
    if out.shape[0] == 1 and conv.row_passes == 1:
        schedule = schedule.fuse(sums, "i", "j", "point").fuse(sums, "point", "cb", "task")
        schedule = schedule.parallel(tiles, "ci").parallel(sums, "task").parallel(out.name, "block")
    else:
        schedule = schedule.fuse(out.name, n, "row", "task").parallel(out.name, "task")
    schedule = copy_on_threads(schedule, conv.padded, "n", "ci")
    return schedule.vectorize(conv.padded.name, "x")


class WinogradOnCpu(LayerOnCpu):
    """A convolution of 3 x 3 in float32 with stride 1, where Winograd's algorithm is estimated to
    be faster than the direct one."""

    name = "winograd"
    patterns = layer_patterns("conv2d", rank=4)
    packed = staticmethod(winograd_conv2d)
    scheduled = staticmethod(schedule_winograd_conv2d)

    def options(self, choice: Choice) -> dict[str, Any]:
        return {"tile": Tile.of(choice), "outputs": int(choice["outputs"])}

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        _, channels, rows, columns = workload.result.static_shape("out")
        return channels, rows, columns

    def check(self, workload: LayerWorkload, machine: CpuTarget) -> None:
        data, weight = workload.operand(0), workload.operand(1)
        given = workload.call.attributes
        assert isinstance(given, Conv2d), "verified"
        window = weight.static_shape("weight")[2:]
        if window != (KERNEL, KERNEL) or given.groups != 1:
            raise Refusal("windows are not 3 x 3, or there are groups")
        if {*given.strides, *given.dilation} != {1} or workload.result.dtype != FLOAT32:
            raise Refusal("strides, dilation or types are others")
        if data.dtype != FLOAT32 or 0 in workload.result.static_shape("out"):
            raise Refusal("the data is not float32, or there is none")
        choices = self.space(workload, machine).choices()
        fitting = choices.where(self.fits(workload, choices, machine))
        if not len(fitting):
            raise Refusal("no tile divides the channels")
        sizes = self._sizes(workload, machine)
        if sizes.cycles(fitting).min() > _WORTHWHILE * sizes.direct_cycles():
            raise Refusal("the direct convolution is estimated to be as fast")

    def space(self, workload: LayerWorkload, machine: CpuTarget) -> Space:
        knobs = self._sizes(workload, machine).tiles(min(TRANSFORMS)).knobs.knobs
        return Space({"outputs": tuple(TRANSFORMS), **knobs})

    def fits(self, workload: LayerWorkload, choices: Choices, machine: CpuTarget) -> Bools:
        return self._sizes(workload, machine).fits(choices)

    def estimate(self, workload: LayerWorkload, choices: Choices, machine: CpuTarget) -> Floats:
        """Ranks by `WinogradSizes.cycles`, then by the largest register tile."""
        cycles = self._sizes(workload, machine).cycles(choices)
        return rank_by(cycles, -choices["rows"] * choices["columns"])

    def _sizes(self, workload: LayerWorkload, machine: CpuTarget) -> WinogradSizes:
        batch, channels, rows, columns = workload.result.static_shape("out")
        inputs = workload.operand(1).static_shape("weight")[1]
        simd = Simd.of(machine)
        return WinogradSizes(batch, inputs, channels, rows, columns, simd, machine.threads)
