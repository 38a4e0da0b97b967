"""Models to compile: networks that were read, with their inputs, outputs and operators."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from tandem.api.model_products import products_of
from tandem.api.ports import listed, port_table
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.nodes import Call, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, TupleType
from tandem.compiler.graph.visit import functions
from tandem.workbench.models import ModelOptions, ReadModel, Source
from tandem.workbench.table import Column, Table

_OPERATORS = (
    Column("operator", str, "the kind of operator, as the compiler names it"),
    Column("count", int, "how many there are, in all branches and functions"),
)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Model:
    """A network that was read, and is not compiled yet.

    Attributes
    ----------
    read
        The ONNX model, with its name.
    options
        How it was read: the shapes of inputs that the model leaves open.
    source
        The model as a graph.
    named
        The name or path by which other processes can read it; None for a model in memory.
    """

    read: ReadModel
    options: ModelOptions
    source: Source
    named: str | None

    @property
    def name(self) -> str:
        """The name of a built-in model, or of the file."""
        return self.read.name

    @property
    def inputs(self) -> Table:
        """The inputs of a run: names, types and shapes."""
        inputs = self.source.inputs
        return port_table((tensor.name, tensor.dtype, tensor.shape) for tensor in inputs)

    @property
    def outputs(self) -> Table:
        """The outputs of a run: names, types and shapes; the greatest ones where they depend on
        inputs."""
        imported = self.source.imported
        result, types = imported.function.body.result, infer(imported.function)
        found = types[result.name] if isinstance(result, Var) else result_of(imported.function)
        parts = found.items if isinstance(found, TupleType) else (found,)
        return port_table(
            (name, part.dtype.numpy.name, part.shape)
            for name, part in zip(imported.outputs, parts, strict=False)
            if isinstance(part, TensorType)
        )

    @property
    def operators(self) -> Table:
        """The operators by kind, the most frequent first."""
        counts = Counter(
            let.value.callee.name
            for function in functions(self.source.imported.function)
            for let in function.body.lets
            if isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
        )
        return Table(_OPERATORS, tuple(counts.most_common()))

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a run; those within branches and loops do not count."""
        return products_of(self.source.imported.function)

    @property
    def parameters(self) -> int:
        """The number of the model's weights: the elements of its initialisers."""
        return sum(prod(tensor.dims) for tensor in self.read.proto.graph.initializer)

    def __repr__(self) -> str:
        counts = [f"{row['operator']} {row['count']}" for row in self.operators]
        more = f", and {len(counts) - 8} more kinds" if len(counts) > 8 else ""
        return (
            f"{self.name}\n"
            f"  inputs      {listed(self.inputs)}\n"
            f"  outputs     {listed(self.outputs)}\n"
            f"  operators   {', '.join(counts[:8])}{more}\n"
            f"  products    {self.macs:,}\n"
            f"  parameters  {self.parameters:,}"
        )
