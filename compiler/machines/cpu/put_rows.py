"""Kernels that write rows into a tensor: places instead of native code."""

from __future__ import annotations

from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.operators.layouts import PutRows
from tandem.compiler.graph.types import TensorType
from tandem.runtime.artifact import RowsCode


def rows_code(kernel: Function) -> RowsCode | None:
    """The code of a kernel of the operator `put_rows` alone, on its two parameters; None of any
    other kernel."""
    params = tuple(Var(param.name) for param in kernel.params)
    match kernel.body.lets:
        case (only,):
            pass
        case _:
            return None
    match only.value:
        case Call(attributes=PutRows() as given, args=args) if args == params:
            pass
        case _:
            return None
    shape, rows = (_shape(param.type, param.name) for param in kernel.params)
    return RowsCode(
        kernel.name, shape, given.row_steps, given.element_steps, given.first, rows[0], rows[1]
    )


def _shape(type_: object, name: str) -> tuple[int, ...]:
    assert isinstance(type_, TensorType), "as its operator takes"
    return type_.static_shape(name)
