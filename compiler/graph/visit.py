"""Traversals of graphs; the type checker finds each `match` that lacks a kind of node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import data_types_in
from tandem.compiler.graph.nodes import (
    Apply,
    Arm,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    Global,
    Gradient,
    If,
    Let,
    Match,
    Module,
    Partial,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import NO_DECLARATIONS, Declarations, Type, symbols_of


def atoms(value: Value) -> tuple[Atom, ...]:
    """The operands of a value, without operands in its inner bodies."""
    match value:
        case Call(args=args) | Construct(args=args):
            return args
        case Tuple(items=items):
            return items
        case TupleGet(operand=operand) | Match(operand=operand):
            return (operand,)
        case If(condition=condition):
            return (condition,)
        case Partial(callee=callee, args=args) | Apply(callee=callee, args=args):
            return args if isinstance(callee, Global) else (callee, *args)
        case Fun() | Gradient():
            return ()
        case _:
            assert_never(value)


def bodies(value: Value) -> tuple[Body, ...]:
    """The inner bodies of a value."""
    match value:
        case If(then=then, otherwise=otherwise):
            return (then, otherwise)
        case Fun(body=body):
            return (body,)
        case Match(arms=arms):
            return tuple(each.body for each in arms)
        case Call() | Tuple() | TupleGet() | Partial() | Gradient() | Apply() | Construct():
            return ()
        case _:
            assert_never(value)


def map_atoms(value: Value, change: Callable[[Atom], Atom]) -> Value:
    """The value with changed operands; a `TupleGet` is kept if its operand became a constant, and
    so is a callee."""
    match value:
        case Call() | Construct():
            return replace(value, args=tuple(change(each) for each in value.args))
        case Tuple(items=items):
            return Tuple(tuple(change(each) for each in items))
        case TupleGet(operand=operand, index=index):
            return TupleGet(_changed(operand, change), index)
        case Match(operand=operand):
            return replace(value, operand=_changed(operand, change))
        case If():
            return replace(value, condition=change(value.condition))
        case Partial(callee=callee, args=args):
            new = callee if isinstance(callee, Global) else _changed(callee, change)
            return Partial(new, tuple(change(each) for each in args))
        case Apply(callee=callee, args=args):
            return Apply(_changed(callee, change), tuple(change(each) for each in args))
        case Fun() | Gradient():
            return value
        case _:
            assert_never(value)


def _changed(name: Var, change: Callable[[Atom], Atom]) -> Var:
    changed = change(name)
    return changed if isinstance(changed, Var) else name


def map_bodies(value: Value, change: Callable[[Body], Body]) -> Value:
    """The value with changed inner bodies."""
    match value:
        case If(condition=condition, then=then, otherwise=otherwise):
            return If(condition, change(then), change(otherwise))
        case Fun(body=body):
            return replace(value, body=change(body))
        case Match(arms=arms):
            changed = (replace(each, body=change(each.body)) for each in arms)
            return replace(value, arms=tuple(changed))
        case Call() | Tuple() | TupleGet() | Partial() | Gradient() | Apply() | Construct():
            return value
        case _:
            assert_never(value)


def renamed(atom: Atom, names: Mapping[str, Atom]) -> Atom:
    """The replacement of an atom in `names`; the atom itself if there is none."""
    return names.get(atom.name, atom) if isinstance(atom, Var) else atom


def rename(value: Value, names: Mapping[str, Atom]) -> Value:
    """The value with renamed operands; inner bodies are unchanged."""
    return map_atoms(value, lambda atom: renamed(atom, names))


def substitute(body: Body, names: Mapping[str, Atom]) -> Body:
    """The body with names replaced, in inner bodies too."""
    lets = (replace(let, value=substituted(let.value, names)) for let in body.lets)
    return Body(tuple(lets), renamed(body.result, names))


def substituted(value: Value, names: Mapping[str, Atom]) -> Value:
    """The value with names replaced, in inner bodies too."""
    return map_bodies(rename(value, names), lambda inner: substitute(inner, names))


def copied(body: Body, args: Mapping[str, Atom], taken: set[str], result: str) -> Body:
    """The body on `args` in place of names that it uses, with values of new names and no declared
    types, to be put into another body.

    Parameters
    ----------
    taken
        Names in use, to which the new names are added.
    result
        The name of the value that the body results in, if that is one of its own.
    """
    names = dict(args)
    if isinstance(body.result, Var) and any(let.name == body.result.name for let in body.lets):
        names[body.result.name] = Var(result)
    return _copied(body, names, taken)


def _copied(body: Body, around: Mapping[str, Atom], taken: set[str]) -> Body:
    names = dict(around)
    lets: list[Let] = []
    for let in body.lets:
        if let.name not in names:
            names[let.name] = Var(unique_name(let.name, taken))
        new = names[let.name]
        assert isinstance(new, Var), "a value's new name"
        value = rename(let.value, names)
        local = {name: unique_name(name, taken) for name in names_bound(value)}
        names.update((old, Var(own)) for old, own in local.items())
        match value:
            case Fun(params=params):
                own = tuple(replace(param, name=local[param.name]) for param in params)
                value = replace(value, params=own)
            case Match(arms=arms):
                value = replace(value, arms=tuple(_renamed_arm(each, local) for each in arms))
            case _:
                pass
        value = map_bodies(value, lambda inner: _copied(inner, names, taken))
        lets.append(replace(let, name=new.name, value=value, type=None))
    return Body(tuple(lets), renamed(body.result, names))


def _renamed_arm(arm: Arm, names: Mapping[str, str]) -> Arm:
    return replace(arm, fields=tuple(names[each] for each in arm.fields))


def names_bound(value: Value) -> tuple[str, ...]:
    """The names that a value defines for its inner bodies: parameters, and fields of arms."""
    match value:
        case Fun(params=params):
            return tuple(each.name for each in params)
        case Match(arms=arms):
            return tuple(name for each in arms for name in each.fields)
        case _:
            return ()


def names_defined(body: Body) -> Iterator[str]:
    """The names that a body and those within it define, in the order of the text."""
    for let in all_lets(body):
        yield let.name
        yield from names_bound(let.value)


def names_taken(function: Function) -> set[str]:
    """The names of a function's parameters, and all that its bodies define."""
    return {each.name for each in function.params} | {*names_defined(function.body)}


