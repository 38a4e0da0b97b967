"""Verification of graphs: names, scopes, types, and the contents of kernels and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.data_types import check_declarations, data_types_in
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Apply,
    Call,
    Construct,
    Fun,
    Function,
    FunctionKind,
    Global,
    Gradient,
    If,
    Match,
    Partial,
    Tuple,
)
from tandem.compiler.graph.opspec import AnyOp, OpSpec
from tandem.compiler.graph.syntax import is_name
from tandem.compiler.graph.types import Declarations, TensorType, Type
from tandem.compiler.graph.visit import (
    all_lets,
    constants,
    functions,
    names_defined,
    types_written,
)


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
        _data_types(called)
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


def _data_types(called: Iterable[Function]) -> None:
    """Check that the data types of a program are declared, all at one place."""
    whole: Declarations | None = None
    for function in called:
        constructed = (
            let.value.declared
            for let in all_lets(function.body)
            if isinstance(let.value, Construct)
        )
        used = [each for it in types_written(function) for each in data_types_in(it)]
        for declared in (*constructed, *(each.declared for each in used)):
            if declared is None:
                raise GraphError(f"function {function.name} has a data type that is not declared")
            if whole is None:
                check_declarations(declared)
                whole = declared
            if declared != whole:
                raise GraphError(f"function {function.name} has data types of another text")
        for type_ in used:
            assert whole is not None, "found above"
            known = whole.of_type(type_.name)
            if known is None or len(known.params) != len(type_.arguments):
                raise GraphError(f"function {function.name}: {type_} is not declared so")


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
                case Gradient(callee=Global(name=name)):
                    raise GraphError(
                        f"function {function.name}: {let.name} is the gradient of {name}, and "
                        "programs have functions in their place: `expanded` writes them"
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
    if function.elements:
        raise GraphError(
            f"function {function.name}: {', '.join(function.elements)} is open: programs have no "
            "functions of open element types, but copies of them"
        )
    seen: set[str] = set()
    for name in (
        *(each.name for each in function.params),
        *names_defined(function.body),
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
            case (
                If()
                | Match()
                | Construct()
                | Fun()
                | Partial()
                | Gradient()
                | Apply()
                | Call(callee=Function() | Global())
            ):
                raise GraphError(
                    f"kernel {kernel.name}: {let.name} is no operator, no tuple and no part of one"
                )
    for constant in constants(kernel).values():
        if constant.array.size != 1:
            raise GraphError(
                f"kernel {kernel.name} holds a constant {constant.type}: those of one element "
                "are allowed, larger ones have to be parameters"
            )
