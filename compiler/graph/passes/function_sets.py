"""What a value may be at run time: of a function, the set of the functions that it may be.

Lambda sets (Brandon et al., PLDI'23): a value that is a function is represented by what tells the
functions of its set apart, and by what they hold. A value of which no end is known is any function
of its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.types import (
    DataType,
    FunctionType,
    GenericType,
    Nested,
    Part,
    TensorType,
    TupleType,
    Type,
    leaves,
    parts_of,
)
from tandem.compiler.ir.dtypes import INT32

MAX_FUNCTIONS: Final = 1000
"""The maximum number of functions and values that a function may hold, directly or not."""

MAX_NESTED: Final = 64
"""The maximum number of functions that hold one another."""

TAG: Final = TensorType((), INT32)
"""The type of the number of a function in its set."""


class EndlessError(GraphError):
    """Functions hold functions, or are called with functions, without a known end.

    Attributes
    ----------
    functions
        The names of those that do.
    """

    def __init__(self, message: str, functions: frozenset[str]) -> None:
        super().__init__(message)
        self.functions = functions


@dataclass(frozen=True, slots=True)
class AnyFunction:
    """Any function of a type."""

    type: FunctionType


@dataclass(frozen=True, slots=True)
class Member:
    """A function with its first arguments.

    Attributes
    ----------
    function
        The name of the function.
    given
        What the first arguments may be; a constant is known.
    key
        A text that is equal for equal members only.
    size, depth
        The number of functions and values in it, and how many functions hold one another.
    open
        Whether a function that it holds, directly or not, may be any.
    """

    function: str
    given: tuple[Held | Constant, ...] = field(compare=False)
    key: str = field(init=False)
    size: int = field(init=False, compare=False)
    depth: int = field(init=False, compare=False)
    open: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        parts = [leaf for given in self.captured for leaf in leaves(given)]
        held = [it for leaf in parts if isinstance(leaf, FunctionSet) for it in leaf.members]
        key = f"{self.function}({', '.join(map(given_key, self.given))})"
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "size", len(self.given) + 1 + sum(each.size for each in held))
        object.__setattr__(self, "depth", 1 + max((each.depth for each in held), default=0))
        any_ = any(isinstance(each, AnyFunction) for each in parts)
        object.__setattr__(self, "open", any_ or any(each.open for each in held))
        if self.size > MAX_FUNCTIONS or self.depth > MAX_NESTED:
            raise EndlessError(
                f"{self.function} holds functions that hold functions, without a known end: at "
                f"most {MAX_NESTED} may hold one another, and {MAX_FUNCTIONS} in all",
                frozenset(_repeated(self, frozenset())),
            )

    @property
    def captured(self) -> tuple[Held, ...]:
        """What the arguments may be that are not known."""
        return tuple(each for each in self.given if not isinstance(each, Constant))


@dataclass(frozen=True, slots=True)
class FunctionSet:
    """The functions that a value may be, without duplicates, in the order of their keys."""

    members: tuple[Member, ...] = ()

    @property
    def slots(self) -> tuple[Part, ...]:
        """The values in which a function of a set of several holds its arguments: members share
        those of equal types."""
        needed: Counter[Part] = Counter()
        for member in self.members:
            needed |= Counter(parts_held(member))
        return tuple(needed.elements())


Held: TypeAlias = Nested[TensorType | DataType | FunctionSet | AnyFunction]
"""What a value may be, nested in tuples as the value is; of a data type nothing is known."""


def _repeated(member: Member, around: frozenset[str]) -> Iterator[str]:
    """The functions in a member that hold themselves."""
    if member.function in around:
        yield member.function
    for given in member.captured:
        for leaf in leaves(given):
            if isinstance(leaf, FunctionSet):
                for inner in leaf.members:
                    yield from _repeated(inner, around | {member.function})


def given_key(held: Held | Constant) -> str:
    """A text that is equal for equal arguments only."""
    match held:
        case Constant():
            return f"={held.digest}"
        case TensorType() | DataType():
            return str(held)
        case AnyFunction(type=type_):
            return f"any {type_}"
        case FunctionSet(members=members):
            return f"{{{' | '.join(each.key for each in members)}}}"
        case tuple():
            return f"({' '.join(f'{given_key(each)},' for each in held)})"


def held_by(type_: Type) -> Held:
    """What a value of a type may be, if nothing is known: of functions none."""
    match type_:
        case TensorType() | DataType():
            return type_
        case TupleType(items=items):
            return tuple(map(held_by, items))
        case FunctionType():
            return FunctionSet()
        case GenericType():
            raise AssertionError("verified: programs have no open element types")


def any_of(type_: Type) -> Held:
    """What a value of a type may be, where its functions may be any."""
    match type_:
        case FunctionType():
            return AnyFunction(type_)
        case TupleType(items=items):
            return tuple(map(any_of, items))
        case _:
            return held_by(type_)


def settled(held: Held, type_: Type) -> Held:
    """What a value of a type may be, where one of several functions that holds any functions may be
    any itself."""
    match held, type_:
        case tuple(), TupleType(items=items):
            return tuple(map(settled, held, items))
        case FunctionSet(members=(_, _, *_) as members), FunctionType():
            return AnyFunction(type_) if any(each.open for each in members) else held
        case _:
            return held


def joined(one: Held, other: Held) -> Held:
    """What may be one or the other, of values of one type."""
    match one, other:
        case AnyFunction(), _:
            return one
        case _, AnyFunction():
            return other
        case tuple(), tuple():
            return tuple(map(joined, one, other))
        case FunctionSet(), FunctionSet():
            return function_set((*one.members, *other.members))
        case _:
            return one


def function_set(members: Iterable[Member]) -> FunctionSet:
    """The set of some members."""
    found = {member.key: member for member in members}
    return FunctionSet(tuple(found[key] for key in sorted(found)))


def represented(held: Held) -> Type:
    """The type of the value that stands for what is held: of one function its arguments, of several
    a number and slots for the arguments; any function is a function."""
    match held:
        case AnyFunction(type=type_):
            return type_
        case TensorType() | DataType():
            return held
        case tuple():
            return TupleType(tuple(map(represented, held)))
        case FunctionSet(members=()):
            return TupleType(())
        case FunctionSet(members=(member,)):
            return TupleType(tuple(map(represented, member.captured)))
        case FunctionSet():
            return TupleType((TAG, *held.slots))


def parts_held(member: Member) -> tuple[Part, ...]:
    """The tensors and the values of data types that a function holds, in order."""
    return tuple(it for each in member.captured for it in parts_of(represented(each)))


def slots_of(member: Member, whole: FunctionSet) -> tuple[int, ...]:
    """The slot of each value that a member of a set of several holds."""
    return placed(parts_held(member), whole.slots)


def placed(tensors: Sequence[Part], slots: Sequence[Part]) -> tuple[int, ...]:
    """The first free slot of the type of each value."""
    free = list(enumerate(slots))
    found = []
    for tensor in tensors:
        at = next(place for place, (_, type_) in enumerate(free) if type_ == tensor)
        found.append(free.pop(at)[0])
    return tuple(found)
