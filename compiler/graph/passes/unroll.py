"""Unrolling: calls of recursive functions whose every decision is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import Runner
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Global, Let, Var
from tandem.compiler.graph.passes.fold_constants import FoldConstants
from tandem.compiler.graph.passes.inline import recursive_functions
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    calls_by_name,
    copied,
    makes_functions,
    map_bodies,
    map_functions,
    names_taken,
    rename,
    renamed,
    taken_as_values,
    writes_symbols,
)


@dataclass(frozen=True, slots=True)
class Unroll:
    """Replaces a loop by its iterations, if constants decide each of its branches.

    ::

        func @f(n, x):                          y = g(x)
          more = less(n, 2)                     z = g(y)
          r = if more:
            ...                        ->
            t = @f(add(n, 1), g(x))
            yield t
          else:
            yield x
          return r

        z = @f(0, x)

    Calls that do not end the function, and those that go on for longer than the limits, stay.

    Attributes
    ----------
    run
        The runner that computes what is known.
    iterations, values
        The maximum numbers of iterations, and of values, that a call becomes.
    known
        The maximum number of elements of a value that is computed.
    """

    run: Runner
    iterations: int = 64
    values: int = 1024
    known: int = 64
    name: str = "unroll"

    def apply(self, function: Function) -> Function:
        """The function with fewer calls."""
        verify(function)
        recursive = recursive_functions(function.named)
        if not recursive:
            return function
        return map_functions(
            function, lambda one: _Unroller(self, function.named, recursive, one).function()
        )


class _Unroller:
    def __init__(
        self,
        limits: Unroll,
        named: Mapping[str, Function],
        recursive: frozenset[str],
        function: Function,
    ) -> None:
        self._limits = limits
        self._named = named
        self._recursive = recursive
        self._function = function
        self._fold = FoldConstants(limits.run, limits.known)
        self._taken = names_taken(function)

    def function(self) -> Function:
        """The function with its loops unrolled; a recursive function's own calls stay."""
        if self._function.name in self._recursive:
            return self._function
        return replace(self._function, body=self._body(self._fold.body(self._function.body), {}))

    def _body(self, body: Body, around: Mapping[str, Atom]) -> Body:
        names = dict(around)
        lets: list[Let] = []
        for let in body.lets:
            value = rename(let.value, names)
            value = map_bodies(value, lambda inner: self._body(inner, names))
            whole = self._iterations(value, let.name) if isinstance(value, Call) else None
            if whole is None:
                lets.append(replace(let, value=value))
                continue
            lets += whole.lets
            if whole.result != Var(let.name):
                names[let.name] = whole.result
        return Body(tuple(lets), renamed(body.result, names))

    def _iterations(self, call: Call, result: str) -> Body | None:
        """All iterations of a loop that the call begins; None if they are not known."""
        if not any(isinstance(each, Constant) for each in call.args):
            return None
        lets: list[Let] = []
        for _ in range(self._limits.iterations):
            callee = call.callee
            if not isinstance(callee, Global) or callee.name not in self._recursive:
                return None
            called = self._named[callee.name]
            if makes_functions(called.body) and any(symbols_of(it.type) for it in called.params):
                # Types of functions would have symbols of another function.
                return None
            if writes_symbols(called.body):
                return None
            params = (param.name for param in called.params)
            args = dict(zip(params, call.args, strict=True))
            # Of each iteration only what it begins with is known, not what it computes.
            body = self._fold.body(copied(called.body, args, self._taken, result))
            values = taken_as_values(body) - self._recursive
            calls = [name for name in calls_by_name(body) if name not in values]
            if not self._recursive & {*calls}:
                return Body((*lets, *body.lets), body.result)
            last = body.lets[-1]
            if len(calls) > 1 or body.result != Var(last.name) or not isinstance(last.value, Call):
                return None
            lets += body.lets[:-1]
            call = last.value
            if len(lets) > self._limits.values:
                return None
        return None
