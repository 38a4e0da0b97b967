"""Values in slots of tuples."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import (
    Constant,
    Constructor,
    DataType,
    Declaration,
    Dim,
    FunctionType,
    TensorType,
    TupleType,
    Var,
)
from tandem.compiler.graph.data_types import declare
from tandem.compiler.graph.nodes import Body, Function
from tandem.compiler.graph.passes.slots import Lines, parts_in, unread, value_in
from tandem.compiler.graph.printer import text
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.layouts.layout import image_blocks

F, WHOLE = TensorType((2,), FLOAT32), TensorType((), INT8)
LIST = declare(
    [
        Declaration("List", (), (Constructor("Cons", (F, DataType("List"))), Constructor("Nil"))),
        Declaration("Box", (), (Constructor("Put", (F,)),)),
        Declaration("Maybe", ("T",), (Constructor("Some", (DataType("T"),)), Constructor("No"))),
    ]
)


def lines_of(lines: Lines) -> list[str]:
    body = Body(tuple(lines.lets), Var("x"))
    written = text(Function("f", (), body)).splitlines()
    return [each.strip() for each in written if each.startswith("  ") and " = " in each]


def test_names() -> None:
    lines = Lines({"part"})
    inner = lines.inner()
    assert list(parts_in(Var("x"), TupleType((F, WHOLE)), inner)) == [Var("part_1"), Var("part_2")]
    assert lines_of(inner) == ["part_1 = x[0]", "part_2 = x[1]"]
    assert lines.lets == []
    # Names of the whole function.
    assert list(parts_in(Var("y"), TupleType((F,)), lines)) == [Var("part_3")]


def test_parts() -> None:
    list_type = DataType("List", (), LIST)
    lines = Lines(set())
    one = Constant(np.ones(2, np.float32))
    assert list(parts_in(one, F, lines)) == [one]
    assert list(parts_in(Var("l"), list_type, lines)) == [Var("l")]
    assert lines.lets == []
    # What has no parts is not read.
    nested = TupleType((TupleType(()), F, TupleType((TupleType((WHOLE,)), list_type))))
    found = list(parts_in(Var("t"), nested, lines))
    assert lines_of(lines) == [
        "part = t[1]",
        "part_1 = t[2]",
        "part_2 = part_1[0]",
        "part_3 = part_2[0]",
        "part_4 = part_1[1]",
    ]
    assert found == [Var("part"), Var("part_3"), Var("part_4")]


def test_values_of_slots() -> None:
    lines = Lines(set())
    assert value_in(Var("w"), iter([3]), F, lines) == Var("part")
    nested = TupleType((F, TupleType((WHOLE, F)), TupleType(())))
    found = value_in(Var("w"), iter([0, 2, 1]), nested, lines)
    # After the number, which is item 0.
    assert lines_of(lines) == [
        "part = w[4]",
        "part_1 = w[1]",
        "part_2 = w[3]",
        "part_3 = w[2]",
        "parts = (part_2, part_3)",
        "parts_1 = ()",
        "parts_2 = (part_1, parts, parts_1)",
    ]
    assert found == Var("parts_2")


def test_what_nothing_reads() -> None:
    lines = Lines(set())
    zeros = unread(F, lines)
    assert isinstance(zeros, Constant)
    assert zeros.type == F
    assert not zeros.array.any()
    assert unread(DataType("List", (), LIST), lines) == Var("none")
    assert unread(DataType("Maybe", (WHOLE,), LIST), lines) == Var("none_1")
    assert lines_of(lines) == ["none = Nil()", "none_1 = No[int8[]]()"]


def test_refusals() -> None:
    lines = Lines(set())
    with pytest.raises(
        GraphError,
        match="one of several functions holds Box, and another does not: "
        "it has to have a constructor without fields",
    ):
        unread(DataType("Box", (), LIST), lines)
    blocks = TensorType((1, 4, 1, 1), INT8, image_blocks(1, 4))
    for type_ in (TensorType((Dim(("N",)), 2), INT8), blocks):
        with pytest.raises(GraphError, match="its extents have to be numbers, and it row-major"):
            unread(type_, lines)
    with pytest.raises(AssertionError, match="represented"):
        list(parts_in(Var("f"), FunctionType((F,), F), lines))
