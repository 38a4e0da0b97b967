"""ONNX models of one operator with small damages, determined by a generator of random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs, helper

_TYPES = (
    *(TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8),
    *(TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.STRING, TensorProto.INT32),
)
_WORDS = (
    "",
    "linear",
    "constant",
    "reflect",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "sum",
    "forward",
)


def damaged_model(rng: Random, whole: ModelProto) -> tuple[str, ModelProto]:
    """What was changed, and the model with it: of an attribute, an operand, a type or a version."""
    model = ModelProto()
    model.CopyFrom(whole)
    node = rng.choice(model.graph.node)
    inputs, attributes = list(model.graph.input), list(node.attribute)
    match rng.randint(0, 14):
        case 0 | 1 | 2 | 3 if attributes:
            return _attribute(rng, node, rng.choice(attributes)), model
        case 12 | 13 | 14:
            return _new_attribute(rng, node), model
        case 4 | 5 | 6 if inputs:
            return _shape(rng, rng.choice(inputs)), model
        case 8 if inputs:
            value = rng.choice(inputs)
            value.type.tensor_type.elem_type = rng.choice(_TYPES)
            return f"type of {value.name} is {value.type.tensor_type.elem_type}", model
        case 7 if len(node.input) > 1:
            at = rng.randrange(1, len(node.input))
            node.input[at] = ""
            return f"without operand {at}", model
        case 9 if len(node.input) > 1:
            first, second = rng.sample(range(len(node.input)), 2)
            node.input[first], node.input[second] = node.input[second], node.input[first]
            return f"operands {first} and {second} swapped", model
        case 10 if attributes:
            gone = rng.choice(attributes)
            node.attribute.remove(gone)
            return f"without {gone.name}", model
        case _:
            version = rng.choice((1, 7, 9, 11, 13, 16, 18, 21, 24))
            model.opset_import[0].version = version
            return f"opset {version}", model


def _attribute(rng: Random, node: NodeProto, attribute: AttributeProto) -> str:
    name = attribute.name
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = rng.choice((attribute.i + 1, attribute.i - 1, 0, 1, 5, -7, 2**40))
            return f"{name} is {attribute.i}"
        case AttributeProto.INTS:
            numbers = list(attribute.ints)
            if not numbers or rng.random() < 0.3:
                numbers = numbers[1:] if rng.random() < 0.5 else [*numbers, 1]
            else:
                at = rng.randrange(len(numbers))
                numbers[at] = rng.choice((numbers[at] + 1, numbers[at] - 1, 0, 3, -1, 2**33))
            del attribute.ints[:]
            attribute.ints.extend(numbers)
            return f"{name} is {numbers}"
        case AttributeProto.FLOAT:
            attribute.f = rng.choice((0.0, -1.0, 2.5, float("inf"), float("nan"), attribute.f / 2))
            return f"{name} is {attribute.f}"
        case AttributeProto.STRING:
            attribute.s = rng.choice((*_WORDS, attribute.s.decode() + "x")).encode()
            return f"{name} is {attribute.s.decode()!r}"
        case _:
            attribute.name = f"{name}s"
            node.attribute.sort(key=attrgetter("name"))
            return f"{name} renamed"


def _new_attribute(rng: Random, node: NodeProto) -> str:
    """Add one that the operator may have today, and which the node leaves out."""
    if not defs.has(node.op_type, node.domain):
        return "nothing"
    schema = defs.get_schema(node.op_type, node.domain)
    given = {each.name for each in node.attribute}
    kinds = defs.OpSchema.AttrType
    possible = (kinds.INT, kinds.INTS, kinds.FLOAT, kinds.STRING)
    absent = [schema.attributes[name] for name in sorted(schema.attributes) if name not in given]
    left = [each for each in absent if each.type in possible]
    if not left:
        return "nothing"
    chosen = rng.choice(left)
    value: Any = rng.choice((0, 1, 2, -1, 5))
    if chosen.type == kinds.INTS:
        value = [rng.choice((0, 1, 2, 3, -1)) for _ in range(rng.choice((1, 2, 2, 3, 4, 4)))]
    elif chosen.type == kinds.FLOAT:
        value = rng.choice((0.0, 0.25, -1.5, 7.0))
    elif chosen.type == kinds.STRING:
        value = rng.choice(_WORDS)
    node.attribute.append(helper.make_attribute(chosen.name, value))
    return f"{chosen.name} is {value!r}"


def damaged_values(
    rng: Random, arrays: Mapping[str, NDArray[Any]]
) -> tuple[str, dict[str, NDArray[Any]]]:
    """What was changed, and the arrays with one number of a short one of integers changed."""
    found = dict(arrays)
    integers = [name for name, each in arrays.items() if each.dtype == np.int64]
    short = [name for name in integers if 0 < arrays[name].size <= 16]
    if not short:
        return "nothing", found
    name = rng.choice(short)
    changed = np.array(arrays[name])
    at = rng.randrange(changed.size)
    old = int(changed.flat[at])
    changed.flat[at] = rng.choice((old + 1, old - 1, 0, -1, old * 3, 2**40))
    found[name] = changed
    return f"{name} is {changed.tolist()}", found


def with_symbols(rng: Random, whole: ModelProto) -> tuple[str, ModelProto]:
    """A model some of whose inputs' extents are symbols, the same for extents of one number; what
    it declares of results is left out."""
    model = ModelProto()
    model.CopyFrom(whole)
    chosen = []
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_value > 1 and rng.random() < 0.4:
                chosen.append(f"{value.name} {axis}")
                dim.dim_param = f"S{dim.dim_value}"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    return f"symbols for {', '.join(chosen)}", model


def with_bounded_axis(rng: Random, whole: ModelProto) -> tuple[str, ModelProto]:
    """A model that takes what a mask leaves of one of its inputs along an axis."""
    model = ModelProto()
    model.CopyFrom(whole)
    ranks = {each.name: len(each.type.tensor_type.shape.dim) for each in model.graph.input}
    names = [name for name, rank in ranks.items() if rank]
    if not names:
        return "nothing", model
    name = rng.choice(names)
    axis = rng.randrange(ranks[name])
    (value,) = (each for each in model.graph.input if each.name == name)
    extent = value.type.tensor_type.shape.dim[axis].dim_value
    mask = helper.make_tensor_value_info("mask", TensorProto.BOOL, [extent])
    for node in model.graph.node:
        for at, operand in enumerate(node.input):
            if operand == name:
                node.input[at] = "kept"
    model.graph.node.insert(0, helper.make_node("Compress", [name, "mask"], ["kept"], axis=axis))
    model.graph.input.append(mask)
    for result in model.graph.output:
        result.type.tensor_type.ClearField("shape")
    return f"axis {axis} of {name} is masked", model


def _shape(rng: Random, value: ValueInfoProto) -> str:
    shape = value.type.tensor_type.shape
    if not shape.dim or rng.random() < 0.2:
        shape.dim.add().dim_value = rng.choice((1, 2))
    elif rng.random() < 0.2:
        del shape.dim[rng.randrange(len(shape.dim))]
    else:
        dim = rng.choice(shape.dim)
        if rng.random() < 0.2:
            dim.dim_param = "N"
        else:
            dim.dim_value = rng.choice((dim.dim_value + 1, dim.dim_value * 2, 1, 0, 3, 17))
    extents = [dim.dim_param or dim.dim_value for dim in shape.dim]
    return f"shape of {value.name} is {extents}"
