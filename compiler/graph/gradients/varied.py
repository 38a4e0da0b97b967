"""Which values of a body depend on names whose gradients are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tandem.compiler.graph.gradient_query import constant_gradient
from tandem.compiler.graph.gradients.cotangents import gradient_types
from tandem.compiler.graph.nodes import Atom, Body, Call, If, Let, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import atoms


def varied_names(body: Body, start: Iterable[str], types: Mapping[str, Type]) -> set[str]:
    """The names of floats, and tuples with floats, that depend on those of `start`, these among
    them; of branches too. What `stop_gradient` gives does not."""
    found = {*start}
    _extend(body, found, types)
    return found


def _extend(body: Body, found: set[str], types: Mapping[str, Type]) -> None:
    for let in body.lets:
        if _varies(let, found, types) and gradient_types(types[let.name]):
            found.add(let.name)


def _varies(let: Let, found: set[str], types: Mapping[str, Type]) -> bool:
    def named(atom: Atom) -> bool:
        return isinstance(atom, Var) and atom.name in found

    match let.value:
        case If(then=then, otherwise=otherwise):
            for branch in (then, otherwise):
                _extend(branch, found, types)
            return named(then.result) or named(otherwise.result)
        case Call(callee=OpSpec(gradient=gradient)) if gradient is constant_gradient:
            return False
        case value:
            return any(map(named, atoms(value)))
