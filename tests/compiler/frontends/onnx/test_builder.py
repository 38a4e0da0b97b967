"""Bodies under construction: names, folding, functions that capture, sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError, UnsupportedError
from tandem.compiler.frontends.onnx import builder as building
from tandem.compiler.frontends.onnx.builder import (
    MAX_ELEMENTS,
    Builder,
    Callee,
    constant,
    legal_name,
)
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph import Body, Dim, Function, Let, Param, TensorType, Tuple, TupleType, Var
from tandem.compiler.graph.operators.parts import Split
from tandem.compiler.graph.operators.shapes import Expand
from tandem.compiler.graph.printer import text
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT64

ROW = TensorType((3,), FLOAT32)


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("x", "x"),
        ("conv1/Relu:0", "conv1_Relu_0"),
        ("_x_", "x"),
        ("a..b", "a_b"),
        ("1x", "v_1x"),
        ("if", "v_if"),
        ("int8", "v_int8"),
        ("", "v_"),
        ("é", "v_"),
    ],
)
def test_names_of_the_graph(name: str, legal: str) -> None:
    assert legal_name(name) == legal


def test_constants() -> None:
    found = constant(np.array([1, 2], np.int8))
    assert found.type == TensorType((2,), INT8)
    assert found.known is not None
    assert found.known.tolist() == [1, 2]
    numbers = constant(np.array([1, 2], object))
    assert numbers.type == TensorType((2,), INT64)
    n = Dim(("N",))
    symbols = constant(np.array([n, 2], object))
    assert (symbols.type, symbols.atom) == (TensorType((2,), INT64), None)
    with pytest.raises(
        UnsupportedError, match=r"holds \[N, 2\], which are no numbers yet: give sh"
    ):
        Builder(set()).atom(symbols)


def given(builder: Builder, name: str = "x", type_: TensorType = ROW) -> Value:
    return Value(type_, Var(builder.param(name, type_).name))


def written(body: Body) -> list[str]:
    lines = text(Function("f", (), body)).splitlines()
    return [line.strip() for line in lines[1:]]


def test_results_have_the_names_of_the_model() -> None:
    builder = Builder({"taken"})
    assert builder.param("x", ROW) == Param("x", ROW)
    x = given(builder)
    assert x.atom == Var("x_1")
    (a,) = builder.call("relu", [x])
    (b,) = builder.call("negative", [a])
    names = builder.end_node("Gelu", "node", {"my/result": b, "taken": a})
    assert {key: value.atom for key, value in names.items()} == {
        "my/result": Var("my_result"),
        "taken": Var("taken_1"),
    }
    (c,) = builder.call("exp", [names["my/result"]])
    (d,) = builder.call("add", [c, c])
    more = builder.end_node("Other", "", {"z": d})
    body = builder.body("rest", more["z"].atom or Var("?"))
    assert written(body) == [
        "taken_1: float32[3] = relu(x_1)",
        "my_result: float32[3] = negative(taken_1)",
        "z_other: float32[3] = exp(my_result)",
        "z: float32[3] = add(z_other, z_other)",
        "return z",
    ]
    nodes = [let.node for let in body.lets]
    assert [(each.operator, each.name, each.parts) for each in nodes if each] == [
        *[("Gelu", "node", 2)] * 2,
        *[("Other", "", 2)] * 2,
    ]


def test_calls_with_several_results() -> None:
    builder = Builder(set())
    x = given(builder)
    first, second = builder.call("split", [x], Split((1, 2)))
    assert (first.shape, second.shape) == ((1,), (2,))
    assert first.atom is not None
    assert builder.call_of(first) is None
    found = builder.call_of(builder.call("relu", [second])[0])
    assert found is not None
    assert found.callee.name == "relu"
    assert builder.call_of(x) is None
    body = builder.body("s", first.atom)
    assert written(body)[1:3] == ["s_1: float32[1] = s[0]", "s_2: float32[2] = s[1]"]
    assert written(body)[-1] == "return s_1"


def test_what_is_known_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder(set())
    one = constant(np.array([1, 2, 3], np.float32))
    (total,) = builder.call("add", [one, one])
    assert total.known is not None
    assert total.known.tolist() == [2, 4, 6]
    (mixed,) = builder.call("add", [one, given(builder)])
    assert mixed.known is None
    # Of more elements than the operands only up to a number.
    monkeypatch.setattr(building, "_FOLDED", 6)
    (six,) = builder.call("expand", [one], Expand((2, 3)))
    assert six.known is not None
    (nine,) = builder.call("expand", [one], Expand((3, 3)))
    assert nine.known is None
    large = constant(np.ones(9, np.float32))
    (same,) = builder.call("negative", [large])
    assert same.known is not None


def test_sizes() -> None:
    builder = Builder(set())
    x = given(builder, "x", TensorType((1,), INT8))
    builder.call("expand", [x], Expand((MAX_ELEMENTS,)))
    with pytest.raises(
        GraphError, match=r"a tensor int8\[1099511627777\]: of more than 1099511627"
    ):
        builder.call("expand", [x], Expand((MAX_ELEMENTS + 1,)))
    # An axis of none does not make the others small.
    with pytest.raises(GraphError, match="of more than"):
        builder.call(
            "expand", [given(builder, "y", TensorType((0, 1), INT8))], Expand((0, 1 << 41))
        )


def test_functions_capture_what_is_around() -> None:
    outer = Builder(set())
    x, unused = given(outer), given(outer, "unused")
    (around,) = outer.call("relu", [x])
    assert around.atom is not None
    named = outer.end_body("around", [around])[0]
    own = outer.param("p", ROW)
    assert unused.atom == Var("unused")

    def body(callee: Callee) -> Body:
        inner = outer.inner()
        (total,) = inner.call("add", [inner.value(Var(own.name)), named])
        (result,) = inner.end_body("total", [total])
        assert result.atom is not None
        return inner.body("rest", result.atom)

    callee = outer.function("step", [own], body, ROW)
    assert callee.name == "step"
    assert callee.captured == (Var("around"),)
    assert [param.name for param in callee.params] == ["p", "around_1"]
    (function,) = outer.functions
    assert text(function).startswith(
        "func @step(p: float32[3], around_1: float32[3]) -> float32[3]:"
    )
    assert "add(p, around_1)" in text(function)
    call = callee.call([Var("z")])
    assert (call.callee.name, call.args) == ("step", (Var("z"), Var("around")))


def test_values_that_are_no_calls() -> None:
    builder = Builder(set())
    x = given(builder)
    assert x.atom is not None
    whole = builder.bind(Tuple((x.atom,)), TupleType((ROW,)))
    other = Builder(set())
    other.add([Let("done", Tuple(()), TupleType(()))])
    other._program.types["done"] = TupleType(())
    assert written(builder.body("t", whole)) == ["t: (float32[3],) = (x,)", "return t"]
    # What another builder has named keeps its name.
    assert written(other.body("t", Var("done"))) == ["done: () = ()", "return done"]
