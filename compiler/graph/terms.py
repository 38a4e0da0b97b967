"""Terms: values of a graph that is being written, with Python's arithmetic.

Rules that write graphs (`gradient_query`) know operators by name: the writer has the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import DType


class TermWriter(ABC):
    """Writes calls of operators into a graph."""

    @abstractmethod
    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        """The results of an operator, attributes by name; raises a `GraphError` if the operator
        does not take them."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A tensor: a name or a constant, its type, and the writer of what reads it.

    Numbers in arithmetic with terms are scalars of the term's element type.
    """

    value: str | Constant
    type: TensorType
    writer: TermWriter

    def scalar(self, number: float) -> Term:
        """A scalar of the term's element type."""
        return self.constant(np.array(number, self.type.dtype.numpy))

    def constant(self, array: NDArray[Any]) -> Term:
        """A constant, to be used with the term."""
        found = Constant(array)
        return Term(found, found.type, self.writer)

    def with_dtype(self, dtype: DType) -> Term:
        """The term cast to an element type; itself if it has that type."""
        return self if self.type.dtype == dtype else apply("cast", self, to=dtype)

    def __add__(self, other: Term | float) -> Term:
        return apply("add", self, other)

    def __radd__(self, other: float) -> Term:
        return apply("add", self.scalar(other), self)

    def __sub__(self, other: Term | float) -> Term:
        return apply("subtract", self, other)

    def __rsub__(self, other: float) -> Term:
        return apply("subtract", self.scalar(other), self)

    def __mul__(self, other: Term | float) -> Term:
        return apply("multiply", self, other)

    def __rmul__(self, other: float) -> Term:
        return apply("multiply", self.scalar(other), self)

    def __truediv__(self, other: Term | float) -> Term:
        return apply("divide", self, other)

    def __rtruediv__(self, other: float) -> Term:
        return apply("divide", self.scalar(other), self)

    def __neg__(self) -> Term:
        return apply("negative", self)


def apply(operator: str, first: Term, *others: Term | float, **attributes: Any) -> Term:
    """The result of an operator with one result; numbers are scalars of the first term's type."""
    (found,) = apply_several(operator, first, *others, **attributes)
    return found


def apply_several(
    operator: str, first: Term, *others: Term | float, **attributes: Any
) -> tuple[Term, ...]:
    """The results of an operator; numbers are scalars of the first term's type."""
    operands = (each if isinstance(each, Term) else first.scalar(each) for each in others)
    return first.writer.call(operator, (first, *operands), attributes)


def where(condition: Term, chosen: Term | float, otherwise: Term | float) -> Term:
    """`chosen` where the condition holds, else `otherwise`; one of them is a term."""
    sample = chosen if isinstance(chosen, Term) else otherwise
    assert isinstance(sample, Term), "numbers have the type of the other"
    terms = (it if isinstance(it, Term) else sample.scalar(it) for it in (chosen, otherwise))
    return apply("where", condition, *terms)
