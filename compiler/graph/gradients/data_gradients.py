"""Gradients of values of data types: values of types that are declared beside them.

The gradient of a value has the value's form, with gradients of its floats in place of its fields,
as far as these have floats: of `List[float32[3]]`, whose forms are `Nil` and `Cons`,

    type List_float32_3_gradient = Zero_List_float32_3_gradient
        | Cons_List_float32_3_gradient(float32[3], List_float32_3_gradient)

The first form is zero, of a value of any form. A type without floats has no such type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.data_types import constructors_of, data_types_in, declare, reached
from tandem.compiler.graph.gradient_query import gradient_type
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Call,
    Construct,
    Fun,
    Function,
    Global,
    Gradient,
    Let,
    Param,
    Partial,
)
from tandem.compiler.graph.types import (
    Constructor,
    DataType,
    Declaration,
    Declarations,
    FunctionType,
    GenericType,
    Part,
    TensorType,
    TupleType,
    Type,
    symbols_of,
)
from tandem.compiler.graph.visit import declarations_of, functions, map_functions, rewrite_lets


def gradient_types(type_: Type) -> tuple[Part, ...]:
    """The types of the gradients of what a value has, in order: of floats, and of values of data
    types that hold some."""
    match type_:
        case TensorType():
            own = gradient_type(type_)
            return () if own is None else (own,)
        case DataType():
            found = gradient_of(type_)
            return () if found is None else (found,)
        case TupleType(items=items):
            return tuple(found for each in items for found in gradient_types(each))
        case FunctionType() | GenericType():
            return ()


def gradient_of(type_: DataType) -> DataType | None:
    """The type of gradients of a data type's values; None if they have no floats."""
    name = _name(type_)
    if type_.declared is None or type_.declared.of_type(name) is None:
        return None
    return DataType(name, (), type_.declared)


def zero_form(gradient: DataType) -> str:
    """The form of a gradient that is zero."""
    return f"Zero_{gradient.name}"


def gradient_form(gradient: DataType, constructor: str) -> Constructor | None:
    """The form of gradients of values of a constructor; None if these hold no floats."""
    name = f"{constructor}_{gradient.name}"
    return next((each for each in constructors_of(gradient) if each.name == name), None)


def with_data_gradients(program: Function) -> Function:
    """The program, in which the data types that it uses have types of gradients beside them.

    Raises
    ------
    GradientError
        A type of that name is declared as another, or a type has symbols.
    """
    old = declarations_of(program)
    if not old.types:
        return program
    used = dict.fromkeys(
        inner
        for function in functions(program)
        for type_ in (*(each.type for each in function.params), *infer(function).values())
        for data in data_types_in(type_)
        for inner in reached(data)
    )
    known = {each.name: each for each in old.types}
    found = {it.name: it for it in _declarations(program.name, used)}
    for name, declaration in found.items():
        if known.get(name, declaration) != declaration:
            raise GradientError(
                f"function {program.name}: a type {name} is declared, and gradients need another "
                "of that name; give it another name"
            )
    new = declare({**known, **found}.values())
    return map_functions(program, lambda one: _redeclared(one, new))


def _name(type_: DataType) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_]+', '_', str(type_)).strip('_')}_gradient"


def _declarations(function: str, types: Iterable[DataType]) -> list[Declaration]:
    """The types of gradients of those types that hold floats."""
    types = [*types]
    floats = _with_floats(types)
    found: list[Declaration] = []
    for type_ in types:
        if type_ not in floats:
            continue
        name = _name(type_)
        forms = [Constructor(f"Zero_{name}")]
        for constructor in constructors_of(type_):
            fields = [it for own in constructor.fields for it in _fields(own, floats)]
            if any(map(symbols_of, fields)):
                raise GradientError(
                    f"function {function}: {type_} has extents that are symbols, of which "
                    "no gradient is written: bind symbols first"
                )
            if fields:
                forms.append(Constructor(f"{constructor.name}_{name}", tuple(fields)))
        if any(each.name == name for each in found):
            raise GradientError(
                f"function {function}: gradients of two types would be called {name}; give one "
                "of them another name"
            )
        found.append(Declaration(name, (), tuple(forms)))
    return found


def _with_floats(types: Iterable[DataType]) -> set[DataType]:
    """The types of which values hold floats, directly or not."""
    types = [*types]
    found: set[DataType] = set()
    while True:
        more = {
            type_
            for type_ in types
            if type_ not in found
            and any(_fields(own, found) for it in constructors_of(type_) for own in it.fields)
        }
        if not more:
            return found
        found |= more


def _fields(type_: Type, floats: set[DataType]) -> list[Type]:
    """The types of a field's gradients, as a declaration names them."""
    match type_:
        case DataType():
            return [DataType(_name(type_))] if type_ in floats else []
        case TupleType(items=items):
            return [found for each in items for found in _fields(each, floats)]
        case _:
            return [*gradient_types(type_)]


def _redeclared(function: Function, declared: Declarations) -> Function:
    """The function with types of other declarations, which have those of before."""

    def of(type_: Type) -> Type:
        match type_:
            case TensorType() | GenericType():
                return type_
            case TupleType(items=items):
                return TupleType(tuple(map(of, items)))
            case FunctionType(params=params, result=result):
                return FunctionType(tuple(map(of, params)), of(result))
            case DataType(name=name, arguments=arguments):
                return DataType(name, tuple(map(of, arguments)), declared)

    def change(let: Let) -> tuple[Let, ...]:
        value = let.value
        match value:
            case Call(callee=Global(name=name, type=type_)):
                changed = of(type_)
                assert isinstance(changed, FunctionType), "as before"
                value = replace(value, callee=Global(name, changed))
            case Partial(callee=Global(name=name, type=type_)):
                changed = of(type_)
                assert isinstance(changed, FunctionType), "as before"
                value = replace(value, callee=Global(name, changed))
            case Gradient(callee=Global(name=name, type=type_)):
                changed = of(type_)
                assert isinstance(changed, FunctionType), "as before"
                value = replace(value, callee=Global(name, changed))
            case Fun(params=params, result=result):
                params = tuple(Param(each.name, of(each.type)) for each in params)
                value = replace(value, params=params, result=None if result is None else of(result))
            case Construct(arguments=arguments):
                given = tuple(map(of, arguments))
                value = replace(value, declared=declared, arguments=given)
            case _:
                pass
        return (replace(let, value=value, type=None if let.type is None else of(let.type)),)

    return replace(
        function,
        params=tuple(Param(each.name, of(each.type)) for each in function.params),
        body=rewrite_lets(function.body, change),
        result=None if function.result is None else of(function.result),
    )
