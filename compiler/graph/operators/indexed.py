"""Operators that move, search or accumulate elements along axes and at positions."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.gradients import indexed, pools, reductions
from tandem.compiler.graph.operators.symbolic import axis_of, leading, passed_through, same_axes
from tandem.compiler.graph.opspec import (
    DATA,
    AnyOp,
    Operands,
    OpPattern,
    TypeQuery,
    define_operator,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.operators import (
    col2im,
    compaction,
    cumulative,
    determinant,
    sample,
    scatter,
    top_k,
)
from tandem.compiler.operators.sample import Border, SampleMode
from tandem.compiler.operators.scatter import ScatterReduction


@dataclass(frozen=True, slots=True)
class Cumulative(Attributes):
    """The axis; whether the element itself is left out; whether to start at the end."""

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class ScatterNd(Attributes):
    """How updates change elements."""

    reduction: ScatterReduction = ScatterReduction.NONE


@dataclass(frozen=True, slots=True)
class ScatterElements(Attributes):
    """The axis that is indexed, and how updates change elements."""

    axis: int = 0
    reduction: ScatterReduction = ScatterReduction.NONE


@dataclass(frozen=True, slots=True)
class TopK(Attributes):
    """The number of elements, the axis, and whether the greatest or the least are found."""

    k: int
    axis: int = -1
    largest: bool = True


@dataclass(frozen=True, slots=True)
class Sample(Attributes):
    """Attributes of `sample`."""

    mode: SampleMode = SampleMode.LINEAR
    border: Border = Border.ZEROS


@dataclass(frozen=True, slots=True)
class Col2Im(Attributes):
    """The shape of the image and the windows along each of its axes."""

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def _along(query: TypeQuery, attributes: Cumulative | TopK) -> tuple[TensorType, ...]:
    return passed_through(query, same_axes(query, axis_of(query, attributes.axis)))


def _first_of_both(query: TypeQuery, _: Sample) -> tuple[TensorType, ...]:
    return passed_through(query, {(0, 0): 0, (0, 1): 1, (1, 0): 0})


def _matrices(query: TypeQuery, _: Attributes) -> tuple[TensorType, ...]:
    return passed_through(query, same_axes(query, -2, -1))


_UPDATED = Operands(("data", "indices", "updates"))

SPECS: tuple[AnyOp, ...] = (
    *(
        define_operator(function, OpPattern.OPAQUE, DATA, Cumulative, _along, gradient=rule)
        for function, rule in (
            (cumulative.cumulative_sum, reductions.cumulative_sum_gradient),
            (cumulative.cumulative_product, reductions.cumulative_product_gradient),
        )
    ),
    define_operator(top_k.top_k, OpPattern.OPAQUE, DATA, TopK, _along),
    define_operator(
        compaction.true_positions,
        OpPattern.OPAQUE,
        Operands(("mask",)),
        Attributes,
        leading(1),
    ),
    *(
        define_operator(function, OpPattern.OPAQUE, _UPDATED, attributes, leading(0), gradient=rule)
        for function, attributes, rule in (
            (scatter.scatter_elements, ScatterElements, indexed.scatter_elements_gradient),
            (scatter.scatter_nd, ScatterNd, indexed.scatter_nd_gradient),
        )
    ),
    define_operator(
        sample.sample, OpPattern.OPAQUE, Operands(("data", "positions")), Sample, _first_of_both
    ),
    define_operator(
        col2im.col2im,
        OpPattern.OUT_FUSABLE,
        DATA,
        Col2Im,
        leading(1),
        gradient=pools.col2im_gradient,
    ),
    define_operator(determinant.determinant, OpPattern.OPAQUE, DATA, Attributes, _matrices),
)
