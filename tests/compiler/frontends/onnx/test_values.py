"""Tensors of models: names of types, elements, and what is no tensor."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.values import (
    DTYPES,
    Count,
    Value,
    array_of,
    type_name,
    type_refusal,
)
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.nodes import Var
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32, INT64


def test_types_have_onnx_names() -> None:
    own = {"float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn"}
    for number, dtype in DTYPES.items():
        name = TensorProto.DataType.Name(number).lower()
        assert str(dtype) == own.get(name, name) == type_name(number)


def test_types_that_there_are_not() -> None:
    assert [type_name(number) for number in (8, 14, 99)] == ["string", "complex64", "type 99"]
    known = ", ".join(map(str, DTYPES.values()))
    start = "of the type {}: the types that are supported are {}"
    assert type_refusal(8) == start.format("string", known)
    assert type_refusal(17) == start.format("float8e4m3fn", known) + (
        "; convert the model to float32"
    )


def test_values() -> None:
    size = Value(TensorType((), INT64), Var("size"))
    data = Value(TensorType((2, 3), FLOAT32), Var("x"), counts={1: Count(size, "n")})
    assert (data.shape, data.dtype, data.rank, data.known) == ((2, 3), FLOAT32, 2, None)
    found = data.renamed({"x": Var("y"), "size": Var("s")})
    assert found.atom == Var("y")
    assert (found.counts[1].size.atom, found.counts[1].source) == (Var("s"), "n")
    assert data.renamed({"size": Var("s")}).atom == Var("x")
    array = np.arange(3)
    assert Value(TensorType((3,), INT64), Constant(array)).known is not None
    symbols = np.array([Dim(("N",))], object)
    shape = Value(TensorType((1,), INT64), None, symbols)
    assert shape.known is symbols
    assert shape.renamed({"x": Var("y")}) is shape


def test_counts_are_the_same_by_what_they_are() -> None:
    first = Count(Value(TensorType((), INT64), Var("size")), "n")
    assert first.is_same(Count(Value(TensorType((), INT64), Var("size")), "m"))
    assert not first.is_same(replace(first, size=Value(TensorType((), INT64), Var("other"))))


def test_elements() -> None:
    for array in (np.arange(6, dtype=np.int16).reshape(2, 3), np.array(0.5), np.zeros((0, 3))):
        found = array_of(numpy_helper.from_array(array), "it")
        np.testing.assert_array_equal(found, array)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
    # Three integers of 4 bits have two bytes.
    narrow = TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=b"\x21\x0f")
    assert array_of(narrow, "it").astype(int).tolist() == [1, 2, -1]


def refused(tensor: TensorProto, message: str) -> None:
    with pytest.raises(FrontendError, match=f"^{re.escape(message)}"):
        array_of(tensor, "it")


def test_what_is_no_tensor() -> None:
    text = TensorProto(data_type=TensorProto.STRING, dims=[1])
    with pytest.raises(UnsupportedError, match=r"^it is of the type string: "):
        array_of(text, "it")
    outside = TensorProto(data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    refused(outside, "it lies in another file, and the model was not read from a file")
    negative = TensorProto(data_type=TensorProto.FLOAT, dims=[2, -1])
    refused(negative, "it is of the shape [2, -1]")
    for count in (7, 9):
        short = TensorProto(data_type=TensorProto.FLOAT, dims=[2], raw_data=bytes(count))
        refused(short, f"it is of the shape [2], and has {count} bytes")
    for count in (1, 3):
        narrow = TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=bytes(count))
        refused(narrow, f"it is of the shape [3], and has {count} bytes")
    few = TensorProto(data_type=TensorProto.FLOAT, dims=[2], float_data=[1.0])
    refused(few, "it is of the shape [2]: ")
