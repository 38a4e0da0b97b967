"""The types of a model's inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from onnx import ModelProto, NodeProto, ValueInfoProto

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.bindings import Bindings, StatedShape
from tandem.compiler.frontends.onnx.reading import all_nodes
from tandem.compiler.frontends.onnx.values import DTYPES, Array, type_refusal
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import DType


def input_names(model: ModelProto) -> tuple[str, ...]:
    """The names of a model's inputs, without those that have an initialiser."""
    known = {each.name for each in model.graph.initializer}
    return tuple(each.name for each in model.graph.input if each.name not in known)


def input_types(
    inputs: Sequence[ValueInfoProto],
    stated: Sequence[StatedShape] = (),
    *,
    open_batch_is_one: bool = False,
) -> dict[str, TensorType]:
    """The type of each input; `stated` has numbers for symbolic extents.

    A named extent, or an extent without a value, is a symbol. Extents of the same name share a
    symbol and its number.

    Parameters
    ----------
    open_batch_is_one
        Whether symbols of first extents that are not stated are 1, if they are no other extents.

    Raises
    ------
    FrontendError
        An input is no tensor, or has an unsupported type or unknown rank; stated shapes contradict
        the model or each other.
    """
    names = {each.name for each in inputs}
    if len(names) < len(inputs) or "" in names:
        raise FrontendError("the model is not legal: inputs without a name, or of the same name")
    dtypes = {each.name: _dtype(each) for each in inputs}
    bindings = Bindings()
    shapes = {each.name: bindings.declared(each, stated) for each in inputs}
    for shape in stated:
        if shape.name in names:
            bindings.bind_input(shapes[shape.name], shape)
        elif shape.name in bindings.extent_names:
            bindings.bind_extent(shape)
        else:
            known = ", ".join(shapes) or "none"
            extents = ", ".join(sorted(bindings.extent_names))
            raise FrontendError(
                f"shapes for {shape.name}: the inputs are {known}"
                + (f", and open extents {extents}" if extents else "")
            )
    if open_batch_is_one:
        bindings.bind_batch(shapes.values())
    return {
        name: TensorType(bindings.replaced(shape), dtypes[name]) for name, shape in shapes.items()
    }


def is_switch(array: Array | None) -> bool:
    """Whether an array is a single integer or truth value, as the condition of an `If` is."""
    return array is not None and array.size == 1 and array.dtype.kind in "biu"


def inputs_behind(
    nodes: Iterable[NodeProto], inputs: Collection[str], name: str
) -> tuple[str, ...]:
    """Those of the inputs that determine a value. A shape depends on values only behind operators
    of data-dependent shape."""
    every = list(all_nodes(nodes))
    makers = {made: node for node in every for made in node.output}
    # What a body is given comes from the operands of its node.
    for node in every:
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


def _dtype(info: ValueInfoProto) -> DType:
    """The element type of an input."""
    if not info.type.HasField("tensor_type"):
        raise UnsupportedError(f"input {info.name} is no tensor")
    number = info.type.tensor_type.elem_type
    if number not in DTYPES:
        raise UnsupportedError(f"input {info.name} is {type_refusal(number)}")
    return DTYPES[number]
