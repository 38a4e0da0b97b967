"""The pass that marks the layers which the user wants in real numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.visit import (
    all_lets,
    atoms,
    map_functions,
    names_of,
    rewrite_bodies,
    use_counts,
)
from tandem.compiler.quantise.rules import RULES

_SHOWN = 8
"""The number of names that an error lists."""


@dataclass(frozen=True, slots=True)
class KeepFloat:
    """Marks what computes the named layers (`Let.keep_float`), which no rule quantises then.

    A name is that of a value, of a node of the model or of a model's operator, such as `LRN`. A
    value that passes have merged into another stands for that: a convolution for the normalisation
    after it. An activation or a sum stands for the layer too, whose result nobody else reads.

    Attributes
    ----------
    names
        Of what stays in real numbers.
    before
        The network before the passes, whose values have all names.
    """

    names: tuple[str, ...]
    before: Function
    name: str = "keep-float"

    def apply(self, function: Function) -> Function:
        """The function with marks. Raises `QuantisationError` for a name that nothing has."""
        if not self.names:
            return function
        known = {let.name: let for let in _lets(function)}
        users = _users(self.before)
        wanted: set[str] = set()
        for name in self.names:
            found = {let.name for let in _lets(self.before) if name in _names(let)}
            merged = set(_merged(found, known, users))
            merged |= {let.name for let in known.values() if name in (let.name, let.source)}
            if not merged:
                raise QuantisationError(self._unknown(name, known))
            wanted |= merged
        return map_functions(function, lambda one: _marked(one, wanted))

    def _unknown(self, name: str, known: Iterable[str]) -> str:
        layers = dict.fromkeys(each for let in _lets(self.before) for each in _names(let))
        names = [*dict.fromkeys((*layers, *known))]
        near = get_close_matches(name, names, _SHOWN) or names[:_SHOWN]
        more = ", ..." if len(near) < len(names) else ""
        return (
            f"keep_float: the network has no layer, node or operator {name!r} that computes "
            f"anything: it has {', '.join(near)}{more}"
        )


def _lets(program: Function) -> Iterator[Let]:
    for function in program.named.values():
        yield from all_lets(function.body)


def _names(let: Let) -> tuple[str, ...]:
    """The names by which a user may call a value."""
    node = () if let.node is None else (let.node.name, let.node.operator)
    return tuple(filter(None, (let.name, let.source, *node)))


def _users(program: Function) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for let in _lets(program):
        for name in names_of(let.value):
            found.setdefault(name, []).append(let.name)
    return found


def _merged(
    found: Iterable[str], known: Mapping[str, Let], users: Mapping[str, list[str]]
) -> Iterator[str]:
    """The values that are left of `found`: those that passes removed stand for their users."""
    open_, seen = [*found], set[str]()
    while open_:
        name = open_.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in known:
            yield name
        else:
            open_ += users.get(name, ())


def _marked(function: Function, wanted: Set[str]) -> Function:
    made = {let.name: let for let in all_lets(function.body)}
    kept, open_ = set[str](), [name for name in wanted if name in made]
    counts = use_counts(function.body)
    while open_:
        name = open_.pop()
        if name in kept:
            continue
        kept.add(name)
        open_ += (each for each in _extended(made[name]) if each in made and counts[each] == 1)

    def marked(body: Body) -> Body:
        lets = (replace(let, keep_float=True) if let.name in kept else let for let in body.lets)
        return replace(body, lets=tuple(lets))

    body = rewrite_bodies(function.body, marked)
    made_function = replace(function, body=body)
    made_function.reuse_analyses(function)
    return made_function


def _extended(let: Let) -> Iterator[str]:
    """The operands whose accumulators a value would only extend."""
    value = let.value
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        rule = RULES.get(value.callee.name)
        if rule is not None and rule.extends:
            yield from (each.name for each in atoms(value) if isinstance(each, Var))
