"""How an operator of ONNX becomes part of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.values import Value
from compiler.graph.operators import OPERATORS

__all__ = ["Convert", "Converter", "Converters", "by_name", "direct"]

Convert: TypeAlias = Callable[[Node], Value | tuple[Value, ...]]
"""From a node to its results; those that nobody uses may be missing at the end."""


@dataclass(frozen=True, slots=True)
class Converter:
    """An operator of ONNX that is supported.

    Attributes
    ----------
    versions
        Of its definition, by the opset in which it was changed. No other is taken: what a later
        one changes is not known.
    limits
        What of it is not supported, for the documentation.
    """

    operator: str
    versions: tuple[int, ...]
    convert: Convert
    limits: str = ""


Converters: TypeAlias = Mapping[str, Converter]
"""By the operator's name."""


def by_name(converters: Sequence[Converter]) -> Converters:
    """A table; each operator is in it once."""
    found = {each.operator: each for each in converters}
    assert len(found) == len(converters), "an operator has two converters"
    return MappingProxyType(found)


def direct(operator: str) -> Convert:
    """To an operator of the graph that has ONNX's operands and names of attributes."""
    kind = OPERATORS[operator].attributes
    return lambda node: node.call(operator, *node.inputs, to=node.attributes(kind))
