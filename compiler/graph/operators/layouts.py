"""Operators on tensors in layouts: conversions, other types of the same bytes, windows, and rows
within such a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.opspec import (
    DATA,
    AnyOp,
    Operands,
    OpPattern,
    TypeQuery,
    define_operator,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.layouts.conversion import convert, view
from tandem.compiler.layouts.layout import Layout, image_blocks
from tandem.compiler.operators import blocks, rows


@dataclass(frozen=True, slots=True)
class Convert(Attributes):
    """A tensor's shape, and its layout before and after; none is row-major."""

    shape: tuple[int, ...]
    source: Layout | None = None
    target: Layout | None = None


@dataclass(frozen=True, slots=True)
class View(Attributes):
    """The shape and layout as which the stored elements are read; none is row-major."""

    shape: tuple[int, ...]
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class PackWindows(Attributes):
    """A convolution's windows, and the numbers of images and channels in a block."""

    kernel: tuple[int, ...]
    batch: int
    block: int
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)


@dataclass(frozen=True, slots=True)
class PutRows(Attributes):
    """Where rows lie in a tensor that is stored in another order: how many rows, and how many
    elements, apart its indices are along each axis; the first row that is written."""

    row_steps: tuple[int, ...]
    element_steps: tuple[int, ...]
    first: int


def _converted(query: TypeQuery, given: Convert) -> tuple[TensorType, ...]:
    wanted = _typed(query, given.shape, given.source)
    if wanted != query.data:
        query.fail(f"{query.show(0)} is not {wanted}, from which it converts")
    return (_typed(query, given.shape, given.target),)


def _viewed(query: TypeQuery, given: View) -> tuple[TensorType, ...]:
    found = _typed(query, given.shape, given.layout)
    before, after = query.data.stored, found.stored
    if before.dtype != after.dtype or before.size != after.size:
        query.fail(f"{query.show(0)} has not the stored elements of {found}")
    return (found,)


def _windows(query: TypeQuery, given: PackWindows) -> tuple[TensorType, ...]:
    shape = _static(query)
    (found,) = query.infer([shape])
    images, channels = shape[:2]
    rows, columns = found.shape[2:4]
    layout = image_blocks(given.batch, given.block)
    return (
        TensorType(
            (images, channels * prod(given.kernel), rows, columns), query.data.dtype, layout
        ),
    )


def _rows_symbolic(query: TypeQuery, _: PutRows) -> tuple[TensorType, ...]:
    """The symbolic rule: rows lie at places that are numbers."""
    for at, type_ in enumerate(query.types):
        symbols = [each for each in type_.shape if isinstance(each, Dim)]
        if symbols:
            query.fail(f"{query.show(at)} has the symbol {symbols[0]}: bind symbols first")
    return (query.data,)


def _typed(query: TypeQuery, shape: tuple[int, ...], layout: Layout | None) -> TensorType:
    """The type of a shape in a layout, of the first operand's elements."""
    _static(query)
    try:
        return TensorType(shape, query.data.dtype, layout)
    except GraphError as error:
        query.fail(str(error))


def _static(query: TypeQuery) -> tuple[int, ...]:
    """The shape of the first operand. Raises a `GraphError` for symbols."""
    symbols = [each for each in query.data.shape if isinstance(each, Dim)]
    if symbols:
        query.fail(f"{query.show(0)} has the symbol {symbols[0]}: bind symbols first")
    return query.data.static_shape(query.names[0])


def _unused(query: TypeQuery, _: Attributes) -> tuple[TensorType, ...]:
    """The symbolic rule: `stored` has the types of all operands."""
    raise AssertionError(query)


SPECS: tuple[AnyOp, ...] = (
    *(
        define_operator(function, pattern, DATA, attributes, _unused, stored=stored)
        for function, pattern, attributes, stored in (
            (convert, OpPattern.INJECTIVE, Convert, _converted),
            (view, OpPattern.INJECTIVE, View, _viewed),
            # Reads each element many times: its operand must not be fused into it.
            (blocks.pack_windows, OpPattern.OUT_FUSABLE, PackWindows, _windows),
        )
    ),
    define_operator(
        rows.put_rows, OpPattern.OPAQUE, Operands(("data", "rows")), PutRows, _rows_symbolic
    ),
)
