"""Rows of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT64
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index as constant_index
from tandem.compiler.operators.checks import refuse, show
from tandem.compiler.te import Tensor, compute


def put_row(data: Tensor, row: Tensor, index: Tensor, *, name: str = "put_row") -> Tensor:
    """`data` with `row` at `index` along axis 0; an index out of range changes nothing.

    Parameters
    ----------
    row
        Of the shape of `data` without axis 0.
    index
        A scalar of int64.

    Raises
    ------
    TensorError
        Shapes or types do not fit.
    """
    if (
        index.shape
        or index.dtype != INT64
        or not data.shape
        or row.shape != data.shape[1:]
        or row.dtype != data.dtype
    ):
        refuse("put_row", name, f"{show(row)} is no row of {show(data)} at {show(index)}")

    def element(*places: Expr) -> Expr:
        here = te.equal(places[0], index[()])
        return te.select(here, row[places[1:]], data[places])

    return compute(data.shape, element, name)


def put_rows(
    data: Tensor,
    rows: Tensor,
    row_steps: Sequence[int],
    element_steps: Sequence[int],
    first: int,
    *,
    name: str = "put_rows",
) -> Tensor:
    """`data` with `rows` from row `first` on, where rows lie as in `runtime.artifact.RowsCode`.

    Parameters
    ----------
    rows
        int8[rows, elements].
    row_steps, element_steps
        For each axis of `data`, how many rows and elements apart its indices are.

    Raises
    ------
    TensorError
        Shapes or types do not fit.
    """
    given = (*zip(data.shape, row_steps, element_steps, strict=False),)
    if (
        {data.dtype, rows.dtype} != {INT8}
        or len(rows.shape) != 2
        or {len(row_steps), len(element_steps)} != {len(data.shape)}
        or sum((extent - 1) * step for extent, _, step in given) >= rows.shape[1]
    ):
        refuse("put_rows", name, f"{show(rows)} are no rows of {show(data)}")

    def element(*places: Expr) -> Expr:
        row: Expr = constant_index(-first)
        at: Expr = constant_index(0)
        for place, of_row, of_element in zip(places, row_steps, element_steps, strict=True):
            row, at = row + place * of_row, at + place * of_element
        last = rows.shape[0] - 1
        nearest = te.maximum(te.minimum(row, last), 0)
        return te.select(te.equal(row, nearest), rows[nearest, at], data[places])

    return compute(data.shape, element, name)
