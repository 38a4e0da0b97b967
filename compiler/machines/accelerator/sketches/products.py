"""Products of networks that no other template takes, scheduled by sketches.

A match is written as a tensor expression: the sums of the operator, and the passes that requantise
them. `blocks` finds the blocks in which the array computes it, which are the layouts of the
kernel's tensors, and sketches schedule its computation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import ClassVar, Final

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Let
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.quantised import Requantise
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.layouts.layout import Layout
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import BlockedExpression, blocked
from tandem.compiler.machines.accelerator.sketches.counts import ProductCounts
from tandem.compiler.machines.accelerator.sketches.layers import LayerSketch
from tandem.compiler.machines.accelerator.sketches.product import (
    ArrayProduct,
    product_in,
    product_of,
)
from tandem.compiler.machines.accelerator.sketches.schedules import IMAGE, WEIGHT, tiled
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue, EpiloguePass
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    epilogue_passes,
    requantisation,
    requantise_pattern,
)
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    WorkCounts,
    kernel_length,
)
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch, Shapes
from tandem.compiler.plan.space import Choices, Floats, Ints, Space
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te import Schedule, Tensor, placeholder
from tandem.compiler.te.build import macs_of
from tandem.compiler.te.knobs import Choice, OpenTrace
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

DATA, WEIGHTS = "data", "weight"
"""The operands of a product, and their names in its program."""
_LARGEST_TERM: Final = int(INT8.low) ** 2
_CHANNELS: Final = {"conv2d": 1}
"""The axis of channels of an operator's results that has whole lanes, if not the last one."""
_OPERATORS: Final = ("matmul", "dense", "conv2d")
_RANKS: Final = tuple(range(1, 9))


def _patterns() -> tuple[Apply, ...]:
    products = (
        Apply(name, (Operand(DATA, INT8, constant=None), Operand(WEIGHTS, INT8, constant=None)))
        for name in _OPERATORS
    )
    return tuple(
        pattern
        for product in products
        for pattern in (
            requantise_pattern(product),
            *(requantise_pattern(product, skip_rank=rank) for rank in _RANKS),
        )
    )


def operator_of(let: Let) -> str:
    """The name of the operator of a matched value."""
    assert isinstance(let.value, Call), "matched"
    return let.value.callee.name


@dataclass(frozen=True, slots=True)
class PlainProduct:
    """A product of a network.

    Attributes
    ----------
    operator
        The name of the graph's operator, which has these attributes.
    data, weight
        The shapes of its operands.
    """

    operator: str
    attributes: Attributes
    data: tuple[int, ...]
    weight: tuple[int, ...]

    @staticmethod
    def of(match: Match, shapes: Shapes) -> PlainProduct:
        """The product of a match.

        Parameters
        ----------
        shapes
            Of the values that it reads, before they are packed.
        """
        (let,) = (let for let in match.lets if operator_of(let) in _OPERATORS)
        data, weight = (
            bound.array.shape if isinstance(bound, Constant) else shapes(bound.name)
            for bound in (match.operands[DATA], match.operands[WEIGHTS])
        )
        assert isinstance(let.value, Call), "matched"
        return PlainProduct(operator_of(let), let.value.attributes, data, weight)

    @property
    def sums(self) -> Tensor:
        """The sums, of plain tensors."""
        operands = placeholder(self.data, INT8, DATA), placeholder(self.weight, INT8, WEIGHTS)
        (found,) = OPERATORS[self.operator].compute("sums", operands, self.attributes)
        return found

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return macs_of([self.sums])


@dataclass(frozen=True, slots=True)
class ProductLayer:
    """A product, and the passes over its sums, without numbers.

    Attributes
    ----------
    channels
        The axis of channels, for which the passes have a number each.
    config
        The machine that computes it.
    """

    plain: PlainProduct
    passes: tuple[EpiloguePass, ...]
    channels: int
    config: HardwareConfig

    @staticmethod
    def of(
        match: Match, shapes: Shapes, machine: AcceleratorTarget
    ) -> tuple[ProductLayer, Arguments]:
        """The layer of a match, and the numbers of its passes; parameters as of `PlainProduct.of`.

        Raises
        ------
        Refusal
            Its sums may exceed 32 bits, or no passes of the machine requantise them.
        """
        plain = PlainProduct.of(match, shapes)
        sums = plain.sums
        terms = plain.macs // prod(sums.shape)
        channels = _channels(match, plain.operator, len(sums.shape))
        spec = requantisation(match, terms * _LARGEST_TERM)
        passes, numbers = epilogue_passes(spec, sums.shape[channels], machine.config)
        return ProductLayer(plain, passes, channels, machine.config), numbers

    @property
    def blocks(self) -> BlockedExpression:
        """The expression in blocks, of tensors `data`, `weight`, those of the passes, and `out`.

        Raises
        ------
        Refusal
            The array does not compute it; says why.
        """
        found = _in_blocks(self)
        if isinstance(found, Refusal):
            raise found
        return found

    @property
    def sketch(self) -> LayerSketch:
        """The computation that sketches schedule. Raises as `blocks`."""
        return LayerSketch.of(Schedule.of(self.blocks.output).program)

    @property
    def product(self) -> ArrayProduct:
        """The product of the computation. Raises as `blocks`."""
        return product_of(self.sketch.computation, AcceleratorTarget.of(self.config))


def _channels(match: Match, operator: str, rank: int) -> int:
    """The axis of channels: that of different numbers, or any where there is one for all."""
    given = match.attributes(operator_of(match.lets[-1]), Requantise)
    numbers = (match.constant(name).array for name in ("multiplier", "addend"))
    if any(each.size > 1 for each in numbers):
        return given.axis % rank
    return _CHANNELS.get(operator, rank - 1)


