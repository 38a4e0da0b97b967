"""A builder of networks whose values have known shapes, for generators of random networks."""

from __future__ import annotations

from tandem.compiler.graph import Body, Call, Constant, Function, Let, Param, TensorType, Tuple, Var
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir import FLOAT32


class Drawing:
    """A network under construction: its float32 values by name, with shapes and operators."""

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.lets: list[Let] = []
        self._params: list[str] = []

    def give(self, name: str, *shape: int) -> Var:
        """Add a parameter."""
        self._params.append(name)
        self.shapes[name] = shape
        return Var(name)

    def call(self, operator: str, *args: Var | Constant, to: Attributes = NO_ATTRIBUTES) -> Var:
        """Add an operator and return its result. Raises `GraphError` if the operator refuses it."""
        name = f"v{len(self.lets)}"
        types = [
            TensorType(self.shapes[arg.name], FLOAT32) if isinstance(arg, Var) else arg.type
            for arg in args
        ]
        result = OPERATORS[operator].result(name, types, to)
        assert isinstance(result, TensorType)
        self.shapes[name] = result.static_shape(name)
        self.lets.append(Let(name, Call(OPERATORS[operator], args, to)))
        return Var(name)

    def function(self, *results: Var) -> Function:
        """The constructed function, with one result or several."""
        lets = list(self.lets)
        result = results[0]
        if len(results) > 1:
            lets.append(Let("results", Tuple(results)))
            result = Var("results")
        params = tuple(Param(each, TensorType(self.shapes[each], FLOAT32)) for each in self._params)
        function = Function("main", params, Body(tuple(lets), result))
        verify(function)
        return function
