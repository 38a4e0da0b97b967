"""The layers of a quantised network: its parts between values that the real network has, too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tandem.compiler.graph.nodes import Body, Call, Function, If, Let, Param, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import atoms
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.rules import DATA_MOVEMENT

_PLUMBING = ("cast", "dequantise", "identity", "quantise", "requantise", "widen")
_EXACT = {*DATA_MOVEMENT, "dequantise", "identity"}
"""Operators that round nothing."""


@dataclass(frozen=True, slots=True)
class QuantisedLayer:
    """A part of a quantised network that computes on int8 operands, or rounds to int8.

    Its operands and its result stand for values of the real network, and no value between them
    does.

    Attributes
    ----------
    name
        The value of the real network that the result stands for.
    tensor
        The result in the quantised network.
    source
        The name of the result in reports.
    operators
        The layer's operators; those that only change types if there are no others. Of a layer that
        only rounds: the operator whose result it rounds, and those.
    function
        From the operands to the result, int8 or real.
    real
        The same part of the real network.
    inputs
        The values of the real network that the parameters stand for, and their scales; None for
        a parameter that is not int8.
    scale
        Scale of the result; None if it is not int8.
    """

    name: str
    tensor: str
    source: str
    operators: tuple[str, ...]
    function: Function
    real: Function
    inputs: tuple[tuple[str, Scale | None], ...]
    scale: Scale | None

    @property
    def only_rounds(self) -> bool:
        """Whether the layer rounds a value to int8 and computes nothing else."""
        return not self.real.body.lets


def layers(network: Quantised) -> Iterator[QuantisedLayer]:
    """The layers, in order.

    Layers in branches, in loops and in functions that the network calls are left out, and those
    that contain such; and parts that only move int8 elements.
    """
    types, real_types = verify(network.function), verify(network.real)
    lets = {each.name: each for each in network.function.body.lets}
    real_lets = {each.name: each for each in network.real.body.lets}
    both = _in_both(types, real_types) - set(network.scales)
    for end, let in lets.items():
        name, scale = network.scales.get(end, (end, None))
        if name not in real_types or (
            scale is None and not (end in both and _is_float(types[end]))
        ):
            continue
        own, found = _back(end, lets, both | set(network.scales))
        inputs = tuple(network.scales.get(each, (each, None)) for each in found)
        if scale is None and all(of is None for _, of in inputs):
            continue  # in real numbers alone
        operators = [_operator(each) for each in own]
        given = [of for of, _ in inputs]
        # A layer that only rounds a value has that value as its input.
        part, read = ([], [name]) if name in given else _back(name, real_lets, given)
        if None in (*operators, *map(_operator, part)) or _EXACT.issuperset(operators):
            continue
        function = _function(own, found, types, end)
        real = _function(part, read, real_types, name)
        shown = _shown(operators)
        if not part and name in real_lets and (rounded := _operator(real_lets[name])):
            shown = (rounded, *shown)
        yield QuantisedLayer(name, end, let.source, shown, function, real, inputs, scale)


def _function(
    lets: list[Let], params: list[str], types: Mapping[str, Type], result: str
) -> Function:
    taken = tuple(Param(each, types[each]) for each in params)
    return Function("layer", taken, Body(tuple(lets), Var(result)))


def _in_both(types: Mapping[str, Type], real: Mapping[str, Type]) -> set[str]:
    """The values that both networks have, by name and type."""
    return {name for name, type_ in types.items() if real.get(name) == type_}


def _is_float(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_float


def _back(end: str, lets: Mapping[str, Let], ends: Collection[str]) -> tuple[list[Let], list[str]]:
    """The operators between a value and the nearest values `ends` before it, and these values."""
    own: set[str] = set()
    inputs: dict[str, None] = {}
    waiting = [end]
    while waiting:
        name = waiting.pop()
        if name in own:
            continue
        if name not in lets or (name in ends and name != end):
            inputs[name] = None
            continue
        own.add(name)
        waiting += [each.name for each in atoms(lets[name].value) if isinstance(each, Var)]
    return [each for name, each in lets.items() if name in own], list(inputs)


def _operator(let: Let) -> str | None:
    """The operator's name; "" for a tuple's item, None for a branch or a call of a function."""
    match let.value:
        case Call(callee=OpSpec(name=name)):
            return name
        case Call() | If():
            return None
        case _:
            return ""


def _shown(operators: list[str | None]) -> tuple[str, ...]:
    """The operators to name: without plumbing if there are others."""
    named = [each for each in operators if each]
    return tuple(each for each in named if each not in _PLUMBING) or tuple(named)