def types_written(function: Function) -> Iterator[Type]:
    """The types that the text of a function has, callees that are values aside."""
    yield from (each.type for each in function.params)
    yield from () if function.result is None else (function.result,)
    for let in all_lets(function.body):
        yield from () if let.type is None else (let.type,)
        match let.value:
            case (
                Call(callee=Global(type=type_))
                | Partial(callee=Global(type=type_))
                | Gradient(callee=Global(type=type_))
            ):
                yield type_
            case Fun(params=params, result=result):
                yield from (each.type for each in params)
                yield from () if result is None else (result,)
            case Construct(arguments=arguments):
                yield from arguments
            case _:
                pass


def declarations_of(program: Function) -> Declarations:
    """The data types of a verified program: those of the first type in it that is one."""
    for function in functions(program):
        for let in all_lets(function.body):
            if isinstance(let.value, Construct):
                return let.value.declared
        for type_ in types_written(function):
            for data in data_types_in(type_):
                assert data.declared is not None, "verified"
                return data.declared
    return NO_DECLARATIONS


def makes_functions(body: Body) -> bool:
    """Whether a function is a value in the body."""
    return any(isinstance(let.value, Partial | Gradient | Fun | Apply) for let in all_lets(body))


def writes_symbols(body: Body) -> bool:
    """Whether the body says types with symbols, which are those of the function around, or takes a
    function with symbols as a value, which may need the declared type that a copy loses."""
    for let in all_lets(body):
        match let.value:
            case Construct(arguments=arguments) if any(map(symbols_of, arguments)):
                return True
            case Partial(callee=Global(type=type_)) if symbols_of(type_):
                return True
            case _:
                pass
    return False


def rewrite_lets(body: Body, change: Callable[[Let], tuple[Let, ...]]) -> Body:
    """The body with every `Let` replaced by `change`, in order, inner bodies first."""
    lets: list[Let] = []
    for let in body.lets:
        value = map_bodies(let.value, lambda inner: rewrite_lets(inner, change))
        lets += change(replace(let, value=value))
    return Body(tuple(lets), body.result)


def all_lets(body: Body) -> Iterator[Let]:
    """Every `Let` in the order of the text, inner bodies after the `Let` that contains them."""
    for let in body.lets:
        yield let
        for inner in bodies(let.value):
            yield from all_lets(inner)


