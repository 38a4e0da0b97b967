"""Operators that create constants, shapes and ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.extents import product
from tandem.compiler.graph.operators.shapes import Expand

_LARGEST = 1 << 24
"""The maximum number of elements of a constant that is created at import."""


def _constant(node: Node) -> Value:
    given = node.given()
    if len(given) != 1:
        node.refuse(f"the attributes are {list(given)}: exactly one is expected")
    if given[0] not in _VALUES:
        node.unsupported(f"attribute {given[0]}")
    return node.constant(_VALUES[given[0]](node))


_VALUES: Final[Mapping[str, Callable[[Node], Array]]] = MappingProxyType(
    {
        "value": lambda node: node.needed(node.tensor("value"), "attribute value is missing"),
        "value_float": lambda node: np.array(node.real("value_float"), np.float32),
        "value_floats": lambda node: np.array(node.reals("value_floats"), np.float32),
        "value_int": lambda node: np.array(node.integer("value_int"), np.int64),
        "value_ints": lambda node: np.array(node.integers("value_ints") or (), np.int64),
    }
)


def _constant_of_shape(node: Node) -> Value:
    shape = node.needed(node.numbers(0), "the shape is missing")
    value = node.tensor("value")
    if value is not None and value.size != 1:
        node.refuse(f"value has {value.size} elements: one is expected")
    one = node.constant(np.zeros((), np.float32) if value is None else value.reshape(()))
    if any(each < 0 for each in shape):
        node.refuse(f"the shape is {list(shape)}")
    return node.call("expand", one, to=Expand(shape))


def _shape(node: Node) -> Value:
    shape = node.input(0).shape
    start, end = node.integer("start", 0), node.integer("end", len(shape))
    # As in ONNX, Python slices count negative numbers from the end and clamp to the last axis.
    return node.constant(np.array(shape[start:end], object))


def _size(node: Node) -> Value:
    return node.constant(np.array(product(node.input(0).shape), object))


def _range(node: Node) -> Value:
    start, limit, delta = (node.known(each) for each in range(3))
    if start is None or limit is None or delta is None:
        node.refuse("start, limit or delta is missing")
    if any(each.size != 1 or each.dtype == object for each in (start, limit, delta)):
        node.unsupported("start, limit and delta have to be numbers that are known at import")
    first, last, step = (each.reshape(-1)[0] for each in (start, limit, delta))
    if step == 0:
        node.refuse("delta is 0")
    count = (float(last) - float(first)) / float(step)
    if not count <= _LARGEST:
        node.unsupported(f"more than {_LARGEST} elements")
    whole = int(np.ceil(max(count, 0)))
    return node.constant((first + np.arange(whole).astype(start.dtype) * step).astype(start.dtype))


def _eye_like(node: Node) -> Value:
    data = node.input(0)
    shape = data.type.shape
    numbers = tuple(each for each in shape if isinstance(each, int))
    if len(shape) != 2:
        node.refuse(f"{data.type} is no matrix")
    if len(numbers) != 2 or prod(numbers) > _LARGEST:
        node.unsupported(f"a matrix as large as {data.type}")
    to = node.element_type(node.integer("dtype")) if "dtype" in node.given() else data.dtype
    return node.constant(np.eye(*numbers, k=node.integer("k"), dtype=to.numpy))


CONVERTERS: tuple[Converter, ...] = (
    Converter(
        "Constant",
        (1, 9, 11, 12, 13, 19, 21, 23, 24, 25),
        _constant,
        "numbers, dense",
        takes_stored_floats=True,
    ),
    Converter(
        "ConstantOfShape",
        (9, 20, 21, 23, 24, 25),
        _constant_of_shape,
        "a shape known at import",
        takes_stored_floats=True,
    ),
    Converter(
        "Shape",
        (1, 13, 15, 19, 21, 23, 24, 25),
        _shape,
        "used in what is known at import",
        takes_stored_floats=True,
    ),
    Converter(
        "Size",
        (1, 13, 19, 21, 23, 24, 25),
        _size,
        "used in what is known at import",
        takes_stored_floats=True,
    ),
    Converter("Range", (11, 27), _range, "all operands known at import"),
    Converter("EyeLike", (9, 22), _eye_like, "a shape known at import", takes_stored_floats=True),
)
