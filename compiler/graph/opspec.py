"""The specification of an operator: operands, attributes, type rule, definition, fusion pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import GraphError, IRError, TensorError
from tandem.compiler.graph.attributes import Attributes, declared, refusal
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.gradient_query import GradientRule
from tandem.compiler.graph.types import TensorType, TupleType, Type
from tandem.compiler.operators.checks import show
from tandem.compiler.te import Tensor, placeholder

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
        The axis of the weight that becomes the result's axis 1.
    bias
        A number for each index of `axis`; 0 if the operator has no bias.
    attributes
        The operator's attributes for `weight` and `bias` as second and third operand.
    """

    weight: NDArray[Any]
    axis: int
    bias: Numbers
    attributes: Attributes


A = TypeVar("A", bound=Attributes)


class OpPattern(IntEnum):
    """How an operator's result depends on its operands, from the simplest to the most general.

    The classes and their order are TVM's (Chen et al., OSDI'18, section 3), whose softmax is
    opaque.
    """

    ELEMENTWISE = 0
    """An element of the result depends on the element of each operand at the same indices."""
    BROADCAST = 1
    """Element-wise, with operands that broadcast."""
    INJECTIVE = 2
    """An element of the result is one element of an operand, at other indices."""
    REDUCTION = 3
    """Elements are reduced along axes."""
    OUT_FUSABLE = 4
    """More complex, such as a convolution; element-wise operators on its result can be fused."""
    NORMALISATION = 5
    """Reductions that every element along the axes depends on, such as softmax: operators that
    compute its operands' elements, or an element of the result each, can be fused with it. Fused
    operands are stored, not computed in each place that reads them."""
    OPAQUE = 6
    """No operator can be fused with this one."""


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands that an operator takes.

    Attributes
    ----------
    names
        Operand names in order, for error messages.
    optional
        The number of trailing operands that may be omitted.
    variadic
        Whether the last operand may be repeated.
    """

    names: tuple[str, ...]
    optional: int = 0
    variadic: bool = False

    def accept(self, count: int) -> bool:
        """Whether `count` operands are allowed."""
        if self.variadic:
            return count >= len(self.names)
        return len(self.names) - self.optional <= count <= len(self.names)

    def __str__(self) -> str:
        required = len(self.names) - self.optional
        marked = [f"{name}?" if at >= required else name for at, name in enumerate(self.names)]
        return ", ".join(marked) + (", ..." if self.variadic else "")

    def name(self, position: int) -> str:
        """The name of the operand at a position."""
        if self.variadic and position >= len(self.names) - 1:
            return f"{self.names[-1]}{position - len(self.names) + 1}"
        return self.names[position]


DATA: Final = Operands(("data",))
"""The operands of operators on one tensor."""


@dataclass(frozen=True, slots=True)
class TypeQuery:
    """A call of an operator whose result type is to be inferred.

    Attributes
    ----------
    node
        The name of the result.
    names, types
        The operands' names and types, in order.
    compute
        Maps the operands' tensors to the result's tensors.
    """

    operator: str
    node: str
    names: tuple[str, ...]
    types: tuple[TensorType, ...]
    compute: Callable[[Sequence[Tensor]], tuple[Tensor, ...]]

    @property
    def data(self) -> TensorType:
        """The type of the first operand."""
        return self.types[0]

    def fail(self, reason: str) -> NoReturn:
        """Raise a `GraphError`: the operator has no result for these operands."""
        raise GraphError(f"{self.node} = {self.operator}(...): {reason}")

    def show(self, position: int) -> str:
        """An operand's name and type for error messages: `weight float32[64, 3, 7, 7]`."""
        return f"{self.names[position]} {self.types[position]}"

    def show_all(self) -> str:
        """The names and types of all operands, for error messages."""
        return ", ".join(map(self.show, range(len(self.types))))

    def infer(self, shapes: Sequence[Sequence[int]]) -> tuple[TensorType, ...]:
        """The types of the result's tensors for operands of `shapes`, as stored, by the
        definition."""
        operands = [
            placeholder(shape, type_.stored.dtype, name)
            for name, type_, shape in zip(self.names, self.types, shapes, strict=True)
        ]
        try:
            found = self.compute(operands)
        except (TensorError, IRError) as error:
            reason = str(error).removeprefix(f"{self.operator} {self.node}: ")
            for position, operand in enumerate(operands):
                reason = reason.replace(show(operand), self.show(position))
            self.fail(reason)
        return tuple(TensorType(each.shape, each.dtype) for each in found)


