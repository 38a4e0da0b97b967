"""Products of two activations on the GEMM array, such as attention's, and their requantisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Var
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.layouts.layout import Layout, One, Whole, in_blocks
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    epilogue_passes,
    requantisation,
    requantise_pattern,
)
from tandem.compiler.machines.accelerator.templates.work_counts import (
    TransferCounts,
    tile_shapes,
    transfers_of,
)
from tandem.compiler.operators.blocks import blocks
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import (
    RESULT,
    Arguments,
    HostPacking,
    KernelMatch,
    Shapes,
)
from tandem.compiler.plan.space import Ints, Space
from tandem.compiler.te import Tensor, placeholder
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

_RANKS = tuple(range(2, 9))
_PRODUCT = Apply(
    "matmul", (Operand("data", INT8, _RANKS), Operand("weight", INT8, _RANKS, constant=None))
)
_LARGEST_TERM = int(INT8.low) ** 2


@dataclass(frozen=True, slots=True)
class Matrices:
    """`count` products of int8[rows, depth] and int8[depth, columns]."""

    count: int
    rows: int
    depth: int
    columns: int

    @staticmethod
    def of(data: tuple[int, ...], weight: tuple[int, ...]) -> Matrices:
        """The products of tensors of these shapes.

        A single second matrix for all first ones is one product, of all their rows.

        Raises
        ------
        Refusal
            The tensors are stacks of matrices of different shapes.
        """
        *stack, rows, depth = data
        *others, _, columns = weight
        if prod(others) == 1:
            return Matrices(1, prod(stack) * rows, depth, columns)
        if stack != others:
            raise Refusal(
                f"it broadcasts {stack} matrices to {others}: Expand before it, to stacks of one "
                "shape, would help"
            )
        return Matrices(prod(stack), rows, depth, columns)

    def is_image(self, config: HardwareConfig) -> bool:
        """Whether the second matrices are images whose pixels, a block of them and a block of
        channels, are elements of WGT as they lie."""
        block = config.block_in
        return block == config.block_out and not (self.depth % block or self.columns % block)


@dataclass(frozen=True, slots=True)
class MatmulWorkload(Conv2dWorkload):
    """Products as a convolution of 1x1: matrices are groups, rows pixels, and columns outputs.

    Attributes
    ----------
    image
        Whether the weight in DRAM has blocks in the order [groups, IC, OC / groups, L, K], else in
        the order [OC / groups, IC, groups, L, K].
    """

    image: bool = field(kw_only=True)

    def weight_loads(self, oc: Ints, ic: Ints, taps: Ints | int) -> TransferCounts:
        own, kernels = self.blocks_per_group, self.weight[:2]

        def in_order(*extents: Ints | int) -> tuple[Ints | int, ...]:
            return extents[::-1] if self.image else extents

        boxes = (
            (count, in_order(np.minimum(outputs, own), inputs, np.maximum(1, outputs // own)))
            for count, (outputs, inputs) in tile_shapes(kernels, (oc, ic))
        )
        whole = (own, kernels[1], self.groups)
        return transfers_of(MemoryId.WGT, boxes, whole[::-1] if self.image else whole)

    def weight_blocks(self, oc: Ints) -> Ints:
        """Whole groups for tiles that do not divide a group: what is loaded is a box of groups and
        outputs of a group."""
        own = self.blocks_per_group
        if self.groups == 1:
            return oc
        groups = np.minimum(self.spanned_groups(oc), self.groups)
        return np.where(own % oc == 0, oc, groups * own)


class MatmulOnArray(Conv2dOnArray):
    """The convolution of 1x1 whose weights are computed when the network runs, or a constant stack
    of matrices.

    The first matrices are images with a pixel for each row; so is the result. The second ones are
    weights: an image with a pixel for each column where blocks are whole (`Matrices.is_image`),
    so that an operator of the accelerator can have written it; else the CPU packs them.
    """

    name = "matmul"
    patterns = (requantise_pattern(_PRODUCT),)

    def layout(
        self, match: Match, name: str, shapes: Shapes, machine: AcceleratorTarget
    ) -> Layout | None:
        config, bound = machine.config, match.operands["weight"]
        constant = isinstance(bound, Constant)
        weight = bound.array.shape if isinstance(bound, Constant) else shapes(bound.name)
        try:
            found = Matrices.of(shapes(match.variable("data")), weight)
        except Refusal:
            return None  # `bind` refuses such a kernel, whatever its layouts.
        if name == "weight":
            assert not constant, "constants are packed by `bind`"
            return _weight_layout(found, len(weight), config)
        *stack, rows, columns = range(
            len(shapes(match.name if name == RESULT else match.variable(name)))
        )
        matrices = tuple(map(Whole, stack))
        block = config.block_out if name == RESULT else config.block_in
        channels, channel = in_blocks(columns, block)
        whole = (*matrices, channels) if found.count > 1 else (channels, *matrices)
        return Layout((*whole, Whole(rows), One(), channel))

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[MatmulWorkload, Arguments]:
        config, matrices = machine.config, _matrices(found)
        if config.batch != 1:
            raise Refusal(
                f"products of activations need batch 1, and {config.name} has {config.batch}: a "
                "configuration with log_batch 0 would help"
            )
        if any(found.match.constant(each).array.size != 1 for each in ("multiplier", "addend")):
            raise Refusal(
                "products of activations have one scale for all elements, and not one for each "
                "channel"
            )
        count, rows = matrices.count, matrices.rows
        depth, columns = matrices.depth, matrices.columns
        inputs, outputs = blocks(depth, config.block_in), blocks(columns, config.block_out)
        passes, numbers = epilogue_passes(
            requantisation(found.match, depth * _LARGEST_TERM),
            count * outputs * config.block_out,
            config,
        )
        workload = MatmulWorkload(
            (1, count * inputs, 1, rows, 1, config.block_in),
            (count * outputs, inputs, 1, 1, config.block_out, config.block_in),
            strides=(1, 1),
            padding=(0, 0, 0, 0),
            dilation=(1, 1),
            groups=count,
            passes=passes,
            image=matrices.is_image(config),
        )
        constant = found.match.operands["weight"]
        if not isinstance(constant, Constant):
            return workload, Arguments(numbers.tensors, numbers.immediates)
        layout = _weight_layout(matrices, constant.array.ndim, config)
        packed = layout.packed(constant.array).reshape(self.weight(workload)[0].shape)
        return workload, Arguments({"weight": packed, **numbers.tensors}, numbers.immediates)

    def macs(self, found: KernelMatch) -> int:
        matrices = _matrices(found)
        return matrices.count * matrices.rows * matrices.depth * matrices.columns

    def minimum_traffic(self, workload: Conv2dWorkload) -> Mapping[str, Fraction]:
        return {}

    def repacked(
        self, match: Match, shapes: Shapes, machine: AcceleratorTarget
    ) -> tuple[HostPacking, ...]:
        return ()

    def wide_space(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> Space | None:
        return None

    def weight(self, workload: Conv2dWorkload) -> tuple[Tensor, Callable[..., Expr]]:
        assert isinstance(workload, MatmulWorkload), "bound so"
        own, (_, inputs, _, _, *block) = workload.blocks_per_group, workload.weight
        order = (workload.groups, inputs, own) if workload.image else (own, inputs, workload.groups)
        tensor = placeholder((*order, *block), INT8, "weight")

        def element(oc: Expr, ic: Expr, _ky: Expr, _kx: Expr, bo: Expr, bi: Expr) -> Expr:
            group = oc // own if workload.groups > 1 else index(0)
            output = oc % own if workload.groups > 1 else oc
            first, last = (group, output) if workload.image else (output, group)
            return tensor[first, ic, last, bo, bi]

        return tensor, element


def _weight_layout(found: Matrices, rank: int, config: HardwareConfig) -> Layout:
    """How the second matrices lie in DRAM, of a tensor with that many axes."""
    *stack, rows, columns = range(rank)
    matrices = tuple(map(Whole, stack))
    if found.is_image(config):
        channels, channel = in_blocks(rows, config.block_in)
        return Layout((*matrices, channels, Whole(columns), One(), channel))
    # The sums go over whole blocks.
    inputs, term = in_blocks(rows, config.block_in, zero=True)
    outputs, lane = in_blocks(columns, config.block_out)
    return Layout((outputs, inputs, *matrices, One(), lane, term))


def _matrices(found: KernelMatch) -> Matrices:
    """The products of a matched kernel, by the types that its operator reads."""
    types = {let.name: let.type for let in found.kernel.body.lets}
    types |= {param.name: param.type for param in found.kernel.params}
    product = found.match.let("matmul").value
    assert isinstance(product, Call), "matched"
    shapes = []
    for operand in product.args:
        assert isinstance(operand, Var), "matched: computed"
        type_ = types[operand.name]
        assert isinstance(type_, TensorType), "kernels know the types of their values"
        shapes.append(type_.static_shape(operand.name))
    return Matrices.of(*shapes)
