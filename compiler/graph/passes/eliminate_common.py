"""Common subexpression elimination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tandem.compiler.graph.nodes import Atom, Body, Function, Let, Tuple, TupleGet, Var
from tandem.compiler.graph.visit import bodies, map_bodies, map_functions, rename, renamed


@dataclass(frozen=True, slots=True)
class EliminateCommon:
    """Computes equal values once, and replaces tuple items by the tuple's operands.

    ::

        a = f(x)                   a = f(x)
        b = f(x)           ->
        t = (a, b)                 t = (a, a)
        c = g(t[1], a)             c = g(a, a)

    Each `if` is kept; a value in its bodies is compared with values before it in scope.
    """

    name: str = "eliminate-common"

    def apply(self, function: Function) -> Function:
        """The function without duplicate values."""
        return map_functions(function, lambda one: replace(one, body=_body(one.body, {}, {}, {})))


def _body(
    body: Body,
    seen: Mapping[str, Var],
    tuples: Mapping[str, Tuple],
    aliases: Mapping[str, Atom],
) -> Body:
    known, made, names = dict(seen), dict(tuples), dict(aliases)
    lets: list[Let] = []
    for let in body.lets:
        value = rename(let.value, names)
        value = map_bodies(value, lambda inner: _body(inner, known, made, names))
        # The `repr` is the key: it distinguishes attributes 0.0 and -0.0, which are equal.
        key = repr(value)
        if isinstance(value, TupleGet) and value.operand.name in made:
            names[let.name] = made[value.operand.name].items[value.index]
        elif key in known and not bodies(value):
            names[let.name] = known[key]
        else:
            known[key] = Var(let.name)
            if isinstance(value, Tuple):
                made[let.name] = value
            lets.append(replace(let, value=value))
    return Body(tuple(lets), renamed(body.result, names))
