"""Verification of graphs: names, scopes, types, and the contents of kernels and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Apply,
    Call,
    Fun,
    Function,
    FunctionKind,
    Global,
    If,
    Partial,
    Tuple,
)
from tandem.compiler.graph.opspec import AnyOp, OpSpec
from tandem.compiler.graph.syntax import is_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import all_lets, constants, functions, local_params


def verify(function: Function) -> Mapping[str, Type]:
    """Verifies a function and its callees, each once; returns the types of the function's names.

    Within a function every name is defined once. Within a program all functions have distinct
    names, as have all operators.

    Raises
    ------
    GraphError
        The function is not legal; the message names the function, the value and the rule.
    """
    if not function.analyses.legal:
        called = functions(function)
        _names(called)
        _calls_by_name(function, called)
        for callee in called:
            if not callee.analyses.well_formed:
                _function(callee)
                callee.analyses.well_formed = True
        infer(function)
        function.analyses.legal = True
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


def _calls_by_name(program: Function, called: Iterable[Function]) -> None:
    """Check that definitions are functions of declared types, and calls by name of these types."""
    named = program.named
    defined = {program.name}
    for definition in program.definitions:
        name = definition.name
        if name in defined:
            raise GraphError(f"function {name} is defined twice")
        defined.add(name)
        if definition.kind is not FunctionKind.FUNC or definition.definitions:
            raise GraphError(f"{name} is defined for calls by name, and is no plain function")
        if definition.result is None:
            raise GraphError(f"function {name} is called by name, and declares no result")
    for function in called:
        for let in all_lets(function.body):
            match let.value:
                case Call(callee=Function(name=name)) if name in named:
                    raise GraphError(
                        f"function {function.name}: {let.name} calls {name} as a value, which is "
                        "called by name"
                    )
                case (
                    Call(callee=Global(name=name, type=type_))
                    | Partial(callee=Global(name=name, type=type_))
                ):
                    verb = "calls" if isinstance(let.value, Call) else "takes"
                    if function.name not in named:
                        raise GraphError(
                            f"function {function.name}: {let.name} {verb} {name} by name, which a "
                            "function that is called as a value may not do"
                        )
                    if name not in named:
                        raise GraphError(
                            f"function {function.name}: {let.name} {verb} {name}, which is not "
                            "defined"
                        )
                    if named[name].type != type_:
                        raise GraphError(
                            f"function {function.name}: {let.name} {verb} {name} as {type_}, which "
                            f"is {named[name].type or 'declared without a result'}"
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
        *(each.name for each in function.params),
        *(each.name for each in all_lets(function.body)),
        *(each.name for each in local_params(function.body)),
    ):
        if not is_name(name):
            raise GraphError(f"function {function.name}: {name!r} is no name for a value")
        if name in seen:
            raise GraphError(f"function {function.name}: two values are called {name}")
        seen.add(name)


def _stream(stream: Function) -> None:
    """Check that a stream contains only tuples, views and calls of kernels for its target."""
    for let in stream.body.lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.KERNEL, target=target)) if (
                target == stream.target
            ):
                pass
            case Tuple() | Call(callee=OpSpec(name="view")):
                pass
            case _:
                raise GraphError(
                    f"stream {stream.name}: {let.name} is no call of a kernel for {stream.target}"
                )


def _kernel(kernel: Function) -> None:
    """Check that a kernel takes tensors and has only operators, tuples, one-element constants."""
    for param in kernel.params:
        if not isinstance(param.type, TensorType):
            raise GraphError(
                f"kernel {kernel.name}: parameter {param.name} is {param.type}, and no tensor"
            )
    for let in kernel.body.lets:
        match let.value:
            case If() | Fun() | Partial() | Apply() | Call(callee=Function() | Global()):
                raise GraphError(
                    f"kernel {kernel.name}: {let.name} is no operator, no tuple and no part of one"
                )
    for constant in constants(kernel).values():
        if constant.array.size != 1:
            raise GraphError(
                f"kernel {kernel.name} holds a constant {constant.type}: those of one element "
                "are allowed, larger ones have to be parameters"
            )
