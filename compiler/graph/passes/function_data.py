"""The data types of which the functions of a program are values, a type for each type of
functions: what each constructor stands for, and the declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from tandem.compiler.graph.data_types import constructors_of, declare
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Function, Global, Partial
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
from tandem.compiler.graph.visit import all_lets, declarations_of, functions

Origin: TypeAlias = tuple[Global | FunctionType, int]
"""What a function that is a value was made of, a function by name or another value, and how many
arguments it holds."""


@dataclass(frozen=True, slots=True)
class FunctionData:
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
    forms: Mapping[FunctionType, Mapping[Origin, str]]
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


def fields_of(origin: Origin) -> tuple[Type, ...]:
    """The types of the fields of a constructor."""
    callee, count = origin
    params = callee.type.params if isinstance(callee, Global) else _applied(callee).params
    return params[:count]


def function_data(program: Function) -> FunctionData:
    """The data types of a program whose functions are definitions.

    Raises
    ------
    GraphError
        The fields of a data type have ever more types.
    """
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
    forms: dict[FunctionType, dict[Origin, str]] = {type_: {} for type_ in names}
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
    fields = [it for origins in forms.values() for origin in origins for it in fields_of(origin)]
    fields += [it for type_ in renamed for own in constructors_of(type_) for it in own.fields]
    open_ = dict.fromkeys(it for type_ in fields for it in _stored(type_) if symbols_of(it))
    params = {type_: unique_name("T", taken) for type_ in open_}
    plan = FunctionData(names, forms, renamed, params)
    return replace(plan, declared=declare((*kept, *_declarations(plan, constructors))))


def _declarations(plan: FunctionData, taken: set[str]) -> Iterator[Declaration]:
    params = tuple(plan.params.values())

    def constructor(name: str, fields: Iterable[Type]) -> Constructor:
        return Constructor(name, tuple(map(plan.of, fields)))

    for type_, (name, _) in plan.names.items():
        own = [constructor(form, fields_of(origin)) for origin, form in plan.forms[type_].items()]
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


def _values_made(function: Function) -> Iterator[tuple[FunctionType, Origin]]:
    """The types of the functions that become values in a function, and of what they are made."""
    types = infer(function)
    for let in all_lets(function.body):
        if isinstance(let.value, Partial):
            type_ = types[let.name]
            assert isinstance(type_, FunctionType), "inferred"
            yield type_, origin_of(let.value, types)


def origin_of(value: Partial, types: Mapping[str, Type]) -> Origin:
    """What a function that is a value is made of."""
    if isinstance(value.callee, Global):
        return value.callee, len(value.args)
    callee = types[value.callee.name]
    assert isinstance(callee, FunctionType), "verified"
    return callee, 1 + len(value.args)
