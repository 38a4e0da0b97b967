"""Outputs in the memory of inputs that the caller gives up: weights that a step updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tandem.compiler.driver.call_sequence import CallSequence
from tandem.compiler.errors import BuildError
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.visit import names_of
from tandem.compiler.plan.parts import Invocation
from tandem.runtime.artifact import InPlace


def pairs_given_up(
    function: Function,
    given_up: Mapping[str, str],
    inputs: Sequence[str] | None,
    outputs: Sequence[str],
) -> tuple[tuple[str, int], ...]:
    """The parameters that are given up, each with the number of the result that may lie in its
    memory.

    Parameters
    ----------
    given_up
        Names of inputs by those of outputs.
    inputs, outputs
        The names of the function's parameters and results, in order.

    Raises
    ------
    BuildError
        A name is of no input or output, or an input is given up twice.
    """
    params = [param.name for param in function.params]
    named = params if inputs is None else [*inputs]
    for output, name in given_up.items():
        if output not in outputs or name not in named:
            raise BuildError(f"{function.name}: {name} is given up for {output}, and is not there")
    if len({*given_up.values()}) != len(given_up):
        raise BuildError(f"{function.name}: an input is given up for two outputs")
    return tuple(
        (params[named.index(name)], outputs.index(output)) for output, name in given_up.items()
    )


def results_in_place(network: CallSequence, pairs: Sequence[tuple[str, int]]) -> dict[str, InPlace]:
    """The tensors of results that lie in the memory of parameters, as far as no call reads the
    parameter when its memory is written.

    Parameters
    ----------
    network
        Of a function without control flow.
    pairs
        Parameters that are given up, and the numbers of results.
    """
    found: dict[str, InPlace] = {}
    for param, number in pairs:
        result = network.results[number]
        if not isinstance(result, str) or network.results.count(result) > 1:
            continue
        if result in network.params or param in network.results or param not in network.types:
            continue
        if network.types[result] != network.types[param]:
            continue
        if _is_free(network.invocations, param, result):
            found[result] = InPlace(param)
    return found


def _is_free(calls: Sequence[Invocation], param: str, result: str) -> bool:
    """Whether no call needs a parameter when a result is written over it."""
    (writer,) = (at for at, call in enumerate(calls) if result in call.outputs)
    readers = [at for at, call in enumerate(calls) if param in call.operands]
    if any(at > writer for at in readers):
        return False
    return writer not in readers or _is_elementwise(calls[writer], param)


def _is_elementwise(call: Invocation, param: str) -> bool:
    """Whether a call computes each element from the parameter's element at the same place, and from
    no other of it: then it is read before it is overwritten."""
    kernel = call.kernel
    if len(call.outputs) > 1 or kernel.target:
        return False
    types = infer(kernel)
    shape = getattr(types.get(getattr(kernel.body.result, "name", "")), "shape", None)
    same = {
        own.name
        for own, operand in zip(kernel.params, call.operands, strict=True)
        if operand == param
    }
    for let in kernel.body.lets:
        match let.value:
            case Call(callee=OpSpec(pattern=pattern)) if pattern <= OpPattern.INJECTIVE:
                pass
            case _:
                return False
        if same & names_of(let.value):
            type_ = types[let.name]
            if pattern > OpPattern.BROADCAST or not isinstance(type_, TensorType):
                return False
            if type_.shape != shape:
                return False
            same.add(let.name)
    return isinstance(kernel.body.result, Var)
