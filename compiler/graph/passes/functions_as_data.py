"""Functions that are values become values of data types: what holds functions without a known end
lies on the heap, as a list does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

from tandem.compiler.graph.data_types import constructors_of, declare
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
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import (
    Constructor,
    DataType,
    Declaration,
    Declarations,
    FunctionType,
    GenericType,
    TensorType,
    TupleType,
    Type,
    symbols_of,
)
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    all_lets,
    called_by_name,
    declarations_of,
    functions,
    map_functions,
    rewrite_lets,
)

_Origin: TypeAlias = tuple[Global | FunctionType, int]
"""What a function that is a value was made of, a function by name or another value, and how many
arguments it holds."""

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
        plan = _plan(function)
        if not plan.names:
            return function
        changed = map_functions(function, lambda one: _written(one, plan))
        whole = replace(changed, definitions=(*changed.definitions, *_appliers(plan)))
        reached = called_by_name(whole)
        return replace(
            whole, definitions=tuple(it for it in whole.definitions if it.name in reached)
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The data types of a program without functions that are values.

    Attributes
    ----------
    names
        The data type of a type of functions, and the function that calls a value of it.
    forms
        The constructors of each type of functions.
    renamed
        The name of each data type that holds functions, and those of its constructors.
    params
        The parameters of all these types, and the tensors with symbols that they stand for.
    """

    names: Mapping[FunctionType, tuple[str, str]]
    forms: Mapping[FunctionType, Mapping[_Origin, str]]
    renamed: Mapping[DataType, tuple[str, Mapping[str, str]]]
    params: Mapping[TensorType, str]
    declared: Declarations | None = None

    def of(self, type_: Type) -> Type:
        """The type of what stands for a value of a type: in a declaration, before there are
        declarations."""
        inside = self.declared is None
        match type_:
            case TensorType() if inside and type_ in self.params:
                return DataType(self.params[type_])
            case TensorType() | GenericType():
                return type_
            case TupleType(items=items):
                return TupleType(tuple(map(self.of, items)))
            case FunctionType():
                return self._own(self.names[type_][0])
            case DataType() if type_ in self.renamed:
                return self._own(self.renamed[type_][0])
            case DataType(name=name, arguments=arguments):
                return DataType(name, tuple(map(self.of, arguments)), self.declared)
            case _:
                assert_never(type_)

    def _own(self, name: str) -> DataType:
        if self.declared is None:
            return DataType(name, tuple(map(DataType, self.params.values())))
        return DataType(name, tuple(self.params), self.declared)

    def function(self, type_: FunctionType) -> FunctionType:
        """The type of a function that is called by name."""
        return FunctionType(tuple(map(self.of, type_.params)), self.of(type_.result))

    def applier(self, type_: FunctionType) -> Global:
        """The function that calls a value that stands for a function."""
        return Global(self.names[type_][1], self.function(_applied(type_)))


def _applied(type_: FunctionType) -> FunctionType:
    return FunctionType((type_, *type_.params), type_.result)


def _held(origin: _Origin) -> tuple[Type, ...]:
    """The types of the fields of a constructor."""
    callee, count = origin
    params = callee.type.params if isinstance(callee, Global) else _applied(callee).params
    return params[:count]


def _plan(program: Function) -> _Plan:
    declared = declarations_of(program)
    holding = _holding_functions(declared)
    types = dict.fromkeys(_all_types(it for one in functions(program) for it in _types(one)))
    kept = tuple(it for it in declared.types if it.name not in holding)
    taken = {one.name for one in kept}
    constructors = {form.name for one in kept for form in one.constructors}
    called = {one.name for one in functions(program)}
    names = {
        type_: (unique_name("Function", taken), unique_name("apply", called))
        for type_ in types
        if isinstance(type_, FunctionType)
    }
    forms: dict[FunctionType, dict[_Origin, str]] = {type_: {} for type_ in names}
    for one in functions(program):
        for type_, origin in _values_made(one):
            callee, _ = origin
            stem = callee.name if isinstance(callee, Global) else "more"
            if origin not in forms[type_]:
                forms[type_][origin] = unique_name(stem, constructors)
    renamed = {
        type_: (
            unique_name(type_.name, taken),
            {it.name: unique_name(it.name, constructors) for it in constructors_of(type_)},
        )
        for type_ in types
        if isinstance(type_, DataType) and type_.name in holding
    }
    fields = [it for origins in forms.values() for origin in origins for it in _held(origin)]
    fields += [it for type_ in renamed for own in constructors_of(type_) for it in own.fields]
    open_ = dict.fromkeys(it for type_ in fields for it in _stored(type_) if symbols_of(it))
    params = {type_: unique_name("T", taken) for type_ in open_}
    plan = _Plan(names, forms, renamed, params)
    return replace(plan, declared=declare((*kept, *_declarations(plan, constructors))))


def _declarations(plan: _Plan, taken: set[str]) -> Iterator[Declaration]:
    params = tuple(plan.params.values())

    def constructor(name: str, fields: Iterable[Type]) -> Constructor:
        return Constructor(name, tuple(map(plan.of, fields)))

    for type_, (name, _) in plan.names.items():
        own = [constructor(form, _held(origin)) for origin, form in plan.forms[type_].items()]
        # A type has a value, although the program makes none.
        own = own or [Constructor(unique_name("no_function", taken))]
        yield Declaration(name, params, tuple(own))
    for data, (name, renamed) in plan.renamed.items():
        own = [constructor(renamed[it.name], it.fields) for it in constructors_of(data)]
        yield Declaration(name, params, tuple(own))


