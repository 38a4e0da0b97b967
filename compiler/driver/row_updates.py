"""Rows that are written to a parameter in place: nothing needs what was there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tandem.compiler.graph.nodes import Body, Call, Function, Tuple, TupleGet, Value, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.visit import all_lets, bodies, names_of


def row_updates(function: Function) -> frozenset[str]:
    """The values of a called function that are a parameter with one row replaced, by name, and may
    lie in the parameter's memory, because no path from there needs the parameter.

    Each is a call of a kernel of the operator `put_row` alone, on the parameter, row and index.
    """
    params = {each.name for each in function.params if isinstance(each.type, TensorType)}
    parts = _parts(function)
    found: set[str] = set()

    def walk(body: Body, later: frozenset[str]) -> None:
        needed = later | _memory({body.result.name} if isinstance(body.result, Var) else (), parts)
        for let in reversed(body.lets):
            if _changed(let.value) in params - needed:
                found.add(let.name)
            for inner in bodies(let.value):
                walk(inner, needed)
            needed |= _memory(names_of(let.value), parts)

    walk(function.body, frozenset())
    return frozenset(found)


def _changed(value: Value) -> str | None:
    """The name of the tensor of which a value is a copy with another row."""
    if not isinstance(value, Call) or not isinstance(value.callee, Function):
        return None
    match value.callee.body.lets, value.args:
        case [only], (Var(name=name), _, _):
            pass
        case _:
            return None
    params = tuple(Var(each.name) for each in value.callee.params)
    match only.value:
        case Call(callee=OpSpec(name="put_row"), args=args) if args == params:
            return name
        case _:
            return None


def _parts(function: Function) -> Mapping[str, frozenset[str]]:
    """The names of the tensors in whose memory tuples and their items lie."""
    found: dict[str, frozenset[str]] = {}
    for let in all_lets(function.body):
        match let.value:
            case Tuple(items=items):
                names = (each.name for each in items if isinstance(each, Var))
                found[let.name] = _memory(names, found)
            case TupleGet(operand=operand):
                found[let.name] = _memory((operand.name,), found)
    return found


def _memory(names: Iterable[str], parts: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The tensors in whose memory values lie."""
    return frozenset[str]().union(*(parts.get(each, {each}) for each in names))
