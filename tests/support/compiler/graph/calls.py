"""Single calls of operators, as text: their types, their values, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import NestedArray, evaluate
from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.terms import Term, TermWriter
from tests.support.compiler.operators.operators import Array


def type_of(params: str, call: str) -> str:
    """The type of a call's result, as `float32[N, 3]`."""
    program = f"func @f({params}):\n  y = {call}\n  return y"
    return str(infer(parse_function(program, OPERATORS))["y"])


def refused(params: str, call: str, message: str) -> None:
    """Assert that a call is refused, with a message that begins with the node and the operator."""
    operator = call.partition("(")[0]
    with pytest.raises(GraphError, match=rf"^function f: y = {operator}\(...\): {message}"):
        type_of(params, call)


def value(params: str, call: str, *arrays: Array) -> NestedArray:
    """What a call gives."""
    program = f"func @f({params}):\n  y = {call}\n  return y"
    return evaluate(parse_function(program, OPERATORS), list(arrays))


def gradients(params: str, call: str, *arrays: Array, result: str | None = None) -> Sequence[Array]:
    """The gradients of all parameters, of a sum of the result's elements by weights 1, 2, 3, ...

    Parameters
    ----------
    result
        What of the call's result is weighed: `y[0]`, for operators with several.
    """
    wanted = type_of(params, call)
    lines = [f"  y = {call}"]
    name = "y"
    if result is not None:
        lines.append(f"  part = {result}")
        name = "part"
        program = f"func @f({params}):\n" + "\n".join(lines) + "\n  return part"
        wanted = str(infer(parse_function(program, OPERATORS))["part"])
    dtype = wanted.partition("[")[0]
    lines += [
        f"  whole = multiply({name}, weights)",
        "  loss = reduce_sum(whole, keepdims=False)",
        "  return loss",
    ]
    program = f"func @f({params}, weights: {wanted}) -> {dtype}[]:\n" + "\n".join(lines)
    function = parse_function(program, OPERATORS)
    shape = [int(each) for each in wanted.partition("[")[2].rstrip("]").split(",") if each.strip()]
    weights = np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(dtype)
    found = evaluate(value_and_grad(function), [*arrays, weights])
    assert isinstance(found, tuple)
    _, every = found
    assert isinstance(every, tuple)
    return [np.asarray(each) for each in every[:-1]]


class Computed(TermWriter):
    """Computes what is written, whose terms are constants; keeps the names of the operators."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def constant(self, array: Array) -> Term:
        """An array as a term."""
        found = Constant(np.asarray(array, order="C"))
        return Term(found, found.type, self)

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        """The result of the operator."""
        self.names.append(operator)
        params = ", ".join(f"x{at}: {each.type}" for at, each in enumerate(operands))
        shown = [f"{key}={list(v) if isinstance(v, tuple) else v}" for key, v in attributes.items()]
        call = f"{operator}({', '.join([*(f'x{n}' for n in range(len(operands))), *shown])})"
        return (self.constant(np.asarray(value(params, call, *map(array_of, operands)))),)


def array_of(term: Term) -> Array:
    """What a term of `Computed` is."""
    assert isinstance(term.value, Constant)
    return term.value.array
