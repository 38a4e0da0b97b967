"""Inlining of functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Global, Let, Var
from tandem.compiler.graph.passes.named_functions import by_name, entered
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    all_lets,
    calls_by_name,
    copied,
    makes_functions,
    map_bodies,
    names_taken,
    rename,
    renamed,
    taken_as_values,
    writes_symbols,
)


@dataclass(frozen=True, slots=True)
class Inline:
    """Replaces calls of functions by their bodies, if they are called once or are small.

    ::

        func @f(x):                      func @f(x):
          a = @g(x)               ->       b = relu(x)
          return a                         return b

    Recursive functions stay, and those that are values or make some. After the pass all functions,
    those that were part of calls too, are called by name, and nothing calls the program's own
    function.

    Attributes
    ----------
    small
        The maximum number of values of a function that is inlined wherever it is called.
    """

    small: int = 16
    name: str = "inline"

    def apply(self, function: Function) -> Function:
        """The function with fewer calls; kernels and streams are kept."""
        verify(function)
        program = entered(by_name(function))
        if not program.definitions:
            return program
        return _Inliner(program, self.small).program()


class _Inliner:
    def __init__(self, program: Function, small: int) -> None:
        self._program = program
        self._small = small
        self._named = program.named
        self._counts = Counter(
            name for caller in self._named.values() for name in calls_by_name(caller.body)
        )
        self._recursive = recursive_functions(self._named)
        self._values = frozenset[str]().union(
            *(taken_as_values(each.body) for each in self._named.values())
        )
        self._done: dict[str, Function] = {}

    def program(self) -> Function:
        """The program without the functions that were inlined everywhere."""
        order = _callees_first(self._program.name, self._named)
        for name in order:
            one = self._named[name]
            body = self._body(one.body, {}, names_taken(one))
            self._done[name] = replace(one, body=body, definitions=())
        kept = {each.name for each in self._program.definitions if not self._inlined(each.name)}
        definitions = (each for each in self._program.definitions if each.name in kept & {*order})
        return replace(
            self._done[self._program.name],
            definitions=tuple(self._done[each.name] for each in definitions),
        )

    def _inlined(self, name: str) -> bool:
        if name in self._recursive | self._values or name not in self._done:
            return False
        body = self._done[name].body
        if makes_functions(body) or writes_symbols(body):
            # Types in the text have symbols of the function around.
            return False
        size = sum(1 for _ in all_lets(body))
        return self._counts[name] == 1 or size <= self._small

    def _body(self, body: Body, around: Mapping[str, Atom], taken: set[str]) -> Body:
        names = dict(around)
        lets: list[Let] = []
        for let in body.lets:
            value = rename(let.value, names)
            value = map_bodies(value, lambda inner: self._body(inner, names, taken))
            match value:
                case Call(callee=Global(name=name), args=args) if self._inlined(name):
                    called = self._done[name]
                    params = (param.name for param in called.params)
                    given = dict(zip(params, args, strict=True))
                    inner = copied(called.body, given, taken, let.name)
                    lets += inner.lets
                    if inner.result != Var(let.name):
                        names[let.name] = inner.result
                case _:
                    lets.append(replace(let, value=value))
        return Body(tuple(lets), renamed(body.result, names))


def _callees_first(root: str, named: Mapping[str, Function]) -> tuple[str, ...]:
    """The functions that are reached, callees before callers as far as there is such an order."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = [(root, False)]
    while waiting:
        name, done = waiting.pop()
        if done:
            found[name] = None
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting += ((callee, False) for callee in calls_by_name(named[name].body))
    return tuple(found)


def recursive_functions(named: Mapping[str, Function]) -> frozenset[str]:
    """The functions that call themselves, directly or not."""
    calls = {name: {*calls_by_name(each.body)} for name, each in named.items()}
    found = set()
    for name in named:
        reached: set[str] = set()
        waiting = [*calls[name]]
        while waiting:
            callee = waiting.pop()
            if callee not in reached:
                reached.add(callee)
                waiting += calls[callee]
        if name in reached:
            found.add(name)
    return frozenset(found)
