"""What is known of parameters whose numbers are indices."""

from __future__ import annotations

from tandem.compiler.graph.nodes import Atom, Call, Function, Var
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets

_SAME_NUMBERS = frozenset({"cast", "reshape", "flatten", "squeeze", "unsqueeze", "transpose"})
"""Operators whose results are indices if their operand is."""


def rows_of_tables(function: Function) -> dict[str, int]:
    """By the name of a parameter whose numbers are indices: how many numbers index all tables that
    they are used for."""
    types = verify(function)
    source = {param.name: param.name for param in function.params}
    rows: dict[str, int] = {}

    def parameter(atom: Atom) -> str | None:
        return source.get(atom.name) if isinstance(atom, Var) else None

    for let in all_lets(function.body):
        match let.value:
            case Call(callee=OpSpec(name=name), args=(operand, *_)) if name in _SAME_NUMBERS:
                found = parameter(operand)
                if found is not None:
                    source[let.name] = found
            case Call(
                callee=OpSpec(name="gather"), args=(table, indices), attributes=Gather(axis=axis)
            ):
                found = parameter(indices)
                type_ = types[table.name] if isinstance(table, Var) else table.type
                assert isinstance(type_, TensorType), "verified"
                extent = type_.shape[axis]
                if found is not None and isinstance(extent, int) and extent:
                    rows[found] = min(extent, rows.get(found, extent))
            case _:
                pass
    return rows
