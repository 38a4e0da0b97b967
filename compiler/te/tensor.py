"""Tensor expressions: tensors as pure functions of indices.

The vocabulary is that of TVM (Chen et al., OSDI'18, section 4.1) and Halide.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, cast, overload

from tandem.compiler.errors import IRError, TensorError
from tandem.compiler.ir.arithmetic import neutral
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INDEX, DType
from tandem.compiler.ir.expr import (
    Const,
    Expr,
    ExprLike,
    ExprOperators,
    Load,
    Var,
    operand,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
)
from tandem.compiler.ir.visit import subexpressions


class Combiner(Enum):
    """The operation of a reduction."""

    SUM = BinaryOp.ADD
    PRODUCT = BinaryOp.MUL
    MAX = BinaryOp.MAX
    MIN = BinaryOp.MIN
    ALL = BinaryOp.AND
    ANY = BinaryOp.OR

    def identity(self, dtype: DType) -> Const:
        """The identity element: the result of reducing no terms."""
        if self is Combiner.SUM and dtype.is_float:
            return Const(0.0, dtype)
        return neutral(self.value, dtype)


@dataclass(frozen=True, slots=True)
class ReduceAxis(Var):
    """An axis of a reduction, used as an index of its term."""

    extent: int = 0


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of `term` along axes, with `start` as its initial value. A reduction has to be
    the whole result of a `compute`."""

    combiner: Combiner
    term: Expr
    axes: tuple[ReduceAxis, ...]
    start: Const


@dataclass(frozen=True, slots=True)
class Compute:
    """How a tensor's elements are computed: `value` at `axes`; or `start`, combined with `value`
    along `reduce_axes`."""

    axes: tuple[Var, ...]
    value: Expr
    combiner: Combiner | None = None
    reduce_axes: tuple[ReduceAxis, ...] = ()
    start: Const | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tensor(Buffer):
    """A buffer with the computation of its elements, or a placeholder if `source` is None.

    Indexing gives an expression: `A[i, k + 1]`.
    """

    source: Compute | None = field(default=None, repr=False)

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Expr:
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.shape):
            raise TensorError(
                f"{self.name} has {len(self.shape)} dimensions {list(self.shape)}, "
                f"and is indexed with {len(given)}"
            )
        try:
            return Load(self, tuple(operand(each, INDEX) for each in given))
        except IRError as error:
            raise TensorError(f"an index of {self.name}: {error}") from None

    def buffer(self) -> Buffer:
        """This tensor as a plain buffer."""
        return Buffer(self.name, self.shape, self.dtype, self.scope)


def placeholder(
    shape: Sequence[int], dtype: DType, name: str, scope: Scope = Scope.GLOBAL
) -> Tensor:
    """Return an input tensor."""
    return Tensor(_checked(name, "tensor"), tuple(shape), dtype, scope)


def reduce_axis(extent: int, name: str) -> ReduceAxis:
    """Return an axis to reduce along, of extent 1 or more."""
    if extent < 1:
        raise TensorError(f"reduce axis {name} has extent {extent}: there is nothing to reduce")
    return ReduceAxis(_checked(name, "axis"), INDEX, extent)


Element: TypeAlias = ExprOperators | Reduction
"""The value of an element."""
Shape: TypeAlias = Sequence[int]
Names: TypeAlias = Sequence[str] | None


# Type checkers know by these what the parameters of a lambda are.
@overload
def compute(
    shape: Shape, function: Callable[[Var], Element], name: str, axes: Names = None
) -> Tensor: ...
@overload
def compute(
    shape: Shape, function: Callable[[Var, Var], Element], name: str, axes: Names = None
) -> Tensor: ...
@overload
def compute(
    shape: Shape, function: Callable[[Var, Var, Var], Element], name: str, axes: Names = None
) -> Tensor: ...
@overload
def compute(
    shape: Shape, function: Callable[[Var, Var, Var, Var], Element], name: str, axes: Names = None
) -> Tensor: ...
@overload
def compute(
    shape: Shape, function: Callable[..., Element], name: str, axes: Names = None
) -> Tensor: ...
def compute(
    shape: Shape, function: Callable[..., Element], name: str, axes: Names = None
) -> Tensor:
    """Return a tensor whose element at `i, j, ...` is `function(i, j, ...)`.

    Parameters
    ----------
    shape
        Extents, which may be 0.
    function
        Returns an expression of the index variables, or a reduction (`sum`, `max`, ...).
    name
        The stage's name in schedules.
    axes
        The axes' names in schedules; the names of the function's parameters by default.

    Raises
    ------
    TensorError
        If a name is invalid or used twice, a reduction is part of an expression, or an axis is
        unknown.
    """
    names = tuple(axes) if axes is not None else _parameter_names(function, len(shape), name)
    if len(names) != len(shape):
        raise TensorError(f"{name} has {len(shape)} dimensions {list(shape)}, and axes {names}")
    variables = tuple(Var(_checked(each, "axis")) for each in names)
    result = function(*variables)
    if isinstance(result, Reduction):
        source = Compute(variables, result.term, result.combiner, result.axes, result.start)
    elif isinstance(result, ExprOperators):
        source = Compute(variables, cast(Expr, result))
    else:
        raise TensorError(f"{name} is computed as {result!r}, which is no expression")
    _check_axes(name, source)
    return Tensor(_checked(name, "tensor"), tuple(shape), source.value.dtype, source=source)


def _parameter_names(function: Callable[..., object], rank: int, name: str) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return tuple(f"i{number}" for number in range(rank))
    names = tuple(each.name for each in parameters)
    if len(names) != rank:
        raise TensorError(f"{name} has {rank} dimensions; its function takes {len(names)} indices")
    return names


def _check_axes(name: str, source: Compute) -> None:
    known = [each.name for each in (*source.axes, *source.reduce_axes)]
    twice = sorted({each for each in known if known.count(each) > 1})
    if twice:
        raise TensorError(f"{name} has two axes called {', '.join(twice)}")
    for expr in subexpressions(source.value):
        if isinstance(expr, Var) and expr.name not in known:
            raise TensorError(f"{name} uses {expr.name}, which is none of its axes {known}")


def _checked(name: str, what: str) -> str:
    if not name.isidentifier():
        raise TensorError(f"{name!r} is no name for a {what}: letters, digits and _")
    return name
