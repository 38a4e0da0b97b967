"""Nodes of ONNX's operators converted alone: results, and the calls of the graph that make them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from onnx import helper

from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.converter import Converters, by_name
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.extents import Extent
from tandem.compiler.graph.nodes import Call, Var
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32, DType


class Converted:
    """A body that nodes are converted to.

    Parameters
    ----------
    converters
        Those that the nodes may have.
    """

    def __init__(self, converters: Collection[Any]) -> None:
        self._converters: Converters = by_name(tuple(converters))
        self.builder = Builder(set())

    def value(self, *shape: Extent, dtype: DType = FLOAT32) -> Value:
        """An input of the model."""
        type_ = TensorType(shape, dtype)
        return Value(type_, Var(self.builder.param("x", type_).name))

    def node(
        self,
        operator: str,
        opset: int,
        *operands: Value | Array | None,
        outputs: int = 1,
        used: int = 1,
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """The results of a node, the first `used` of which are used; arrays are constants."""
        domain, _, name = operator.rpartition(".")
        made = [f"y{at}" for at in range(outputs)]
        given = [
            operand if operand is None or isinstance(operand, Value) else constant(operand)
            for operand in operands
        ]
        names = ["" if operand is None else f"in{at}" for at, operand in enumerate(given)]
        proto = helper.make_node(name, names, made, name="n", domain=domain, **attributes)
        definition = standard(name, opset, domain)
        assert definition is not None, "an operator of ONNX"
        node = Node(proto, definition, given, {*made[:used]}, self.builder)
        return self._converters[operator].results(node)

    @property
    def calls(self) -> list[tuple[str, tuple[Any, ...], Attributes]]:
        """The calls so far: operators, the names or arrays of operands, attributes."""
        found = []
        for let in self.builder.body("it", Var("x")).lets:
            if isinstance(let.value, Call):
                args = tuple(
                    arg.name if isinstance(arg, Var) else arg.array for arg in let.value.args
                )
                found.append((let.value.callee.name, args, let.value.attributes))
        return found

    @property
    def operators(self) -> list[str]:
        """The names of what is called, in order."""
        return [name for name, _, _ in self.calls]