@lru_cache(maxsize=256)
def _in_blocks(layer: ProductLayer) -> BlockedExpression | Refusal:
    plain = layer.plain
    output, _ = Epilogue(layer.passes).compute(plain.sums, layer.channels)
    try:
        return blocked(output, output, AcceleratorTarget.of(layer.config))
    except Refusal as refusal:
        return refusal


class ProductOnArray(AcceleratorTemplate[ProductLayer]):
    """Products whose expression the array computes, scheduled by sketches: a template for what no
    other one takes."""

    name = PRODUCT_SKETCHES.name
    patterns: ClassVar[tuple[Apply, ...]] = _patterns()
    is_fallback: ClassVar[bool] = True

    def __init__(self, *, only_recorded: bool) -> None:
        self.only_recorded = only_recorded

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[ProductLayer, Arguments]:
        layer, numbers = ProductLayer.of(found.match, _plain_shapes(found), machine)
        constants = {
            name: layer.blocks.packed(name, bound.array)
            for name, bound in found.match.operands.items()
            if name in (DATA, WEIGHTS) and isinstance(bound, Constant)
        }
        return layer, Arguments({**constants, **numbers.tensors}, numbers.immediates)

    def layout(
        self, match: Match, name: str, shapes: Shapes, machine: AcceleratorTarget
    ) -> Layout | None:
        try:
            return ProductLayer.of(match, shapes, machine)[0].blocks.layouts[name]
        except Refusal:
            return None  # `bind` refuses such a kernel, whatever its layouts.

    def macs(self, found: KernelMatch) -> int:
        return PlainProduct.of(found.match, _plain_shapes(found)).macs

    # Schedules ------------------------------------------------------------------------------------

    def start(self, workload: ProductLayer, machine: AcceleratorTarget) -> Schedule:
        return workload.sketch.start()

    def sketch(self, workload: ProductLayer, machine: AcceleratorTarget) -> OpenTrace:
        return tiled(product_in(self.start(workload, machine), machine))

    def schedule(
        self, workload: ProductLayer, choice: Choice, machine: AcceleratorTarget
    ) -> Schedule:
        return Schedule(workload.sketch.program(choice, machine))

    # Choices --------------------------------------------------------------------------------------

    def recorded_choice(
        self, workload: ProductLayer, machine: AcceleratorTarget, known: TunedChoices
    ) -> Choice | None:
        return known.choice(self, workload.sketch.computation)

    def space(self, workload: ProductLayer, machine: AcceleratorTarget) -> Space:
        return PRODUCT_SKETCHES.space(workload.sketch.computation, machine)

    def wide_space(self, workload: ProductLayer, machine: AcceleratorTarget) -> Space | None:
        return PRODUCT_SKETCHES.wide_space(workload.sketch.computation, machine)

    def wide_choice(
        self, workload: ProductLayer, choice: Choice, cost: MachineCost
    ) -> Choice | None:
        machine = AcceleratorTarget.of(cost.config)
        space = self.wide_space(workload, machine)
        if space is None:
            return None
        choices = space.choices()
        choices = choices.where(self.fits(workload, choices, machine))
        if not len(choices):
            return None
        (known,) = self.estimate(workload, Choices.of([choice]), cost)
        estimates = self.estimate(workload, choices, cost)
        best = int(np.argmin(estimates))
        return choices.choice(best) if estimates[best] < known else None

    # Costs ----------------------------------------------------------------------------------------

    def usage(self, workload: ProductLayer, choices: Choices) -> Mapping[MemoryId, Ints]:
        return ProductCounts(workload.product, choices).usage()

    def counts_are_exact(self, workload: ProductLayer) -> bool:
        return False  # What LOADs bring again, where a slot still has it, is an estimate.

    def work_counts(self, workload: ProductLayer, choices: Choices) -> WorkCounts:
        product = workload.product
        counts, ones = ProductCounts(product, choices), np.ones(len(choices), np.int64)
        # The axis of lanes is the first one.
        sizes = tuple(counts.tile[axis] * ones for axis in product.inner)
        output = Output(tuple(product.extents[axis] for axis in product.inner), sizes, channels=0)
        loads = (counts.loads(each).times(counts.repeats(each)) for each in (IMAGE, WEIGHT))
        results = prod(product.extents[axis] for axis in product.inner)
        return WorkCounts.of(
            output,
            Epilogue(workload.passes),
            ones.astype(np.bool_),
            tuple(loads),
            np.ones(len(choices)),
            kernel_length(*counts.tile.values(), *counts.step.values()) * ones,
            ReductionWork(counts.products_of_tile, counts.products, results),
        )

    def estimate(self, workload: ProductLayer, choices: Choices, cost: MachineCost) -> Floats:
        """Estimated cycles, as of sketches."""
        return PRODUCT_SKETCHES.estimate(workload.sketch.computation, choices, cost)


def _plain_shapes(found: KernelMatch) -> Shapes:
    """The shapes of a kernel's parameters before they are packed."""
    types = {param.name: param.type for param in found.kernel.params}

    def shape(value: str) -> tuple[int, ...]:
        type_ = types[value]
        assert isinstance(type_, TensorType), "matched"
        return type_.static_shape(value)

    return shape


RECORDED_PRODUCTS: Final = ProductOnArray(only_recorded=True)
"""The template where records say which products it takes."""
ALL_PRODUCTS: Final = ProductOnArray(only_recorded=False)
"""The template that takes whatever the array computes."""
