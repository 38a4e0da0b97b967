"""What a value may be at run time: of a function, the set of the functions that it may be.

Lambda sets (Brandon et al., PLDI'23): a value that is a function is represented by what tells the
functions of its set apart, and by what they hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
    """

    function: str
    given: tuple[Held | Constant, ...] = field(compare=False)
    key: str = field(init=False)
    size: int = field(init=False, compare=False)
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        held = [
            member
            for given in self.given
            if not isinstance(given, Constant)
            for leaf in leaves(given)
            if isinstance(leaf, FunctionSet)
            for member in leaf.members
        ]
        key = f"{self.function}({', '.join(map(given_key, self.given))})"
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "size", len(self.given) + 1 + sum(each.size for each in held))
        object.__setattr__(self, "depth", 1 + max((each.depth for each in held), default=0))
        if self.size > MAX_FUNCTIONS or self.depth > MAX_NESTED:
            raise GraphError(
                f"{self.function} holds functions that hold functions, without a known end: at "
                f"most {MAX_NESTED} may hold one another, and {MAX_FUNCTIONS} in all"
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


Held: TypeAlias = Nested[TensorType | DataType | FunctionSet]
"""What a value may be, nested in tuples as the value is; of a data type nothing is known."""


def given_key(held: Held | Constant) -> str:
    """A text that is equal for equal arguments only."""
    match held:
        case Constant():
            return f"={held.digest}"
        case TensorType() | DataType():
            return str(held)
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


def joined(one: Held, other: Held) -> Held:
    """What may be one or the other, of values of one type."""
    match one, other:
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
    a number and slots for the arguments."""
    match held:
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
