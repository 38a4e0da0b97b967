"""The templates of layers whose weights stay compressed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.operators.compressed import DequantiseBlocks, Widen
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.opspec import AnyOp, OpSpec, keywords
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.byte_codes import CompressedWeight
from tandem.compiler.machines.cpu.templates.compressed_conv2d import (
    compressed_conv2d,
    most_pixels,
    schedule_compressed_conv2d,
    takes_codes,
)
from tandem.compiler.machines.cpu.templates.compressed_dense import (
    compressed_dense,
    schedule_compressed_dense,
)
from tandem.compiler.machines.cpu.templates.compressed_matmul import (
    BlockedWeight,
    compressed_matmul,
    schedule_compressed_matmul,
)
from tandem.compiler.machines.cpu.templates.layer import (
    BLOCKED,
    COMPRESSED,
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    element_by_element,
    layer_patterns,
    weight_parameters,
    widening_of,
)
from tandem.compiler.machines.cpu.templates.register_tiles import TileSpace
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Space
from tandem.compiler.te import Tensor
from tandem.compiler.te.knobs import Choice

_TILE_REGISTERS = 21 / 32
"""The share of registers for tiles; others hold widened weights and the sums of groups."""
_MOST_VECTORS = 6
"""The most vectors of outputs: measured, with one more a layer of one row takes half as long
again."""
_PADDING = 1.02
"""The most outputs, with those up to whole tiles, relative to the fewest of any tile."""


@dataclass(frozen=True, slots=True)
class CompressedWorkload(LayerWorkload):
    """A kernel that contains a layer of compressed weights; `weight` is the position of the codes.

    Attributes
    ----------
    given
        The attributes of the operator that computes weights from codes.
    parameters
        The positions of the codes, scales and zero points among parameters.
    """

    given: Attributes
    parameters: tuple[int, ...]


class CompressedLayerOnCpu(LayerOnCpu):
    """A layer with constant compressed weights, whose codes are packed once."""

    # Weights of few bits take longer to compute with than to bring: measured, the processor's own
    # prefetches are enough, and further ones take a quarter of the bandwidth.
    prefetches = False

    def refuse(self, match: Match, machine: CpuTarget) -> None:
        """Raise `Refusal` if constants do not fit, or codes do not gain; by default all do."""

    @abstractmethod
    def compressed(
        self,
        given: Attributes,
        stored: Sequence[Tensor],
        operands: Sequence[Tensor],
        options: Mapping[str, Any],
    ) -> PackedLayer:
        """The layer of codes, scales and zero points; `operands` are the operator's, of which the
        second are the weights, and `options` its keywords."""

    def bind(self, found: KernelMatch, machine: CpuTarget) -> tuple[LayerWorkload, Arguments]:
        self.refuse(found.match, machine)
        kernel, layer = found.kernel, found.match.lets[-1]
        parameters, given = weight_parameters(found), widening_of(found.match).attributes
        element_by_element(kernel, layer)
        line = kernel.body.lets.index(layer)
        workload = CompressedWorkload(kernel, line, parameters[0], given, parameters)
        self.check(workload, machine)
        return workload, Arguments()

    def space(self, workload: LayerWorkload, machine: CpuTarget) -> Space:
        # What is padded is stored and read too, and reading is what takes the time.
        knobs, outputs = super().space(workload, machine).knobs, self.tiled_extents(workload)[0]
        padded = {int(width): -(-outputs // int(width)) * int(width) for width in knobs["channels"]}
        most = min(padded.values()) * _PADDING
        lanes = min(padded)
        widths = (width for width, size in padded.items() if size <= most)
        kept = tuple(width for width in widths if width <= _MOST_VECTORS * lanes)
        return Space({**knobs, "channels": kept})

    def _tiles(self, workload: LayerWorkload, machine: CpuTarget) -> TileSpace:
        space = super()._tiles(workload, machine)
        return replace(space, registers=max(int(space.registers * _TILE_REGISTERS), 1))

    def layer(
        self, workload: LayerWorkload, choice: Choice | None, machine: CpuTarget
    ) -> tuple[PackedLayer, Tensor]:
        assert isinstance(workload, CompressedWorkload), "a workload of this template"
        kernel, call = workload.kernel, workload.call
        assert isinstance(call.callee, OpSpec), "matched"
        inputs = placeholders(kernel)
        stored = [inputs[number] for number in workload.parameters]
        made: list[PackedLayer] = []

        def compute(name: str, operands: Sequence[Tensor], values: Any) -> tuple[Tensor, ...]:
            options = {"simd": Simd.of(machine), "name": name, **keywords(values)}
            options |= self.options(choice) if choice else {}
            made.append(self.compressed(workload.given, stored, operands, options))
            return (made[0].output,)

        spec: AnyOp = replace(call.callee, compute=compute)
        lets = list(kernel.body.lets)
        lets[workload.line] = replace(lets[workload.line], value=replace(call, callee=spec))
        changed = replace(kernel, body=replace(kernel.body, lets=tuple(lets)))
        (output,) = tensors(changed, inputs)
        return made[0], output


class CompressedDenseOnCpu(CompressedLayerOnCpu):
    """A dense layer of integers."""

    name = "compressed_dense"
    patterns = layer_patterns("dense", 2, COMPRESSED)
    scheduled = staticmethod(schedule_compressed_dense)

    def refuse(self, match: Match, machine: CpuTarget) -> None:
        _refuse_axis_and_products(match)

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        rows, channels = workload.result.static_shape("out")
        return channels, 1, rows

    def compressed(
        self,
        given: Attributes,
        stored: Sequence[Tensor],
        operands: Sequence[Tensor],
        options: Mapping[str, Any],
    ) -> PackedLayer:
        weight, (data, _, *bias) = _byte_weight(given, stored, operands), operands
        return compressed_dense(data, weight, bias=bias[0] if bias else None, **options)


class CompressedConv2dOnCpu(CompressedLayerOnCpu):
    """A convolution of integers whose weights few pixels share, by `most` of a processor."""

    name = "compressed_conv2d"
    patterns = layer_patterns("conv2d", 4, COMPRESSED)
    scheduled = staticmethod(schedule_compressed_conv2d)

    def __init__(self, most: Callable[[CpuTarget], int] = most_pixels) -> None:
        self.most = most

    def refuse(self, match: Match, machine: CpuTarget) -> None:
        result, most = match.lets[-1].type, self.most(machine)
        assert result is not None, "kernels know the types of their values"
        if not takes_codes(match.attributes("conv2d", Conv2d), result, most):
            raise Refusal(
                f"a result {result}: codes are read for {most} pixels or fewer, and where all "
                "channels are in one group"
            )
        _refuse_axis_and_products(match)

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        _, channels, rows, columns = workload.result.static_shape("out")
        return channels, rows, columns

    def compressed(
        self,
        given: Attributes,
        stored: Sequence[Tensor],
        operands: Sequence[Tensor],
        options: Mapping[str, Any],
    ) -> PackedLayer:
        weight, (data, _, *bias) = _byte_weight(given, stored, operands), operands
        return compressed_conv2d(data, weight, bias=bias[0] if bias else None, **options)


class CompressedMatmulOnCpu(CompressedLayerOnCpu):
    """A product of real numbers."""

    name = "compressed_matmul"
    patterns = tuple(
        Apply("matmul", (Operand("data", ranks=(2, 3, 4, 5), constant=None), weights))
        for weights in BLOCKED
    )
    scheduled = staticmethod(schedule_compressed_matmul)

    def refuse(self, match: Match, machine: CpuTarget) -> None:
        codes = match.constant("codes")
        axis = match.attributes("dequantise_blocks", DequantiseBlocks).axis
        if codes.array.ndim != 2 or axis % 2 != 0:
            raise Refusal(f"blocks of {codes.type} along axis {axis}; they lie along axis 0 of 2")

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        rows, columns = workload.result.static_shape("out")[-2:]
        return columns, 1, rows

    def compressed(
        self,
        given: Attributes,
        stored: Sequence[Tensor],
        operands: Sequence[Tensor],
        options: Mapping[str, Any],
    ) -> PackedLayer:
        assert isinstance(given, DequantiseBlocks), "matched"
        (codes, scales, *zeros), (data, values) = stored, operands
        weight = BlockedWeight(
            codes, scales, zeros[0] if zeros else None, given.block, given.middle, values
        )
        return compressed_matmul(data, weight, **options)


def _byte_weight(
    given: Attributes, stored: Sequence[Tensor], operands: Sequence[Tensor]
) -> CompressedWeight:
    """The weights of a layer of integers."""
    assert isinstance(given, Widen), "matched"
    (codes, *scales), widened = stored, operands[1]
    group = given.group if scales else codes.shape[1]
    return CompressedWeight(codes, scales[0] if scales else None, given.table, group, widened)


def _refuse_axis_and_products(match: Match) -> None:
    """Raise `Refusal` unless groups lie along the inputs, and products with scales are int8."""
    if "scales" not in match.operands:
        return
    given = match.attributes("widen", Widen)
    codes, scales = match.constant("codes").array, match.constant("scales").array
    if given.axis % codes.ndim != 1:
        raise Refusal(f"groups along axis {given.axis}; they lie along the inputs, axis 1")
    table = np.array(given.table, np.int32)
    largest = int(scales.astype(np.uint8).max(initial=0))
    if INT8.low <= table.min() * largest and table.max() * largest <= INT8.high:
        return
    for row, (some, factors) in enumerate(zip(codes, scales, strict=True)):
        spread = np.repeat(factors.astype(np.int32), given.group, 0)[: len(some)]
        products = table[some.astype(np.uint8)] * spread
        if products.size and not INT8.low <= products.min() <= products.max() <= INT8.high:
            raise Refusal(f"output {row} has a product of an entry and a scale that is no int8")
