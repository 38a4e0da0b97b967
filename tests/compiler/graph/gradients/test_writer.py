"""The writer of gradients: names, types, and the values that it appends, as text."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Body, Constant, Function, TensorType, TupleType, Var
from tandem.compiler.graph.gradients.cotangents import DataTerm
from tandem.compiler.graph.gradients.data_gradients import gradient_of, with_data_gradients
from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of, with_names
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Global
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.terms import Term
from tandem.compiler.graph.types import DataType, FunctionType, Type
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8
from tests.support.compiler.graph.graphs import graph

F, H, WHOLE = TensorType((2,), FLOAT32), TensorType((3,), FLOAT16), TensorType((), INT8)


def writer_of(**types: Type) -> GraphWriter:
    return GraphWriter(OPERATORS, {*types}, dict(types))


def lines(writer: GraphWriter) -> list[str]:
    """What has been written."""
    whole = text(Function("f", (), Body(tuple(writer.lets), Var("x")))).splitlines()
    return [line.strip() for line in whole if line.startswith("  ") and " = " in line]


def test_calls() -> None:
    """Names of the stem that are not taken, also for what has several results."""
    writer = writer_of(x=F, gradient=F)
    x = writer.term(Var("x"))
    (total,) = writer.call("add", [x, writer.term(Constant(np.ones(2, np.float32)))], {})
    assert (total.value, total.type, total.writer) == ("gradient_1", F, writer)
    writer.stem = "part"
    one, other = writer.call("split", [total], {"sizes": (1, 1), "axis": 0})
    assert one.type == other.type == TensorType((1,), FLOAT32)
    assert lines(writer) == [
        "gradient_1 = add(x, float32[2](1.0, 1.0))",
        "part = split(gradient_1, sizes=[1, 1])",
        "part_1 = part[0]",
        "part_2 = part[1]",
    ]
    assert (one.value, other.value) == ("part_1", "part_2")
    assert writer.types["part"] == TupleType((one.type, other.type))
    assert {"gradient_1", "part", "part_1", "part_2"} <= writer.taken
    with pytest.raises(GraphError, match="part = add"):
        writer.call("add", [total, one, other], {})


def test_a_body_within() -> None:
    """Its names are new in the whole function; its values are its own."""
    writer = writer_of(x=F)
    inner = writer.inner()
    name = inner.let(
        graph("func @f(x: int8[]):\n  y = add(x, x)\n  return y").body.lets[0].value, F
    )
    assert name == "gradient"
    assert writer.lets == []
    assert writer.types["gradient"] == F
    assert writer.tuple_of([Var("x"), Var("gradient")], [F, F]) == Var("gradient_1")
    assert lines(writer) == ["gradient_1 = (x, gradient)"]
    assert writer.types["gradient_1"] == TupleType((F, F))
    term = writer.term(Var("x"))
    here = inner.here(term)
    assert isinstance(here, Term)
    assert (here.value, here.type, here.writer) == ("x", F, inner)


def test_leaves() -> None:
    """Tensors of nested tuples in order; functions have none."""
    step = FunctionType((F,), F)
    writer = writer_of(x=TupleType((F, step, TupleType((WHOLE, H)))), y=F)
    found = writer.leaves("x")
    assert [(each.value, each.type) for each in found] == [
        ("gradient", F),
        ("gradient_3", WHOLE),
        ("gradient_4", H),
    ]
    assert lines(writer) == [
        "gradient = x[0]",
        "gradient_1 = x[1]",
        "gradient_2 = x[2]",
        "gradient_3 = gradient_2[0]",
        "gradient_4 = gradient_2[1]",
    ]
    (alone,) = writer.leaves("y")
    assert alone.value == "y"
    assert len(writer.lets) == 5


def data_type() -> DataType:
    program = with_data_gradients(
        graph(
            """
type List = Nil | Cons(float32[2], List)

func @f(x: List) -> List:
  return x
"""
        )
    )
    found = infer(program)["x"]
    assert isinstance(found, DataType)
    return found


def test_data() -> None:
    """Values of data types are leaves, added by a function, and have a zero of their own."""
    type_ = data_type()
    gradient = gradient_of(type_)
    assert gradient is not None
    writer = writer_of(x=gradient, y=TupleType((gradient,)))
    writer.adder = lambda of: Global(f"add_{of.name}", FunctionType((of, of), of))
    inner = writer.inner()
    (x,), (y,) = inner.leaves("x"), inner.leaves("y")
    assert isinstance(x, DataTerm)
    assert isinstance(y, DataTerm)
    total = y + x
    assert (total.value, total.type) == ("gradient_1", gradient)
    zero = inner.zeros(DataTerm("x", type_, lambda one, _: one))
    assert (zero.value, zero.type) == ("gradient_2", gradient)
    whole = inner.construct(gradient, f"Cons_{gradient.name}", [Var("v"), Var("gradient_2")])
    assert whole.value == "gradient_3"
    assert lines(inner) == [
        "gradient = y[0]",
        "gradient_1 = @add_List_gradient(gradient, x)",
        "gradient_2 = Zero_List_gradient()",
        "gradient_3 = Cons_List_gradient(v, gradient_2)",
    ]
    assert isinstance(writer.here(total), DataTerm)
    writer.here(total) + x  # type: ignore[operator]
    assert lines(writer) == ["gradient_4 = @add_List_gradient(gradient_1, x)"]


def test_zeros() -> None:
    """Of a stored float in float32."""
    writer = writer_of(x=F, h=H)
    for name, shape in (("x", (2,)), ("h", (3,))):
        zeros = writer.zeros(writer.term(Var(name)))
        assert zeros.type == TensorType(shape, FLOAT32)


def test_operands() -> None:
    writer = writer_of(x=F)
    one = Constant(np.ones(2, np.float32))
    assert atom_of(writer.term(one)) is one
    assert writer.term(one).type == F
    assert atom_of(writer.term(Var("x"))) == Var("x")
    with pytest.raises(KeyError):
        writer.term(Var("y"))


def test_new_names() -> None:
    """Of a body's own values, and where they are read."""
    body = graph("func @f(x: int8[]):\n  y = add(x, x)\n  z = add(y, x)\n  return z").body
    changed = Function("f", (), with_names(body, {"y": "a", "z": "b"}))
    assert text(changed).splitlines()[1:] == ["  a = add(x, x)", "  b = add(a, x)", "  return b"]
    once = Function("f", (), with_names(body, {"y": "a"}))
    assert text(once).splitlines()[1:] == ["  a = add(x, x)", "  z = add(a, x)", "  return z"]