def _holding_functions(declared: Declarations) -> frozenset[str]:
    """The declarations whose own fields are functions, directly or not: not `List`, whose argument
    may be."""
    found: frozenset[str] = frozenset()
    while True:
        more = {
            one.name
            for one in declared.types
            if any(_names(own, found) for form in one.constructors for own in form.fields)
        }
        if more <= found:
            return found
        found |= more


def _names(type_: Type, found: frozenset[str]) -> bool:
    """Whether a type names a type of functions, or a data type that was found."""
    match type_:
        case TensorType() | GenericType():
            return False
        case TupleType(items=items):
            return any(_names(each, found) for each in items)
        case FunctionType():
            return True
        case DataType(name=name, arguments=arguments):
            return name in found or any(_names(each, found) for each in arguments)
        case _:
            assert_never(type_)


def _types(function: Function) -> Iterator[Type]:
    yield from infer(function).values()
    yield from () if function.result is None else (function.result,)


def _all_types(types: Iterable[Type]) -> Iterator[Type]:
    """Types, and all that their values may hold."""
    found: set[Type] = set()
    waiting = [*types]
    while waiting:
        type_ = waiting.pop(0)
        if type_ in found:
            continue
        found.add(type_)
        yield type_
        match type_:
            case TensorType() | GenericType():
                pass
            case TupleType(items=items):
                waiting += items
            case FunctionType(params=params, result=result):
                waiting += (*params, result)
            case DataType(arguments=arguments):
                waiting += arguments
                waiting += (own for form in constructors_of(type_) for own in form.fields)
            case _:
                assert_never(type_)


def _stored(type_: Type) -> Iterator[TensorType]:
    """The tensors that the type of a field says."""
    match type_:
        case TensorType():
            yield type_
        case TupleType(items=parts) | DataType(arguments=parts):
            for part in parts:
                yield from _stored(part)
        case FunctionType() | GenericType():
            pass
        case _:
            assert_never(type_)


def _values_made(function: Function) -> Iterator[tuple[FunctionType, _Origin]]:
    """The types of the functions that become values in a function, and of what they are made."""
    types = infer(function)
    for let in all_lets(function.body):
        if isinstance(let.value, Partial):
            type_ = types[let.name]
            assert isinstance(type_, FunctionType), "inferred"
            yield type_, _origin(let.value, types)


def _origin(value: Partial, types: Mapping[str, Type]) -> _Origin:
    if isinstance(value.callee, Global):
        return value.callee, len(value.args)
    callee = types[value.callee.name]
    assert isinstance(callee, FunctionType), "verified"
    return callee, 1 + len(value.args)


def _appliers(plan: _Plan) -> Iterator[Function]:
    """The functions that call what stands for functions of each type."""
    assert plan.declared is not None, "planned"
    for type_ in plan.names:
        applier = plan.applier(type_)
        taken = {_FUNCTION}
        params = (
            Param(_FUNCTION, applier.type.params[0]),
            *(Param(unique_name("x", taken), each) for each in applier.type.params[1:]),
        )
        given = tuple(Var(param.name) for param in params[1:])

        def arm(name: str, held: tuple[str, ...], callee: Global, args: tuple[Var, ...]) -> Arm:
            call = Let("z", Call(callee, (*map(Var, held), *args)))
            return Arm(name, held, Body((call,), Var("z")))

        arms = []
        for origin, name in plan.forms[type_].items():
            callee, _ = origin
            held = tuple(unique_name("held", taken) for _ in _held(origin))
            called = (
                Global(callee.name, plan.function(callee.type))
                if isinstance(callee, Global)
                else plan.applier(callee)
            )
            arms.append(arm(name, held, called, given))
        if not arms:
            # Never reached, as there is no value.
            function = params[0].type
            assert isinstance(function, DataType), "planned"
            (alone,) = constructors_of(function)
            arms.append(arm(alone.name, (), applier, (Var(_FUNCTION), *given)))
        match = Let("y", Match(Var(_FUNCTION), _named_apart(arms, taken)))
        yield Function(applier.name, params, Body((match,), Var("y")), applier.type.result)


def _named_apart(arms: Iterable[Arm], taken: set[str]) -> tuple[Arm, ...]:
    """Arms whose calls have different names."""
    found = []
    for each in arms:
        (call,) = each.body.lets
        name = unique_name("z", taken)
        found.append(replace(each, body=Body((replace(call, name=name),), Var(name))))
    return tuple(found)


def _written(function: Function, plan: _Plan) -> Function:
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


def _value(let: Let, types: Mapping[str, Type], plan: _Plan) -> Value:
    assert plan.declared is not None, "planned"
    value, type_ = let.value, types[let.name]
    match value:
        case Partial(callee=callee, args=args):
            assert isinstance(type_, FunctionType), "inferred"
            form = plan.forms[type_][_origin(value, types)]
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
                each
                if each.constructor is None
                else replace(each, constructor=names[each.constructor])
                for each in arms
            )
            return Match(operand, tuple(changed))
        case _:
            return value
