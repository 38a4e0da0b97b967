"""Converters from operators of ONNX to values of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.values import Value
from compiler.graph.operators import OPERATORS

Convert: TypeAlias = Callable[[Node], Value | tuple[Value, ...]]
"""From a node to its results; unused results at the end may be missing."""


@dataclass(frozen=True, slots=True)
class Converter:
    """A supported operator of ONNX.

    Attributes
    ----------
    versions
        The supported versions of its definition: the opsets that changed it. Newer ones are
        refused.
    limits
        Restrictions, for the documentation.
    """

    operator: str
    versions: tuple[int, ...]
    convert: Convert
    limits: str = ""


Converters: TypeAlias = Mapping[str, Converter]
"""Converters by the operator's name."""


def by_name(converters: Sequence[Converter]) -> Converters:
    """A table of converters, one an operator."""
    found = {each.operator: each for each in converters}
    assert len(found) == len(converters), "an operator has two converters"
    return MappingProxyType(found)


def direct(operator: str) -> Convert:
    """Convert to an operator of the graph with the same operands and attributes as ONNX's."""
    kind = OPERATORS[operator].attributes
    return lambda node: node.call(operator, *node.inputs, to=node.attributes(kind))
