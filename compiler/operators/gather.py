"""Gathers: selection of elements by index tensors.

A negative index counts from the end. An index out of range, which cannot raise an error at run
time, is clamped, so that no other memory is read.
"""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import INTEGERS
from tandem.compiler.operators.checks import axis_of, check_kind, refuse, show
from tandem.compiler.te import Tensor, compute


def gather(data: Tensor, indices: Tensor, axis: int = 0, *, name: str = "gather") -> Tensor:
    """A slice of `data` at each index along `axis`; the axes of `indices` replace `axis`.

    Raises
    ------
    TensorError
        The axis is out of range or empty; the indices are no integers.
    """
    check_kind("gather", name, indices, *INTEGERS)
    along = axis_of("gather", name, data, axis)
    shape = (*data.shape[:along], *indices.shape, *data.shape[along + 1 :])
    _not_empty("gather", name, data, along, shape)
    width = len(indices.shape)

    def element(*places: Expr) -> Expr:
        picked = indices[places[along : along + width]]
        return data[(*places[:along], _within(picked, data.shape[along]), *places[along + width :])]

    return compute(shape, element, name)


def gather_elements(
    data: Tensor, indices: Tensor, axis: int = 0, *, name: str = "gather_elements"
) -> Tensor:
    """The elements of `data` at the result's indices, with `indices` in place of index `axis`.

    Raises
    ------
    TensorError
        The errors of `gather`; `indices` is larger than `data` along another axis.
    """
    check_kind("gather_elements", name, indices, *INTEGERS)
    along = axis_of("gather_elements", name, data, axis)
    fits = len(indices.shape) == len(data.shape) and all(
        a <= b
        for number, (a, b) in enumerate(zip(indices.shape, data.shape, strict=True))
        if number != along
    )
    if not fits:
        refuse("gather_elements", name, f"{show(indices)} does not lie within {show(data)}")
    _not_empty("gather_elements", name, data, along, indices.shape)

    def element(*places: Expr) -> Expr:
        picked = _within(indices[places], data.shape[along])
        return data[(*places[:along], picked, *places[along + 1 :])]

    return compute(indices.shape, element, name)


def gather_nd(
    data: Tensor, indices: Tensor, *, batch_dims: int = 0, name: str = "gather_nd"
) -> Tensor:
    """Slices of `data` at coordinates along its first axes, in the last axis of `indices`.

    The first `batch_dims` axes are batch axes of both tensors.

    Raises
    ------
    TensorError
        The errors of `gather`; there are more coordinates than axes; batch extents differ.
    """
    check_kind("gather_nd", name, indices, *INTEGERS)
    both = f"{show(indices)} of {show(data)}"
    if not indices.shape or not 0 <= batch_dims < min(len(indices.shape), len(data.shape)):
        refuse("gather_nd", name, f"{both} with {batch_dims} batch axes")
    depth = indices.shape[-1]
    if not 1 <= depth <= len(data.shape) - batch_dims:
        refuse("gather_nd", name, f"{both}: {depth} coordinates")
    if indices.shape[:batch_dims] != data.shape[:batch_dims]:
        refuse("gather_nd", name, f"{both}: the first {batch_dims} axes differ")
    outer = len(indices.shape) - 1
    rest = data.shape[batch_dims + depth :]
    shape = (*indices.shape[:-1], *rest)
    for axis in range(batch_dims, batch_dims + depth):
        _not_empty("gather_nd", name, data, axis, shape)

    def element(*places: Expr) -> Expr:
        picked = (
            _within(indices[(*places[:outer], number)], data.shape[batch_dims + number])
            for number in range(depth)
        )
        return data[(*places[:batch_dims], *picked, *places[outer:])]

    return compute(shape, element, name)


def one_hot(
    indices: Tensor, depth: int, values: Tensor, axis: int = -1, *, name: str = "one_hot"
) -> Tensor:
    """`values[1]` where the position along a new axis equals the index, else `values[0]`.

    An index out of range matches no position.

    Raises
    ------
    TensorError
        The axis is out of range; the indices are no integers; not two values; a negative depth.
    """
    check_kind("one_hot", name, indices, *INTEGERS)
    if values.shape != (2,):
        refuse("one_hot", name, f"{show(values)} has to be two values, off and on")
    if depth < 0:
        refuse("one_hot", name, f"the depth {depth} is negative")
    along = axis_of("one_hot", name, indices, axis, extra=1)

    def element(*places: Expr) -> Expr:
        picked = te.cast(indices[(*places[:along], *places[along + 1 :])], INDEX)
        index = te.select(picked < 0, picked + depth, picked)
        return te.select(te.equal(index, places[along]), values[1], values[0])

    return compute((*indices.shape[:along], depth, *indices.shape[along:]), element, name)


def _within(index: Expr, extent: int) -> Expr:
    """The index, counted from the end if negative, clamped to the axis."""
    number = te.cast(index, INDEX)
    counted = te.select(number < 0, number + extent, number)
    return te.minimum(te.maximum(counted, 0), extent - 1)


def _not_empty(operator: str, name: str, data: Tensor, axis: int, result: tuple[int, ...]) -> None:
    """Check that the gathered axis is not empty, unless the result is empty."""
    if data.shape[axis] == 0 and all(result):
        refuse(operator, name, f"axis {axis} of {show(data)} is empty: nothing to select")
