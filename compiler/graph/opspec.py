"""What an operator is: its operands, its attributes, the type of its result, how it is computed and
with what it may be fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from compiler.errors import GraphError, IRError, TensorError
from compiler.graph.attributes import Attributes, declared, refusal
from compiler.graph.extents import Dim
from compiler.graph.types import TensorType, TupleType, Type
from compiler.operators.checks import show
from compiler.te import Tensor, placeholder

__all__ = [
    "DATA",
    "AnyOp",
    "Ask",
    "ChannelAffine",
    "Linear",
    "Numbers",
    "OpSpec",
    "Operands",
    "Pattern",
    "Registry",
    "computed_by",
    "keywords",
    "registry",
]

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ChannelAffine:
    """(data - centre) * factor + addend, with a number for each index of axis 1."""

    centre: Numbers
    factor: Numbers
    addend: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A result that is linear in a weight, plus a bias along its axis 1.

    Attributes
    ----------
    axis
        Along which the weight has a slice for each index of the result's axis 1.
    bias
        A number for each of these indices; 0 where the operator is given none.
    attributes
        With which the operator takes `weight` and `bias` as its second and third operand.
    """

    weight: NDArray[Any]
    axis: int
    bias: Numbers
    attributes: Attributes


A = TypeVar("A", bound=Attributes)


class Pattern(IntEnum):
    """How an operator's elements depend on its operands', from the simplest to the least known.

    The classes and their order are TVM's (Chen et al., OSDI'18, section 3).
    """

    ELEMENTWISE = 0
    """One element of each operand for each of the result, at the same place."""
    BROADCAST = 1
    """The same, but operands repeat along axes."""
    INJECTIVE = 2
    """One element, from some other place."""
    REDUCTION = 3
    """Elements joined along axes."""
    OUT_FUSABLE = 4
    """Something larger, as a convolution, to whose result element-wise operators can be added."""
    OPAQUE = 5
    """Nothing can be fused with it."""


@dataclass(frozen=True, slots=True)
class Operands:
    """What an operator works on.

    Attributes
    ----------
    names
        In order, for messages.
    optional
        How many of the last ones may be left out.
    variadic
        The last one may come any number of times, but at least once.
    """

    names: tuple[str, ...]
    optional: int = 0
    variadic: bool = False

    def allow(self, count: int) -> bool:
        """Whether there may be so many."""
        if self.variadic:
            return count >= len(self.names)
        return len(self.names) - self.optional <= count <= len(self.names)

    def __str__(self) -> str:
        required = len(self.names) - self.optional
        marked = [f"{name}?" if at >= required else name for at, name in enumerate(self.names)]
        return ", ".join(marked) + (", ..." if self.variadic else "")

    def name(self, position: int) -> str:
        """The operand at a position."""
        if self.variadic and position >= len(self.names) - 1:
            return f"{self.names[-1]}{position - len(self.names) + 1}"
        return self.names[position]


DATA: Final = Operands(("data",))
"""Of operators that work on one tensor."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The question for the type of an operator's result.

    Attributes
    ----------
    node
        What the result is called.
    names, types
        The operands, in order.
    compute
        The result's tensors, from the operands'.
    """

    operator: str
    node: str
    names: tuple[str, ...]
    types: tuple[TensorType, ...]
    compute: Callable[[Sequence[Tensor]], tuple[Tensor, ...]]

    @property
    def data(self) -> TensorType:
        """The first operand."""
        return self.types[0]

    def fail(self, reason: str) -> NoReturn:
        """Refuse: there is no such result."""
        raise GraphError(f"{self.node} = {self.operator}(...): {reason}")

    def show(self, position: int) -> str:
        """An operand as messages name it: `weight float32[64, 3, 7, 7]`."""
        return f"{self.names[position]} {self.types[position]}"

    def show_all(self) -> str:
        """All operands."""
        return ", ".join(self.show(each) for each in range(len(self.types)))

    def answer(self, shapes: Sequence[Sequence[int]]) -> tuple[TensorType, ...]:
        """The types of the result, by computing it from operands of these shapes."""
        given = [
            placeholder(shape, each.dtype, name)
            for name, each, shape in zip(self.names, self.types, shapes, strict=True)
        ]
        try:
            found = self.compute(given)
        except (TensorError, IRError) as error:
            reason = str(error).removeprefix(f"{self.operator} {self.node}: ")
            for position, each in enumerate(given):
                reason = reason.replace(show(each), self.show(position))
            self.fail(reason)
        return tuple(TensorType(each.shape, each.dtype) for each in found)


