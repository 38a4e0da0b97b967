"""Programs all of whose functions are called by name."""

from __future__ import annotations

from dataclasses import replace

from tandem.compiler.graph.infer import result_of
from tandem.compiler.graph.nodes import Body, Call, Function, FunctionKind, Global, Let, Var
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import FunctionType
from tandem.compiler.graph.visit import calls_by_name, functions, rewrite_lets


def by_name(program: Function) -> Function:
    """The program with functions that are called as values as definitions."""
    named = (*program.definitions, program)
    values = [
        callee
        for callee in functions(program)
        if callee.kind is FunctionKind.FUNC and callee not in named
    ]
    if not values:
        return program
    names: dict[str, Global] = {}
    for callee in values:
        params = tuple(param.type for param in callee.params)
        names[callee.digest] = Global(callee.name, FunctionType(params, result_of(callee)))

    def change(let: Let) -> tuple[Let, ...]:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.FUNC) as callee):
                return (replace(let, value=replace(let.value, callee=names[callee.digest])),)
            case _:
                return (let,)

    def changed(one: Function) -> Function:
        return replace(one, body=rewrite_lets(one.body, change))

    definitions = (replace(changed(each), result=result_of(each)) for each in values)
    whole = (*definitions, *map(changed, program.definitions))
    return replace(changed(program), definitions=whole)


def entered(program: Function) -> Function:
    """The program, whose own function is not called by name: if it was, that is a definition."""
    every = (*program.definitions, program)
    called = {name for each in every for name in calls_by_name(each.body)}
    if program.name not in called:
        return program
    type_ = program.type
    assert type_ is not None, "verified: it is called by name"
    taken = {each.name for each in functions(program)}
    result = unique_name("result", {param.name for param in program.params})
    args = tuple(Var(param.name) for param in program.params)
    call = Let(result, Call(Global(program.name, type_), args))
    return replace(
        program,
        name=unique_name(program.name, taken),
        body=Body((call,), Var(result)),
        definitions=(*program.definitions, replace(program, definitions=())),
    )
