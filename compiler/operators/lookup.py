"""Look-up of bytes in a table: any function of a byte, at the cost of a load."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.byte_tables import ENTRIES
from tandem.compiler.ir.dtypes import INDEX, UINT8
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import INTEGERS
from tandem.compiler.operators.checks import check_kind, refuse, show
from tandem.compiler.te import Tensor, compute


def lookup(data: Tensor, table: Tensor, *, name: str = "lookup") -> Tensor:
    """`table[k]` for each element of `data`, where k is the element as an unsigned byte: -1 is 255.

    Parameters
    ----------
    data
        int8 or uint8.
    table
        256 integers of 8 bits.

    Raises
    ------
    TensorError
        Types or extents do not fit.
    """
    for tensor in (data, table):
        check_kind("lookup", name, tensor, *INTEGERS)
        if tensor.dtype.bits != UINT8.bits:
            refuse("lookup", name, f"{show(tensor)} has to be int8 or uint8")
    if table.shape != (ENTRIES,):
        refuse("lookup", name, f"{show(table)} has to have {ENTRIES} entries, one for each byte")

    def element(*indices: Expr) -> Expr:
        return table[te.cast(te.cast(data[indices], UINT8), INDEX)]

    return compute(data.shape, element, name)
