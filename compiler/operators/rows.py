"""Rows of tensors."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT64
from tandem.compiler.ir.expr import Expr
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