def all_bodies(body: Body) -> Iterator[Body]:
    """The body and all bodies within it, a body before those within it."""
    yield body
    for let in body.lets:
        for inner in bodies(let.value):
            yield from all_bodies(inner)


def names_in(body: Body) -> Iterator[str]:
    """Every use of a name, in inner bodies too."""
    return (each.name for each in _all_atoms(body) if isinstance(each, Var))


def names_of(value: Value) -> set[str]:
    """Every name that a value uses, in inner bodies too."""
    return {each.name for each in _atoms_within(value) if isinstance(each, Var)}


def use_counts(body: Body) -> Counter[str]:
    """The number of uses of each name."""
    return Counter(names_in(body))


def functions(function: Function) -> tuple[Function, ...]:
    """The function, its definitions and all that these call as values, each once: callees that are
    values before their callers, definitions in their order, the function itself last."""
    found: dict[str, Function] = {}
    waiting = [(each, False) for each in (function, *reversed(function.definitions))]
    while waiting:
        current, callees_done = waiting.pop()
        if current.digest in found:
            continue
        if callees_done:
            found[current.digest] = current
            continue
        waiting.append((current, True))
        called = [
            let.value.callee
            for let in all_lets(current.body)
            if isinstance(let.value, Call) and isinstance(let.value.callee, Function)
        ]
        waiting += ((callee, False) for callee in reversed(called))
    return tuple(found.values())


def calls_by_name(body: Body) -> Iterator[str]:
    """The names of the functions that a body calls by name or takes as values, as often as it
    does."""
    for let in all_lets(body):
        match let.value:
            case (
                Call(callee=Global(name=name))
                | Partial(callee=Global(name=name))
                | Gradient(callee=Global(name=name))
            ):
                yield name


def taken_as_values(body: Body) -> frozenset[str]:
    """The names of the functions that are values in a body."""
    return frozenset(
        let.value.callee.name
        for let in all_lets(body)
        if isinstance(let.value, Partial) and isinstance(let.value.callee, Global)
    )


def called_by_name(program: Function) -> frozenset[str]:
    """The names of the functions that a program reaches by calls by name from its function."""
    return _reached(program.body, program.named)


def program(module: Module, name: str) -> Function:
    """A function of a module, with the functions that it reaches by name as definitions."""
    named = {each.name: each for each in module.functions}
    reached = _reached(named[name].body, named) - {name}
    return replace(
        named[name], definitions=tuple(each for each in module.functions if each.name in reached)
    )


def _reached(body: Body, named: Mapping[str, Function]) -> frozenset[str]:
    reached: set[str] = set()
    waiting = [*calls_by_name(body)]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += calls_by_name(named[name].body)
    return frozenset(reached)


def map_functions(program: Function, change: Callable[[Function], Function]) -> Function:
    """The program with its definitions and the function itself changed, in this order.

    `change` takes and returns functions without definitions, of the same name and type: every pass
    walks all functions this way, and the bodies within a function by `map_bodies`.
    """
    if not program.definitions:
        return change(program)
    definitions = tuple(change(each) for each in program.definitions)
    bare = replace(program, definitions=())
    bare.reuse_analyses(program)
    return replace(change(bare), definitions=definitions)


def rewrite_bodies(body: Body, change: Callable[[Body], Body]) -> Body:
    """The body with every body replaced by `change`, inner bodies first."""
    lets = (
        replace(let, value=map_bodies(let.value, lambda inner: rewrite_bodies(inner, change)))
        if bodies(let.value)
        else let
        for let in body.lets
    )
    return change(Body(tuple(lets), body.result))


def constants(function: Function) -> dict[str, Constant]:
    """All constants of a function and its callees, by digest."""
    found: dict[str, Constant] = {}
    for callee in functions(function):
        for atom in _all_atoms(callee.body):
            if isinstance(atom, Constant):
                found.setdefault(atom.digest, atom)
    return found


def _all_atoms(body: Body) -> Iterator[Atom]:
    for let in body.lets:
        yield from _atoms_within(let.value)
    yield body.result


def _atoms_within(value: Value) -> Iterator[Atom]:
    """The operands of a value and of all values in its inner bodies."""
    yield from atoms(value)
    for inner in bodies(value):
        yield from _all_atoms(inner)
