"""Data types: sums of constructors, declared by name, recursive or not.

A declaration is generic in whole types, and every use says its arguments (or its fields do), so
that a type at hand is always a known one: `constructors_of` a type has its arguments in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.syntax import FUN, FUNCTION_TYPE, is_name
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
    elements_of,
    has_functions,
    symbols_of,
)

MAX_REACHED: Final = 100
"""The maximum number of data types that the fields of a data type have, directly or not."""

MAX_SIZE: Final = 1000
"""The maximum number of types in such a type, where it names one twice, twice."""


def declare(types: Iterable[Declaration]) -> Declarations:
    """Data types that may refer to one another, checked.

    Raises
    ------
    GraphError
        Names are no names or occur twice, a field has a type that is not declared, with a symbol or
        an open element type, or types have fields of ever more types.
    """
    declared = Declarations(tuple(types))
    check_declarations(declared)
    return declared


def generic(declaration: Declaration, declared: Declarations) -> DataType:
    """The type of a declaration whose arguments are its parameters, as names."""
    return DataType(declaration.name, tuple(map(DataType, declaration.params)), declared)


def constructors_of(type_: DataType) -> tuple[Constructor, ...]:
    """The constructors of a type, with its arguments in place of parameters."""
    assert type_.declared is not None, "of a declared type"
    declaration = type_.declared.of_type(type_.name)
    assert declaration is not None, "checked"
    arguments = dict(zip(declaration.params, type_.arguments, strict=True))
    return tuple(
        Constructor(form.name, tuple(_known(it, arguments, type_.declared) for it in form.fields))
        for form in declaration.constructors
    )


def constructor_of(type_: DataType, name: str | None) -> Constructor | None:
    """The constructor of a name, with the type's arguments in place; None if the type lacks it."""
    return next((each for each in constructors_of(type_) if each.name == name), None)


def arguments_of(
    declaration: Declaration, constructor: str, types: Sequence[Type], declared: Declarations
) -> dict[str, Type] | None:
    """The arguments of a type, by parameter, that the types of a constructor's fields say; None if
    these do not fit. Parameters that no field has are missing."""
    found: dict[str, Type] = {}

    def fits(wanted: Type, given: Type) -> bool:
        match wanted, given:
            case DataType(name=name, arguments=()), _ if name in declaration.params:
                return found.setdefault(name, given) == given
            case DataType(), DataType():
                same = wanted.name == given.name and given.declared == declared
                return same and all(map(fits, wanted.arguments, given.arguments))
            case TupleType(), TupleType():
                return len(wanted.items) == len(given.items) and all(
                    map(fits, wanted.items, given.items)
                )
            case FunctionType(), FunctionType():
                return (
                    len(wanted.params) == len(given.params)
                    and all(map(fits, wanted.params, given.params))
                    and fits(wanted.result, given.result)
                )
            case _:
                return wanted == given

    fields = next(each.fields for each in declaration.constructors if each.name == constructor)
    fit = len(fields) == len(types) and all(map(fits, fields, types))
    return found if fit else None


def data_types_in(type_: Type) -> Iterator[DataType]:
    """The data types that a type names, those in arguments before what has them."""
    match type_:
        case TensorType() | GenericType():
            pass
        case TupleType(items=items):
            for item in items:
                yield from data_types_in(item)
        case FunctionType(params=params, result=result):
            for part in (*params, result):
                yield from data_types_in(part)
        case DataType(arguments=arguments):
            for argument in arguments:
                yield from data_types_in(argument)
            yield type_
        case _:
            assert_never(type_)


def reached(type_: DataType) -> tuple[DataType, ...]:
    """A data type and all that its fields have, directly or not, each once.

    Raises
    ------
    GraphError
        There are more than `MAX_REACHED`, or one larger than `MAX_SIZE`, as for a type whose
        fields have ever longer arguments.
    """
    found = {type_: None}
    waiting = [type_]
    while waiting:
        for constructor in constructors_of(waiting.pop()):
            for inner in (it for own in constructor.fields for it in data_types_in(own)):
                # A parameter of a declaration is a name that nothing declares.
                if inner.declared is not None and inner not in found:
                    found[inner] = None
                    waiting.append(inner)
                if len(found) > MAX_REACHED or _size(inner) > MAX_SIZE:
                    raise GraphError(
                        f"type {type_.name}: its fields have ever more types, whose arguments grow"
                    )
    return tuple(found)


def holds_functions(type_: DataType) -> bool:
    """Whether a value of the type may hold a function, directly or not."""
    return any(
        has_functions(own)
        for inner in reached(type_)
        for constructor in constructors_of(inner)
        for own in constructor.fields
    )


def _size(type_: Type) -> int:
    match type_:
        case TensorType() | GenericType():
            return 1
        case TupleType(items=parts) | DataType(arguments=parts):
            return 1 + sum(map(_size, parts))
        case FunctionType(params=params, result=result):
            return 1 + sum(map(_size, (*params, result)))
        case _:
            assert_never(type_)


def is_recursive(type_: DataType) -> bool:
    """Whether a value of the type may hold a value of the type, directly or not."""
    return any(
        type_ in reached(inner)
        for constructor in constructors_of(type_)
        for own in constructor.fields
        for inner in data_types_in(own)
    )


def _known(type_: Type, arguments: Mapping[str, Type], declared: Declarations) -> Type:
    """The type of a field, with arguments in place of parameters."""
    match type_:
        case TensorType() | GenericType():
            return type_
        case TupleType(items=items):
            return TupleType(tuple(_known(each, arguments, declared) for each in items))
        case FunctionType(params=params, result=result):
            given = tuple(_known(each, arguments, declared) for each in params)
            return FunctionType(given, _known(result, arguments, declared))
        case DataType(name=name, arguments=()) if name in arguments:
            return arguments[name]
        case DataType(name=name, arguments=own):
            return DataType(
                name, tuple(_known(each, arguments, declared) for each in own), declared
            )
        case _:
            assert_never(type_)


def check_declarations(declared: Declarations) -> None:
    """Raise the errors of `declare`."""
    types = [each.name for each in declared.types]
    constructors = [it.name for each in declared.types for it in each.constructors]
    for one in declared.types:
        names = (one.name, *one.params, *(it.name for it in one.constructors))
        for name in names:
            if not is_name(name) or name in (FUN, FUNCTION_TYPE):
                raise GraphError(f"type {one.name}: {name!r} is no name")
        if types.count(one.name) > 1:
            raise GraphError(f"two types are called {one.name}")
        if len({*one.params}) < len(one.params) or {*one.params} & {*types}:
            raise GraphError(f"type {one.name}: a parameter has the name of another, or of a type")
        if not one.constructors:
            raise GraphError(f"type {one.name} has no constructors")
        for constructor in one.constructors:
            if constructors.count(constructor.name) > 1:
                raise GraphError(f"two constructors are called {constructor.name}")
            for own in constructor.fields:
                _check_field(one, constructor.name, own, declared)
    for one in declared.types:
        reached(generic(one, declared))


def _check_field(one: Declaration, constructor: str, own: Type, declared: Declarations) -> None:
    where = f"type {one.name}: a field of {constructor} is {own}"
    if symbols_of(own) or elements_of(own):
        raise GraphError(f"{where}: extents are numbers, or come with a parameter")
    for inner in data_types_in(own):
        known = declared.of_type(inner.name)
        count = 0 if known is None else len(known.params)
        if known is None and inner.name not in one.params:
            raise GraphError(f"{where}, and {inner.name} is not declared")
        if len(inner.arguments) != count:
            raise GraphError(f"{where}, and {inner.name} takes {count} types")
