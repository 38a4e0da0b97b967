"""What a graph computes, value by value.

How one operator or kernel runs is not said here: `Runner` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from numpy.typing import NDArray

from compiler.errors import GraphError
from compiler.graph.binding import bind
from compiler.graph.constant import Constant
from compiler.graph.expressions import tensors
from compiler.graph.infer import signature
from compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    FunctionKind,
    If,
    Tuple,
    TupleGet,
    Value,
)
from compiler.graph.types import TensorType, TupleType, Type
from compiler.graph.verify import verify
from compiler.ir import interpreter
from compiler.ir.dtypes import dtype_of
from compiler.te import Tensor, placeholder
from compiler.te.build import program_of

__all__ = ["Array", "Given", "Runner", "evaluate", "interpret", "run_call"]

Array: TypeAlias = NDArray[Any]
Given: TypeAlias = Array | tuple["Given", ...]
"""An array, or a tuple of such."""

Runner: TypeAlias = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Array]], Sequence[Array]]
"""Arrays for outputs, from outputs, inputs and an array for each input."""


def interpret(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], arrays: Sequence[Array]
) -> Sequence[Array]:
    """The loop language's interpreter as a `Runner`: slow, and right."""
    return interpreter.run(program_of(outputs, inputs), arrays)


def evaluate(function: Function, given: Sequence[Given], run: Runner = interpret) -> Given:
    """The function's result.

    Raises
    ------
    GraphError
        The function is not legal, or what is given does not fit its parameters.
    """
    verify(function)
    types = tuple(map(_type, given))
    wanted = tuple(each.type for each in function.params)
    if bind(wanted, types) is None:
        raise GraphError(
            f"function {function.name} takes {TupleType(wanted)}, and is given {TupleType(types)}"
        )
    return _function(function, given, run)


def run_call(name: str, call: Call, args: Sequence[Given], run: Runner) -> Given:
    """The value of a call called `name`."""
    callee = call.callee
    if isinstance(callee, Function):
        return _function(callee, args, run)
    arrays = [each for each in args if not isinstance(each, tuple)]
    inputs = [
        placeholder(each.shape, dtype_of(each.dtype.name), f"operand_{number}")
        for number, each in enumerate(arrays)
    ]
    found = tuple(run(callee.compute("result", inputs, call.attributes), inputs, arrays))
    return found if callee.several else found[0]


def _type(given: Given) -> Type:
    if isinstance(given, tuple):
        return TupleType(tuple(map(_type, given)))
    return TensorType(given.shape, dtype_of(given.dtype.name))


def _function(function: Function, given: Sequence[Given], run: Runner) -> Given:
    if function.kind in (FunctionKind.FUNC, FunctionKind.STREAM):
        known = dict(zip((each.name for each in function.params), given, strict=True))
        return _body(function.body, known, run)
    arrays = [each for each in given if not isinstance(each, tuple)]
    inputs = [
        placeholder(array.shape, dtype_of(array.dtype.name), param.name)
        for param, array in zip(function.params, arrays, strict=True)
    ]
    found = run(tensors(function, inputs), inputs, arrays)
    return _like(signature(function).result, iter(found))


def _like(type_: Type, arrays: Iterator[Array]) -> Given:
    match type_:
        case TensorType():
            return next(arrays)
        case TupleType(items=items):
            return tuple(_like(each, arrays) for each in items)
        case _:
            assert_never(type_)


def _body(body: Body, around: Mapping[str, Given], run: Runner) -> Given:
    known = dict(around)
    for let in body.lets:
        known[let.name] = _value(let.name, let.value, known, run)
    return _atom(body.result, known)


def _atom(atom: Atom, known: Mapping[str, Given]) -> Given:
    return atom.array if isinstance(atom, Constant) else known[atom.name]


def _value(name: str, value: Value, known: Mapping[str, Given], run: Runner) -> Given:
    match value:
        case Call(args=args):
            return run_call(name, value, [_atom(each, known) for each in args], run)
        case Tuple(items=items):
            return tuple(_atom(each, known) for each in items)
        case TupleGet(operand=operand, index=index):
            whole = known[operand.name]
            assert isinstance(whole, tuple), "verified"
            return whole[index]
        case If(condition=condition, then=then, otherwise=otherwise):
            holds = _atom(condition, known)
            assert not isinstance(holds, tuple), "verified"
            return _body(then if holds else otherwise, known, run)
        case _:
            assert_never(value)
