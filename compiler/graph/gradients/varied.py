"""Which values of a body depend on names whose gradients are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tandem.compiler.graph.gradient_query import constant_gradient
from tandem.compiler.graph.gradients.data_gradients import gradient_types
from tandem.compiler.graph.nodes import Atom, Body, Call, If, Let, Match, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import atoms, names_bound


def varied_names(body: Body, start: Iterable[str], types: Mapping[str, Type]) -> set[str]:
    """The names of floats, and of what holds floats, that depend on those of `start`, these among
    them; of branches too. What `stop_gradient` gives does not."""
    found = {*start}
    _extend(body, found, types)
    return found


def may_vary(type_: Type) -> bool:
    """Whether a value of a type has floats in it, or may hold some."""
    return bool(gradient_types(type_))


def _extend(body: Body, found: set[str], types: Mapping[str, Type]) -> None:
    for let in body.lets:
        if _varies(let, found, types) and may_vary(types[let.name]):
            found.add(let.name)


def _varies(let: Let, found: set[str], types: Mapping[str, Type]) -> bool:
    def named(atom: Atom) -> bool:
        return isinstance(atom, Var) and atom.name in found

    match let.value:
        case If(then=then, otherwise=otherwise):
            for branch in (then, otherwise):
                _extend(branch, found, types)
            return named(then.result) or named(otherwise.result)
        case Match(operand=operand, arms=arms) as value:
            if named(operand):
                found.update(name for name in names_bound(value) if may_vary(types[name]))
            for arm in arms:
                _extend(arm.body, found, types)
            return any(named(arm.body.result) for arm in arms)
        case Call(callee=OpSpec(gradient=gradient)) if gradient is constant_gradient:
            return False
        case value:
            return any(map(named, atoms(value)))