@dataclass(frozen=True, slots=True, repr=False)
class OpSpec(Generic[A]):
    """An operator.

    What shapes and types it takes and gives is said where it is computed, in `compiler.operators`,
    and asked there. Only for extents that are no numbers are there rules of their own.

    Attributes
    ----------
    attributes
        The class of its attributes.
    compute
        The tensors of the result, from its name, the operands and the attributes.
    symbolic
        The type of the result where an operand has a symbolic extent. Whatever numbers the symbols
        stand for, it is the type that `compute` gives for these; where there is no such type, or
        none that extents can express, it refuses.
    several
        The result is a tuple.
    channel_affine
        Where the result is affine in the first operand, channel by channel: from values of the
        other operands to factors and addends.
    linear
        Where the result is linear in the second operand: from values of that and the third, if
        there is one, to weights and bias. None where the bias differs within a channel.
    hints
        The fields of `attributes`, and their types.
    """

    name: str
    pattern: Pattern
    operands: Operands
    attributes: type[A]
    compute: Callable[[str, Sequence[Tensor], A], tuple[Tensor, ...]]
    symbolic: Callable[[Ask, A], tuple[TensorType, ...]]
    several: bool = False
    channel_affine: Callable[[Sequence[NDArray[Any]], A], ChannelAffine] | None = None
    linear: Callable[[Sequence[NDArray[Any]], A], Linear | None] | None = None
    hints: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Worked out here: types are asked for far more often than operators are made.
        object.__setattr__(self, "hints", MappingProxyType(declared(self.attributes)))

    def __repr__(self) -> str:
        return self.name

    def result(self, node: str, types: Sequence[Type], attributes: Attributes) -> Type:
        """The type of the result, which is called `node`.

        Raises
        ------
        GraphError
            Names node and operator, and what was asked and is allowed: the number of operands,
            attributes of another class or of wrong types, shapes and types that do not fit.
        """
        allowed = self.operands.allow(len(types))
        names = tuple(
            self.operands.name(each) if allowed else f"operand {each}" for each in range(len(types))
        )
        tensors = tuple(each for each in types if isinstance(each, TensorType))

        def compute(given: Sequence[Tensor]) -> tuple[Tensor, ...]:
            assert isinstance(attributes, self.attributes)
            return self.compute(node, given, attributes)

        ask = Ask(self.name, node, names, tensors, compute)
        if not allowed:
            ask.fail(f"{len(types)} operands, and it takes ({self.operands})")
        if len(tensors) != len(types):
            wrong = next(at for at, each in enumerate(types) if not isinstance(each, TensorType))
            ask.fail(f"{names[wrong]} is {types[wrong]}, and has to be a tensor")
        if not isinstance(attributes, self.attributes) or type(attributes) is not self.attributes:
            ask.fail(f"attributes are {type(attributes).__name__}, not {self.attributes.__name__}")
        if reason := refusal(attributes, self.hints):
            ask.fail(reason)
        if any(isinstance(extent, Dim) for each in tensors for extent in each.shape):
            found = self.symbolic(ask, attributes)
        else:
            found = ask.answer([each.static_shape("an operand") for each in tensors])
        return TupleType(found) if self.several else found[0]


AnyOp: TypeAlias = OpSpec[Any]
Registry: TypeAlias = Mapping[str, AnyOp]
"""Operators by name."""


def registry(*specs: AnyOp) -> Registry:
    """Operators by name; two of one name are refused."""
    found: dict[str, AnyOp] = {}
    for each in specs:
        if found.setdefault(each.name, each) is not each:
            raise GraphError(f"two operators are called {each.name}")
    return MappingProxyType(found)


def keywords(attributes: Attributes) -> dict[str, Any]:
    """Attributes as keyword arguments of a function with parameters of the same names."""
    return {each.name: getattr(attributes, each.name) for each in fields(attributes)}


def computed_by(
    function: Callable[..., Any],
    pattern: Pattern,
    operands: Operands,
    attributes: type[A],
    symbolic: Callable[[Ask, Any], tuple[TensorType, ...]],
    *,
    name: str = "",
    several: bool = False,
    **traits: Callable[..., Any],
) -> AnyOp:
    """An operator called `name`, or as the function that computes it: of tensors by position, then
    of the result's name and the attributes by keyword. `traits` are fields of `OpSpec`."""

    def compute(result: str, tensors: Sequence[Tensor], given: A) -> tuple[Tensor, ...]:
        found = function(*tensors, name=result, **keywords(given))
        return found if several else (found,)

    name = name or function.__name__
    return OpSpec(name, pattern, operands, attributes, compute, symbolic, several, **traits)
