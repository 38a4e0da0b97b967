"""Converters from ONNX operators to values of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from tandem.compiler.frontends.onnx.definitions import Definition
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators import OPERATORS

Convert: TypeAlias = Callable[[Node], Value | tuple[Value, ...]]
"""Converts a node to its results; unused trailing results may be missing."""


@dataclass(frozen=True, slots=True)
class Converter:
    """A supported ONNX operator.

    Attributes
    ----------
    versions
        The supported versions of the operator's definition: the opsets that changed the definition.
        Newer versions are refused.
    limits
        Restrictions of the support, for the documentation.
    takes_stored_floats
        Whether `convert` takes float16 and bfloat16; else operands of these types are converted to
        float32 before, and results are converted back.
    definition
        That of an operator that the `onnx` package does not know.
    """

    operator: str
    versions: tuple[int, ...]
    convert: Convert
    limits: str = ""
    takes_stored_floats: bool = False
    definition: Definition | None = None

    def results(self, node: Node) -> tuple[Value, ...]:
        """The results of a node."""
        found = self.convert(node)
        return found if isinstance(found, tuple) else (found,)


Converters: TypeAlias = Mapping[str, Converter]
"""Converters by the operator's name."""


def by_name(converters: Sequence[Converter]) -> Converters:
    """A table of converters by operator; each operator has one converter."""
    found = {each.operator: each for each in converters}
    assert len(found) == len(converters), "an operator has two converters"
    return MappingProxyType(found)


def direct(operator: str) -> Convert:
    """A conversion to the graph operator, which has the operands and attributes of ONNX's."""
    kind = OPERATORS[operator].attributes
    return lambda node: node.call(operator, *node.inputs, to=node.attributes(kind))
