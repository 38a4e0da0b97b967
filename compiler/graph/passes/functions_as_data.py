"""Functions that are values become values of data types: what holds functions without a known end
lies on the heap, as a list does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from tandem.compiler.graph.data_types import constructors_of
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Apply,
    Arm,
    Body,
    Call,
    Construct,
    Function,
    Global,
    Let,
    Match,
    Param,
    Partial,
    Value,
    Var,
)
from tandem.compiler.graph.passes.function_data import (
    FunctionData,
    fields_of,
    function_data,
    origin_of,
)
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import (
    DataType,
    FunctionType,
    Type,
)
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    called_by_name,
    map_functions,
    rewrite_lets,
)

_FUNCTION: Final = "f"
"""The name of the parameter that is called."""


@dataclass(frozen=True, slots=True)
class FunctionsAsData:
    """Replaces functions that are values by values of data types, one for each type of functions:
    a constructor is a function by name, and its fields are the arguments that it holds. A call is
    one of a function that matches (Reynolds, 1972)::

        g = partial @compose_g(f)              g = compose_g(f)
        y = call g(x)                 ->       y = @apply(g, x)

        type Function = main_double | compose_g(Function)

        func @apply(f: Function, x: float32[]) -> float32[]:
          y = match f:
            main_double():
              z = @main_double(x)
              yield z
            compose_g(held):
              z = @compose_g(held, x)
              yield z
          return y

    Data types whose fields are functions are written anew, one for each use.
    """

    name: str = "functions-as-data"

    def apply(self, function: Function) -> Function:
        """The function, whose functions are definitions, without functions that are values.

        Raises
        ------
        GraphError
            The fields of a data type have ever more types.
        """
        verify(function)
        plan = function_data(function)
        if not plan.names:
            return function
        changed = map_functions(function, lambda one: _written(one, plan))
        appliers = (_applier(type_, plan) for type_ in plan.names)
        whole = replace(changed, definitions=(*changed.definitions, *appliers))
        reached = called_by_name(whole)
        return replace(
            whole, definitions=tuple(it for it in whole.definitions if it.name in reached)
        )


def _applier(type_: FunctionType, plan: FunctionData) -> Function:
    """The function that calls what stands for a function of a type."""
    applier = plan.applier(type_)
    taken = {_FUNCTION, "y"}
    function, *others = (
        Param(_FUNCTION if at == 0 else unique_name("x", taken), param)
        for at, param in enumerate(applier.type.params)
    )
    given = tuple(Var(param.name) for param in others)

    def arm(name: str, fields: int, callee: Global, *first: Var) -> Arm:
        held = tuple(unique_name("held", taken) for _ in range(fields))
        result = unique_name("z", taken)
        call = Let(result, Call(callee, (*first, *map(Var, held), *given)))
        return Arm(name, held, Body((call,), Var(result)))

    arms = []
    for origin, name in plan.forms[type_].items():
        callee, _ = origin
        if isinstance(callee, Global):
            called = Global(callee.name, plan.function(callee.type))
        else:
            called = plan.applier(callee)
        arms.append(arm(name, len(fields_of(origin)), called))
    if not arms:
        # Never reached, as there is no value.
        assert isinstance(function.type, DataType), "planned"
        (alone,) = constructors_of(function.type)
        arms.append(arm(alone.name, 0, applier, Var(_FUNCTION)))
    match = Let("y", Match(Var(_FUNCTION), tuple(arms)))
    return Function(
        applier.name, (function, *others), Body((match,), Var("y")), applier.type.result
    )


def _written(function: Function, plan: FunctionData) -> Function:
    """A function with values of data types for functions."""
    types = infer(function)

    def change(let: Let) -> tuple[Let, ...]:
        type_ = None if let.type is None else plan.of(let.type)
        return (replace(let, value=_value(let, types, plan), type=type_),)

    return replace(
        function,
        params=tuple(Param(it.name, plan.of(it.type)) for it in function.params),
        body=rewrite_lets(function.body, change),
        result=None if function.result is None else plan.of(function.result),
    )


def _value(let: Let, types: Mapping[str, Type], plan: FunctionData) -> Value:
    assert plan.declared is not None, "planned"
    value, type_ = let.value, types[let.name]
    match value:
        case Partial(callee=callee, args=args):
            assert isinstance(type_, FunctionType), "inferred"
            form = plan.forms[type_][origin_of(value, types)]
            held = args if isinstance(callee, Global) else (callee, *args)
            return Construct(form, plan.declared, held, tuple(plan.params))
        case Apply(callee=callee, args=args):
            function = types[callee.name]
            assert isinstance(function, FunctionType), "verified"
            return Call(plan.applier(function), (callee, *args))
        case Call(callee=Global(name=name, type=called)):
            return replace(value, callee=Global(name, plan.function(called)))
        case Construct(constructor=constructor, args=args, arguments=arguments):
            assert isinstance(type_, DataType), "inferred"
            if type_ in plan.renamed:
                _, names = plan.renamed[type_]
                return Construct(names[constructor], plan.declared, args, tuple(plan.params))
            own = tuple(map(plan.of, arguments))
            return Construct(constructor, plan.declared, args, own)
        case Match(operand=operand, arms=arms):
            data = types[operand.name]
            assert isinstance(data, DataType), "verified"
            if data not in plan.renamed:
                return value
            _, names = plan.renamed[data]
            changed = (
                arm if arm.constructor is None else replace(arm, constructor=names[arm.constructor])
                for arm in arms
            )
            return Match(operand, tuple(changed))
        case _:
            return value
