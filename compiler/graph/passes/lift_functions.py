"""Lambda lifting: functions that are written where they are used become definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Fun, Function, Global, Let, Param, Partial, Var
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import FunctionType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    all_lets,
    functions,
    map_functions,
    names_defined,
    names_in,
    rewrite_lets,
)


@dataclass(frozen=True, slots=True)
class LiftFunctions:
    """Makes definitions of the functions that are written in functions: the names that they use are
    their first parameters (Johnsson, FPCA'85).

    ::

        func @f(a):                      func @f_g(a, x):
          g = fun(x):                      y = add(a, x)
            y = add(a, x)        ->        return y
            yield y                      func @f(a):
          ...                              g = partial @f_g(a)
    """

    name: str = "lift-functions"

    def apply(self, function: Function) -> Function:
        """The function, all of whose functions are definitions."""
        verify(function)
        if not any(isinstance(let.value, Fun) for let in _all_lets(function)):
            return function
        program = by_name(function)
        lifter = _Lifter({each.name for each in functions(program)})
        changed = map_functions(program, lifter.function)
        return replace(changed, definitions=(*lifter.lifted, *changed.definitions))


def _all_lets(program: Function) -> Iterator[Let]:
    for function in functions(program):
        yield from all_lets(function.body)


@dataclass
class _Lifter:
    """The definitions made so far, and the names that are taken."""

    taken: set[str]
    lifted: list[Function] = field(default_factory=list)

    def function(self, function: Function) -> Function:
        """The function without functions that are written in it."""
        types = infer(function)

        def change(let: Let) -> tuple[Let, ...]:
            value, type_ = let.value, types[let.name]
            if not isinstance(value, Fun):
                return (let,)
            assert isinstance(type_, FunctionType), "inferred"
            used = _free_names(value)
            params = (*(Param(name, types[name]) for name in used), *value.params)
            name = unique_name(f"{function.name}_{let.name}", self.taken)
            self.lifted.append(Function(name, params, value.body, type_.result))
            whole = FunctionType(tuple(param.type for param in params), type_.result)
            partial = Partial(Global(name, whole), tuple(map(Var, used)))
            # The type has symbols that the given arguments may leave open.
            return (replace(let, value=partial, type=type_),)

        return replace(function, body=rewrite_lets(function.body, change))


def _free_names(value: Fun) -> tuple[str, ...]:
    """The names around a function that it uses, in the order of their first use."""
    body: Body = value.body
    own = {param.name for param in value.params} | {*names_defined(body)}
    return tuple(dict.fromkeys(name for name in names_in(body) if name not in own))
