"""Walks over graphs. A new node makes the type checker list these places first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from compiler.graph.constant import Constant
from compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    If,
    Let,
    Tuple,
    TupleGet,
    Value,
    Var,
)

__all__ = [
    "all_lets",
    "atoms",
    "bodies",
    "constants",
    "functions",
    "map_atoms",
    "map_bodies",
    "names_in",
    "names_of",
    "rename",
    "renamed",
    "rewrite_lets",
    "substitute",
    "use_counts",
]


def atoms(value: Value) -> tuple[Atom, ...]:
    """The atoms directly in a value, not those of bodies in it."""
    match value:
        case Call(args=args):
            return args
        case Tuple(items=items):
            return items
        case TupleGet(operand=operand):
            return (operand,)
        case If(condition=condition):
            return (condition,)
        case _:
            assert_never(value)


def bodies(value: Value) -> tuple[Body, ...]:
    """The bodies directly in a value."""
    match value:
        case If(then=then, otherwise=otherwise):
            return (then, otherwise)
        case Call() | Tuple() | TupleGet():
            return ()
        case _:
            assert_never(value)


def map_atoms(value: Value, change: Callable[[Atom], Atom]) -> Value:
    """The same value of changed atoms; what a tuple is asked for stays a name."""
    match value:
        case Call():
            return replace(value, args=tuple(change(each) for each in value.args))
        case Tuple(items=items):
            return Tuple(tuple(change(each) for each in items))
        case TupleGet(operand=operand, index=index):
            changed = change(operand)
            return TupleGet(changed, index) if isinstance(changed, Var) else value
        case If():
            return replace(value, condition=change(value.condition))
        case _:
            assert_never(value)


def map_bodies(value: Value, change: Callable[[Body], Body]) -> Value:
    """The same value with changed bodies directly in it."""
    match value:
        case If(condition=condition, then=then, otherwise=otherwise):
            return If(condition, change(then), change(otherwise))
        case Call() | Tuple() | TupleGet():
            return value
        case _:
            assert_never(value)


def renamed(atom: Atom, names: Mapping[str, Atom]) -> Atom:
    """What a name stands for now; the atom itself where `names` does not have it."""
    return names.get(atom.name, atom) if isinstance(atom, Var) else atom


def rename(value: Value, names: Mapping[str, Atom]) -> Value:
    """The same value of renamed atoms, but for those of bodies in it."""
    return map_atoms(value, lambda atom: renamed(atom, names))


def substitute(body: Body, names: Mapping[str, Atom]) -> Body:
    """Names replaced, in inner bodies too."""
    lets = (
        replace(
            let,
            value=map_bodies(rename(let.value, names), lambda inner: substitute(inner, names)),
        )
        for let in body.lets
    )
    return Body(tuple(lets), renamed(body.result, names))


def rewrite_lets(body: Body, change: Callable[[Let], tuple[Let, ...]]) -> Body:
    """Every `Let` through `change`, in the order of the text; those in inner bodies first."""
    lets: list[Let] = []
    for let in body.lets:
        value = map_bodies(let.value, lambda inner: rewrite_lets(inner, change))
        lets += change(replace(let, value=value))
    return Body(tuple(lets), body.result)


def all_lets(body: Body) -> Iterator[Let]:
    """Every `Let` in the order of the text, those in inner bodies after the one they are in."""
    for let in body.lets:
        yield let
        for inner in bodies(let.value):
            yield from all_lets(inner)


def names_in(body: Body) -> Iterator[str]:
    """Every name that is used, in inner bodies too, as often as it is used."""
    return (each.name for each in _all_atoms(body) if isinstance(each, Var))


def names_of(value: Value) -> set[str]:
    """Every name that a value is made from, in inner bodies too."""
    return {each.name for each in _atoms_within(value) if isinstance(each, Var)}


def use_counts(body: Body) -> Counter[str]:
    """How often each name is used."""
    return Counter(names_in(body))


def functions(function: Function) -> tuple[Function, ...]:
    """The function and all that it calls, each once and after those that it calls."""
    found: dict[str, Function] = {}
    waiting = [(function, False)]
    while waiting:
        each, ready = waiting.pop()
        if each.digest in found:
            continue
        if ready:
            found[each.digest] = each
            continue
        waiting.append((each, True))
        called = [
            let.value.callee
            for let in all_lets(each.body)
            if isinstance(let.value, Call) and isinstance(let.value.callee, Function)
        ]
        waiting += ((callee, False) for callee in reversed(called))
    return tuple(found.values())


def constants(function: Function) -> dict[str, Constant]:
    """All constants by digest, those of functions that are called included."""
    found: dict[str, Constant] = {}
    for each in functions(function):
        for atom in _all_atoms(each.body):
            if isinstance(atom, Constant):
                found.setdefault(atom.digest, atom)
    return found


def _all_atoms(body: Body) -> Iterator[Atom]:
    for let in body.lets:
        yield from _atoms_within(let.value)
    yield body.result


def _atoms_within(value: Value) -> Iterator[Atom]:
    """Those of bodies in it too."""
    yield from atoms(value)
    for inner in bodies(value):
        yield from _all_atoms(inner)
