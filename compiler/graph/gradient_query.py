"""What the rule of an operator's gradient is asked, and answers (`opspec.OpSpec.gradient`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.terms import Term
from tandem.compiler.graph.types import TensorType, TupleType, Type
from tandem.compiler.ir.dtypes import FLOAT32, DType


@dataclass(frozen=True, slots=True)
class GradientQuery:
    """A call of an operator whose operands' gradients are to be written.

    A gradient of a tensor has the tensor's shape; its element type is `gradient_dtype`'s.

    Attributes
    ----------
    function, node, operator
        The names of the function, of the result and of the operator.
    names, operands
        The operands' names in the operator's specification, and the operands.
    results
        The tensors of the result.
    gradients
        The gradient of each tensor of the result, None for one on which nothing depends; not all
        are None.
    wanted
        Whether an operand's gradient is needed. A rule may give others, which are left out.
    """

    function: str
    node: str
    operator: str
    names: tuple[str, ...]
    operands: tuple[Term, ...]
    results: tuple[Term, ...]
    gradients: tuple[Term | None, ...]
    wanted: tuple[bool, ...]

    @property
    def gradient(self) -> Term:
        """The gradient of the result, of an operator with one."""
        (found,) = self.gradients
        assert found is not None, "not all are None"
        return found

    @property
    def result(self) -> Term:
        """The result, of an operator with one."""
        (found,) = self.results
        return found

    @property
    def data(self) -> Term:
        """The first operand."""
        return self.operands[0]

    def fail(self, reason: str) -> NoReturn:
        """Raise a `GradientError`: there is no gradient."""
        operands = ", ".join(
            f"{name} {term.type}" for name, term in zip(self.names, self.operands, strict=True)
        )
        raise GradientError(
            f"function {self.function}: {self.node} = {self.operator}({operands}) has no gradient: "
            f"{reason}"
        )


Gradients: TypeAlias = Sequence[Term | None]
"""A gradient for each operand, None for one that does not change the result, or is no real number.
"""

GradientRule: TypeAlias = Callable[[GradientQuery, Any], Gradients]
"""Writes the gradients of a call of an operator with attributes."""


def constant_gradient(query: GradientQuery, _: object) -> Gradients:
    """The rule of operators whose results count as constants: `stop_gradient`, and steps, which are
    constant beside where they jump."""
    return [None] * len(query.operands)


def gradient_dtype(dtype: DType) -> DType | None:
    """The element type of gradients of tensors: float32 for 16-bit and 4-bit floats, in which
    nothing is computed; None for integers and bools, which have no gradients."""
    if dtype.is_stored_float:
        return FLOAT32
    return dtype if dtype.is_float else None


def gradient_of_value(type_: Type) -> Type | None:
    """The type of the gradient of a tensor, or of a tuple: of those of its items that have some;
    None if there are none, and of values of data types, whose gradients have types of their own."""
    match type_:
        case TensorType():
            return gradient_type(type_)
        case TupleType(items=items):
            found = (gradient_of_value(each) for each in items)
            some = tuple(each for each in found if each is not None)
            return TupleType(some) if some else None
        case _:
            return None


def gradient_type(type_: TensorType) -> TensorType | None:
    """The type of a tensor's gradients; None if it has none."""
    dtype = gradient_dtype(type_.dtype)
    return None if dtype is None else TensorType(type_.shape, dtype)
