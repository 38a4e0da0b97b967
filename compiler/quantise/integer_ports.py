"""Networks that take and give the integers of their first and last layers, not real numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Param, Tuple, Var
from tandem.compiler.graph.operators.quantised import Dequantise, Quantise
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.visit import names_of, substitute
from tandem.runtime.artifact import AxisScale, Scale

PortScale = Scale | AxisScale
"""One scale of a tensor, or one for each index of an axis."""


@dataclass(frozen=True, slots=True)
class IntegerPorts:
    """A function whose ports are integers where they can be.

    Attributes
    ----------
    inputs, results
        The scales of parameters and results; None of one that stays as it was.
    """

    function: Function
    inputs: tuple[PortScale | None, ...]
    results: tuple[PortScale | None, ...]


def integer_ports(function: Function) -> IntegerPorts:
    """The quantised function without the quantisation of its parameters and the dequantisation of
    its results.

    A parameter stays real that anything else than one `quantise` reads; a result, that anything
    else than `dequantise` computes.

    Raises
    ------
    QuantisationError
        There is nothing to take away: says what reads each parameter and computes each result.
    """
    taken = [_quantised(function, param) for param in function.params]
    params, names = [], dict[str, Atom]()
    for param, first in zip(function.params, taken, strict=True):
        if first is not None:
            assert isinstance(param.type, TensorType), "it is quantised"
            param = replace(param, type=replace(param.type, dtype=first.attributes.to))
            names |= dict.fromkeys(first.lets, Var(param.name))
        params.append(param)
    lets = {let.name: let for let in function.body.lets}
    atoms = _results(function.body, lets)
    last = [_dequantised(atom, lets) for atom in atoms]
    results = [
        atom if call is None else call.args[0] for atom, call in zip(atoms, last, strict=True)
    ]
    inputs = tuple(None if each is None else each.scale for each in taken)
    scales = tuple(None if call is None else _scale(call) for call in last)
    if not any((*inputs, *scales)):
        raise QuantisationError(f"no port can be an integer: {'; '.join(_reasons(function))}")
    body = Body(
        tuple(let for let in function.body.lets if let.name not in names), function.body.result
    )
    body = substitute(_with_results(body, results), names)
    changed = replace(function, params=tuple(params), body=body, result=None)
    return IntegerPorts(transform(changed, (EliminateDead(),)), inputs, scales)


@dataclass(frozen=True, slots=True)
class _Quantised:
    """The values that are a parameter, quantised."""

    lets: tuple[str, ...]
    attributes: Quantise
    scale: PortScale


def _quantised(function: Function, param: Param) -> _Quantised | None:
    readers = [let for let in function.body.lets if param.name in names_of(let.value)]
    if any(atom == Var(param.name) for atom in _results(function.body, {})):
        return None
    calls = [_call(let, "quantise") for let in readers]
    first = next(iter(calls), None)
    # Of one kind: the same numbers, of which each is a constant.
    if first is None or any(call is None or call != first for call in calls):
        return None
    assert isinstance(first.attributes, Quantise), "as its operator has"
    return _Quantised(tuple(let.name for let in readers), first.attributes, _scale(first))


def _dequantised(atom: Atom, lets: Mapping[str, Let]) -> Call | None:
    """The `dequantise` of a value that is a result."""
    let = lets.get(atom.name) if isinstance(atom, Var) else None
    return None if let is None else _call(let, "dequantise")


def _call(let: Let, operator: str) -> Call | None:
    """A value's call of an operator with a variable and constants."""
    match let.value:
        case Call(callee=OpSpec(name=name), args=(Var(), Constant(), Constant())) as call if (
            name == operator
        ):
            return call
        case _:
            return None


def _scale(call: Call) -> PortScale:
    _, steps, zeros = call.args
    assert isinstance(steps, Constant), "checked"
    assert isinstance(zeros, Constant), "checked"
    size = max(steps.array.size, zeros.array.size)
    if size == 1:
        return Scale(float(steps.array.item()), int(zeros.array.item()))
    assert isinstance(call.attributes, Quantise | Dequantise), "as their operators have"
    spread = (np.broadcast_to(each.array.ravel(), size).tolist() for each in (steps, zeros))
    return AxisScale(call.attributes.axis, *map(tuple, spread))


def _results(body: Body, lets: Mapping[str, Let]) -> tuple[Atom, ...]:
    """The results of a function: of a tuple, its items."""
    result = body.result
    found = None if isinstance(result, Constant) else lets.get(result.name)
    value = None if found is None else found.value
    return value.items if isinstance(value, Tuple) else (result,)


def _with_results(body: Body, results: Sequence[Atom]) -> Body:
    """The body with other results."""
    if isinstance(body.result, Var):
        for at, let in enumerate(body.lets):
            if let.name == body.result.name and isinstance(let.value, Tuple):
                changed = replace(let, value=Tuple(tuple(results)), type=None)
                return Body((*body.lets[:at], changed, *body.lets[at + 1 :]), body.result)
    (result,) = results
    return Body(body.lets, result)


def _reasons(function: Function) -> list[str]:
    """What reads the parameters, and what computes the results."""
    lets = {let.name: let for let in function.body.lets}
    found = []
    for param in function.params:
        readers = [let.operator for let in lets.values() if param.name in names_of(let.value)]
        found.append(f"{param.name} is {param.type}, read by {', '.join(readers) or 'nothing'}")
    for atom in _results(function.body, lets):
        let = lets.get(atom.name) if isinstance(atom, Var) else None
        if let is not None:
            found.append(f"{let.name} is computed by {let.operator}")
    return found
