"""The types of a model's inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from onnx import GraphProto, ModelProto, ValueInfoProto

from compiler.errors import FrontendError, UnsupportedError
from compiler.frontends.onnx.builder import legal_name
from compiler.frontends.onnx.reading import all_graphs
from compiler.frontends.onnx.values import DTYPES, type_refusal
from compiler.graph.extents import Dim, Extent
from compiler.graph.syntax import unique_name
from compiler.graph.types import TensorType


def input_names(model: ModelProto) -> tuple[str, ...]:
    """The names of a model's inputs, without those that have an initialiser."""
    known = {each.name for each in model.graph.initializer}
    return tuple(each.name for each in model.graph.input if each.name not in known)


def input_types(
    inputs: Sequence[ValueInfoProto], shapes: Mapping[str, Sequence[int]]
) -> dict[str, TensorType]:
    """The type of each input; `shapes` has numbers for symbolic extents.

    A named extent, or an extent without a value, is a symbol. Extents of the same name share a
    symbol and its number.

    Raises
    ------
    FrontendError
        An input is no tensor, or has an unsupported type or unknown rank; `shapes` contradict the
        model or each other.
    """
    unknown = shapes.keys() - {each.name for each in inputs}
    if unknown:
        known = ", ".join(each.name for each in inputs) or "none"
        raise FrontendError(f"shapes for {', '.join(sorted(unknown))}: the inputs are {known}")
    symbols = _Symbols()
    declared = {each.name: _declared(each, shapes.get(each.name), symbols) for each in inputs}
    for name, asked in shapes.items():
        symbols.bind(name, declared[name].shape, asked)
    return {
        name: TensorType(symbols.replaced(type_.shape), type_.dtype)
        for name, type_ in declared.items()
    }


def inputs_behind(graph: GraphProto, inputs: Collection[str], name: str) -> tuple[str, ...]:
    """Those of the inputs that determine a value. A shape depends on values only behind operators
    of data-dependent shape."""
    graphs = list(all_graphs(graph))
    makers = {made: node for each in graphs for node in each.node for made in node.output}
    # What a body is given comes from the operands of its node.
    for node in (node for each in graphs for node in each.node):
        for attribute in node.attribute:
            makers |= dict.fromkeys(_names(attribute.g.input), node)
    seen: set[tuple[str, bool]] = set()
    left = [(name, True)]
    while left:
        value, by_value = left.pop()
        if (value, by_value) in seen:
            continue
        seen.add((value, by_value))
        if value in makers:
            maker = makers[value]
            by_value &= maker.op_type not in ("Shape", "Size")
            by_value |= maker.op_type in _COUNTING
            left += ((each, by_value) for each in maker.input)
            for attribute in maker.attribute:
                left += ((each, by_value) for each in _names(attribute.g.output))
    return tuple(each for each in inputs if (each, True) in seen)


_COUNTING: Final = frozenset({"Compress", "Loop", "NonMaxSuppression", "NonZero", "TopK", "Unique"})
"""Operators whose results have shapes that depend on values."""


def _names(infos: Iterable[ValueInfoProto]) -> list[str]:
    return [info.name for info in infos]


class _Symbols:
    """The symbols for a model's named and unnamed extents."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def of(self, name: str) -> Dim:
        """The symbol of the extents named `name`."""
        if name not in self._names:
            self._names[name] = unique_name(legal_name(name), self._taken)
        return Dim((self._names[name],))

    def new(self, stem: str) -> Dim:
        """A new symbol for an unnamed extent."""
        return Dim((unique_name(legal_name(stem), self._taken),))

    def bind(self, name: str, shape: Sequence[Extent], asked: Sequence[int]) -> None:
        """Bind the symbols in the shape of an input to numbers."""
        for extent, number in zip(shape, asked, strict=True):
            known = self._numbers.setdefault(str(extent), number) if number > 0 else None
            if (known if isinstance(extent, Dim) else extent) != number:
                said = ", ".join(map(str, self.replaced(shape)))
                raise FrontendError(f"input {name} is [{said}], and cannot be {list(asked)}")

    def replaced(self, shape: Sequence[Extent]) -> tuple[Extent, ...]:
        """The shape with numbers for bound symbols."""
        return tuple(
            self._numbers.get(str(extent), extent) if isinstance(extent, Dim) else extent
            for extent in shape
        )


def _declared(info: ValueInfoProto, asked: Sequence[int] | None, symbols: _Symbols) -> TensorType:
    if not info.type.HasField("tensor_type"):
        raise UnsupportedError(f"input {info.name} is no tensor")
    tensor = info.type.tensor_type
    if tensor.elem_type not in DTYPES:
        raise UnsupportedError(f"input {info.name} is {type_refusal(tensor.elem_type)}")
    dtype = DTYPES[tensor.elem_type]
    if not tensor.HasField("shape"):
        if asked is None or any(each < 0 for each in asked):
            raise FrontendError(f"input {info.name} has no shape: give one")
        return TensorType(tuple(asked), dtype)
    shape: list[Extent] = []
    for axis, dim in enumerate(tensor.shape.dim):
        if dim.HasField("dim_value"):
            if dim.dim_value < 0:
                raise FrontendError(f"axis {axis} of input {info.name} has extent {dim.dim_value}")
            shape.append(dim.dim_value)
        elif dim.dim_param:
            shape.append(symbols.of(dim.dim_param))
        else:
            shape.append(symbols.new(f"{info.name}_{axis}"))
    if asked is not None and len(asked) != len(shape):
        said = ", ".join(map(str, shape))
        raise FrontendError(f"input {info.name} is [{said}], and cannot be {list(asked)}")
    return TensorType(tuple(shape), dtype)