@dataclass(frozen=True, slots=True, repr=False)
class OpSpec(Generic[A]):
    """The specification of an operator.

    Result types of static operands follow from the definition in `compiler.operators`; only
    symbolic extents need the type rule `symbolic`.

    Attributes
    ----------
    attributes
        The class of the operator's attributes.
    compute
        Maps the result's name, the operands' tensors and the attributes to the result's tensors.
    symbolic
        The result types if an operand has a symbolic extent. They hold for all values of the
        symbols; a call without such types is an error.
    several
        Whether the result is a tuple.
    channel_affine
        For results that are affine per channel in the first operand: maps the values of the other
        operands to factors and addends.
    linear
        For results that are linear in the second operand: maps the values of the second and third
        (if any) operand to weight and bias; returns None if the bias differs within a channel.
    stored
        The result types of operators whose operands or results are not all row-major, instead of
        inference: no other operator takes tensors in other layouts.
    gradient
        Writes the operands' gradients from operands, results and the results' gradients, as terms.
        Without it the operator is refused where a gradient of it is needed: none is needed where
        its result is of integers or bools.
    takes_borders
        Whether implementations bring the first operand into another layout, so that a border around
        it is made in passing.
    hints
        The fields of `attributes`, and their types.
    """

    name: str
    pattern: OpPattern
    operands: Operands
    attributes: type[A]
    compute: Callable[[str, Sequence[Tensor], A], tuple[Tensor, ...]]
    symbolic: Callable[[TypeQuery, A], tuple[TensorType, ...]]
    several: bool = False
    channel_affine: Callable[[Sequence[NDArray[Any]], A], ChannelAffine] | None = None
    linear: Callable[[Sequence[NDArray[Any]], A], Linear | None] | None = None
    stored: Callable[[TypeQuery, A], tuple[TensorType, ...]] | None = None
    gradient: GradientRule | None = None
    takes_borders: bool = False
    hints: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Computed once: types are inferred far more often than operators are created.
        object.__setattr__(self, "hints", MappingProxyType(declared(self.attributes)))

    def __repr__(self) -> str:
        return self.name

    def result(self, node: str, types: Sequence[Type], attributes: Attributes) -> Type:
        """The type of the operator's result, which error messages name `node`.

        Raises
        ------
        GraphError
            The number of operands, the class or the types of the attributes, or the operands' types
            are wrong; the message names the node and the operator.
        """
        accepted = self.operands.accept(len(types))
        names = tuple(
            self.operands.name(position) if accepted else f"operand {position}"
            for position in range(len(types))
        )
        tensors = tuple(each for each in types if isinstance(each, TensorType))

        def compute(operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
            assert isinstance(attributes, self.attributes)
            return self.compute(node, operands, attributes)

        query = TypeQuery(self.name, node, names, tensors, compute)
        if not accepted:
            query.fail(f"{len(types)} operands, and the operator takes ({self.operands})")
        if len(tensors) != len(types):
            wrong = next(at for at, each in enumerate(types) if not isinstance(each, TensorType))
            query.fail(f"{names[wrong]} is {types[wrong]}, and has to be a tensor")
        if type(attributes) is not self.attributes:
            query.fail(
                f"attributes are {type(attributes).__name__}, not {self.attributes.__name__}"
            )
        if reason := refusal(attributes, self.hints):
            query.fail(reason)
        if self.stored is not None:
            found = self.stored(query, attributes)
        elif any(each.layout is not None for each in tensors):
            wrong = next(at for at, each in enumerate(tensors) if each.layout is not None)
            query.fail(f"{query.show(wrong)} has to be row-major: convert it first")
        elif any(isinstance(extent, Dim) for each in tensors for extent in each.shape):
            found = self.symbolic(query, attributes)
        else:
            found = query.infer([each.static_shape("an operand") for each in tensors])
        return TupleType(found) if self.several else found[0]


AnyOp: TypeAlias = OpSpec[Any]
Registry: TypeAlias = Mapping[str, AnyOp]
"""Operators by name."""


def registry(*specs: AnyOp) -> Registry:
    """Operators by name; raises a `GraphError` if two have the same name."""
    found: dict[str, AnyOp] = {}
    for spec in specs:
        if found.setdefault(spec.name, spec) is not spec:
            raise GraphError(f"two operators are called {spec.name}")
    return MappingProxyType(found)


def keywords(attributes: Attributes) -> dict[str, Any]:
    """Attributes as a dictionary of keyword arguments."""
    return {each.name: getattr(attributes, each.name) for each in fields(attributes)}


def define_operator(
    function: Callable[..., Any],
    pattern: OpPattern,
    operands: Operands,
    attributes: type[A],
    symbolic: Callable[[TypeQuery, Any], tuple[TensorType, ...]],
    *,
    name: str = "",
    several: bool = False,
    takes_borders: bool = False,
    **traits: Callable[..., Any] | None,
) -> AnyOp:
    """An operator defined by a function; its name is `name`, or else the function's name.

    The function takes tensors by position, the result's name and the attributes by keyword.
    `traits` are fields of `OpSpec`.
    """

    def compute(result: str, tensors: Sequence[Tensor], values: A) -> tuple[Tensor, ...]:
        found = function(*tensors, name=result, **keywords(values))
        return found if several else (found,)

    name = name or function.__name__
    return OpSpec(
        name,
        pattern,
        operands,
        attributes,
        compute,
        symbolic,
        several,
        takes_borders=takes_borders,
        **traits,
    )
