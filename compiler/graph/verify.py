"""Whether a graph means anything: names, scopes, types, and what kernels may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.errors import GraphError
from compiler.graph.infer import infer
from compiler.graph.nodes import Call, Function, FunctionKind, If, Tuple
from compiler.graph.opspec import AnyOp, OpSpec
from compiler.graph.syntax import is_name
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import all_lets, constants, functions

__all__ = ["verify"]


def verify(function: Function) -> Mapping[str, Type]:
    """Accept a legal function, with all that it calls; the types of its names. What was found legal
    once is not looked at again.

    Every name is defined once in a function. All functions of a program have names of their own,
    and so have all operators.

    Raises
    ------
    GraphError
        Names the function and the value, what is there and what is allowed.
    """
    if not function.findings.legal:
        called = functions(function)
        _names(called)
        for each in called:
            if not each.findings.well_formed:
                _function(each)
                each.findings.well_formed = True
        infer(function)
        function.findings.legal = True
    return infer(function)


def _names(called: Iterable[Function]) -> None:
    by_name: dict[str, Function] = {}
    operators: dict[str, AnyOp] = {}
    for function in called:
        if not is_name(function.name):
            raise GraphError(f"{function.name!r} is no name for a function")
        if by_name.setdefault(function.name, function) != function:
            raise GraphError(f"two functions are called {function.name}")
        for let in all_lets(function.body):
            match let.value:
                case Call(callee=OpSpec() as spec):
                    if operators.setdefault(spec.name, spec) is not spec:
                        raise GraphError(
                            f"function {function.name}: {let.name} calls another {spec.name}"
                        )


def _function(function: Function) -> None:
    match function.kind:
        case FunctionKind.KERNEL:
            _kernel(function)
        case FunctionKind.STREAM:
            _stream(function)
        case FunctionKind.FUNC:
            pass
    seen: set[str] = set()
    for name in (
        *(it.name for it in function.params),
        *(it.name for it in all_lets(function.body)),
    ):
        if not is_name(name):
            raise GraphError(f"function {function.name}: {name!r} is no name for a value")
        if name in seen:
            raise GraphError(f"function {function.name}: two values are called {name}")
        seen.add(name)


def _stream(stream: Function) -> None:
    """Kernels of its target only."""
    for let in stream.body.lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.KERNEL, target=target)) if (
                target == stream.target
            ):
                pass
            case Tuple():
                pass
            case _:
                raise GraphError(
                    f"stream {stream.name}: {let.name} is no call of a kernel for {stream.target}"
                )


def _kernel(kernel: Function) -> None:
    """Operators on tensors and small constants only: what one piece of code can be made of."""
    for param in kernel.params:
        if not isinstance(param.type, TensorType):
            raise GraphError(
                f"kernel {kernel.name}: parameter {param.name} is {param.type}, and no tensor"
            )
    for let in kernel.body.lets:
        match let.value:
            case If() | Call(callee=Function()):
                raise GraphError(
                    f"kernel {kernel.name}: {let.name} is no operator, no tuple and no part of one"
                )
    for constant in constants(kernel).values():
        if constant.array.size != 1:
            raise GraphError(
                f"kernel {kernel.name} holds a constant {constant.type}: those of one element "
                "are allowed, others have to be parameters"
            )
