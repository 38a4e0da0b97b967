"""What is known of parameters whose numbers are indices."""

from __future__ import annotations

from collections.abc import Mapping

from tandem.compiler.graph.nodes import Atom, Call, Function, Var
from tandem.compiler.graph.operators.parts import Gather, GatherNd
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets

_SAME_NUMBERS = frozenset({"cast", "reshape", "flatten", "squeeze", "unsqueeze", "transpose"})
"""Operators whose results are indices if their operand is."""


_PICKING = frozenset({"gather", "gather_elements", "gather_nd"})
"""Operators whose second operand's numbers are indices."""


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
            case Call(callee=OpSpec(name=name), args=(table, indices)) if name in _PICKING:
                found = parameter(indices)
                tensors = [_type(each, types) for each in (table, indices)]
                axis = _indexed_axis(let.value, tensors[1])
                extent = None if axis is None else tensors[0].shape[axis]
                if found is not None and isinstance(extent, int) and extent:
                    rows[found] = min(extent, rows.get(found, extent))
            case _:
                pass
    return rows


def _type(atom: Atom, types: Mapping[str, Type]) -> TensorType:
    type_ = types[atom.name] if isinstance(atom, Var) else atom.type
    assert isinstance(type_, TensorType), "verified"
    return type_


def _indexed_axis(call: Call, indices: TensorType) -> int | None:
    """The axis of the table that all indices are along; None if they are coordinates along several
    axes."""
    match call.attributes:
        case Gather(axis=axis):
            return axis
        case GatherNd(batch_dims=batch_dims) if indices.shape[-1] == 1:
            return batch_dims
        case _:
            return None
