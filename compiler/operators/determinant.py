"""Determinants, by Gaussian elimination with partial pivoting."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import FLOATS
from tandem.compiler.operators.checks import check_kind, refuse, show
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction

LARGEST = 32
"""The most rows of a matrix: each has stages of its own."""


def determinant(data: Tensor, *, name: str = "determinant") -> Tensor:
    """The determinant of each square matrix in the last two axes.

    Stages, for each column d but the last: `{name}_size{d}`, `{name}_pivot{d}`, `{name}_rest{d}`
    and `{name}_factor{d}`; `name`.

    Raises
    ------
    TensorError
        The matrices are not square, have no or too many rows, or are not of floats.
    """
    check_kind("determinant", name, data, *FLOATS)
    if len(data.shape) < 2 or data.shape[-1] != data.shape[-2]:
        refuse("determinant", name, f"{show(data)} holds no square matrices")
    rows = data.shape[-1]
    if not 1 <= rows <= LARGEST:
        refuse("determinant", name, f"{show(data)}: 1 to {LARGEST} rows are supported")
    factors = []
    for column in range(rows - 1):
        data, factor = _eliminated(data, f"{name}_", str(column))
        factors.append(factor)

    def element(*outer: Expr) -> Expr:
        result = data[(*outer, 0, 0)]
        for factor in factors:
            result = result * factor[outer]
        return result

    return compute(
        data.shape[:-2], element, name, [f"i{each}" for each in range(len(data.shape) - 2)]
    )


def _eliminated(data: Tensor, name: str, number: str) -> tuple[Tensor, Tensor]:
    """The matrix without the row of the largest element of column 0 and without that column, in
    which multiples of the row make the column 0; and that element, negated if rows change places.
    """
    *outer_shape, rows, _ = data.shape
    row = reduce_axis(rows, "k")
    again = reduce_axis(rows, "r")
    names = [f"i{each}" for each in range(len(outer_shape))]
    size = compute(
        outer_shape,
        lambda *outer: te.max(te.abs(data[(*outer, row, 0)]), row),
        f"{name}size{number}",
        names,
    )

    def pivot_row(*outer: Expr) -> Reduction:
        largest = te.equal(te.abs(data[(*outer, again, 0)]), size[outer])
        return te.min(te.select(largest, again, te.const(rows - 1, INDEX)), again)

    pivots = compute(outer_shape, pivot_row, f"{name}pivot{number}", names)

    def rest(*places: Expr) -> Expr:
        *outer, i, j = places
        chosen = pivots[tuple(outer)]
        # Row 0 takes the place of the pivot's row.
        source = te.select(te.equal(i + 1, chosen), te.const(0, INDEX), i + 1)
        pivot = data[(*outer, chosen, 0)]
        scale = te.select(
            te.equal(pivot, 0.0), te.const(0.0, data.dtype), data[(*outer, source, 0)] / pivot
        )
        return data[(*outer, source, j + 1)] - scale * data[(*outer, chosen, j + 1)]

    def factor(*outer: Expr) -> Expr:
        pivot = data[(*outer, pivots[outer], 0)]
        return te.select(te.equal(pivots[outer], 0), pivot, -pivot)

    shape = (*outer_shape, rows - 1, rows - 1)
    remaining = compute(shape, rest, f"{name}rest{number}", [*names, "i", "j"])
    return remaining, compute(outer_shape, factor, f"{name}factor{number}", names)
