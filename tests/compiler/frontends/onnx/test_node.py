"""Nodes: their operands, and the calls of the graph that they make, by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, NodeProto, helper

from tandem.compiler.errors import CompilerError, FrontendError, UnknownValueError, UnsupportedError
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.definitions import Definition, define
from tandem.compiler.frontends.onnx.node import Node, Section, describe, domain_of, qualified_name
from tandem.compiler.frontends.onnx.values import Array, Count, Value
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.nodes import Call, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Reshape, Transpose
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, INT64

N = Dim(("N",))
WHERE = "node n (Op)"
DEFINITION = define("A: T, B: I?, more: V*", "Y: T, Z: I", {"T": (FLOAT32,), "I": (INT64,)})


class Setting:
    """A builder with inputs, and nodes on them."""

    def __init__(self) -> None:
        self.builder = Builder(set())

    def value(self, *shape: int | Dim, dtype: object = FLOAT32) -> Value:
        type_ = TensorType(shape, dtype)  # type: ignore[arg-type]
        return Value(type_, Var(self.builder.param("x", type_).name))

    def node(self, *inputs: Value | None, definition: Definition = DEFINITION) -> Node:
        names = ["" if each is None else f"in{at}" for at, each in enumerate(inputs)]
        proto = helper.make_node("Op", names, ["y", "z", ""], name="n")
        return Node(proto, definition, inputs, {"y"}, self.builder)

    @property
    def calls(self) -> list[Call]:
        return [let.value for let in self.builder.body("it", Var("x")).lets]  # type: ignore[misc]


@pytest.fixture
def setting() -> Setting:
    return Setting()


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    start = f"{WHERE}: not supported: " if kind is not FrontendError else f"{WHERE}: "
    return pytest.raises(kind, match=f"^{re.escape(start + message)}$")


def test_names_of_nodes() -> None:
    def proto(domain: str, name: str = "n", outputs: tuple[str, ...] = ("", "y")) -> NodeProto:
        return helper.make_node("Op", [], outputs, name=name, domain=domain)

    assert [domain_of(proto(each)) for each in ("", "ai.onnx", "a.b")] == ["", "", "a.b"]
    assert [qualified_name(proto(each)) for each in ("ai.onnx", "a.b")] == ["Op", "a.b.Op"]
    assert describe(proto("a.b")) == "node n (Op)"
    assert describe(proto("", "")) == "node Op of y"
    assert describe(proto("", "", ("",))) == "node Op of nothing"


def test_operands(setting: Setting) -> None:
    a, c = setting.value(2), setting.value(3)
    node = setting.node(a, None, c)
    assert (node.operator, node.version, node.operands) == ("Op", 1, 3)
    assert node.outputs == ("y", "z", "")
    assert [node.optional(at) for at in (1, 3)] == [None, None]
    assert (node.input(0).atom, node.input(2).atom) == (a.atom, c.atom)
    with refused("operand B is missing"):
        node.input(1)
    with refused("operand B is missing"):
        _ = node.inputs
    # Behind the last formal operand its name stays.
    with refused("operand more is missing"):
        node.input(7)
    assert [each.atom for each in setting.node(a, c).inputs] == [a.atom, c.atom]


def test_names_and_types_of_operands(setting: Setting) -> None:
    node = setting.node()
    assert [node.operand_name(at) for at in range(5)] == ["A", "B", *["more"] * 3]
    assert [node.operand_type(at) for at in range(5)] == ["T", "I", *["V"] * 3]
    assert [node.result_type(at) for at in range(4)] == ["T", "I", "I", "I"]


def test_results_that_are_used(setting: Setting) -> None:
    node = setting.node()
    assert [node.uses(at) for at in range(4)] == [True, False, False, False]
    node.only_first()
    proto = helper.make_node("Op", [], ["y", "z"], name="n")
    with refused("its result z, number 2", UnsupportedError):
        Node(proto, DEFINITION, (), {"y", "z"}, setting.builder).only_first()
    Node(proto, DEFINITION, (), {"y"}, setting.builder).only_first()


def test_bounded_axes(setting: Setting) -> None:
    size = setting.value(dtype=INT64)
    bounded = replace(setting.value(4, 6), counts={1: Count(size, "n")})
    node = setting.node(setting.value(2), bounded)
    assert dict(node.counts(0)) == dict(node.counts(5)) == dict(node.input(1).counts) == {}
    assert node.counts(1)[1].source == "n"
    message = (
        "the extent of axis 1 of operand B, up to 6, has to be known when the model is imported, "
        "and depends on inputs"
    )
    with refused(message, UnknownValueError) as error:
        node.refuse_bounded(1, 1)
    assert error.value.operand == "n"
    made = node.count(setting.value(1, dtype=INT32), 1)
    assert (made.source, made.size.type) == ("in1", TensorType((), INT64))
    assert [each.callee.name for each in setting.calls] == ["reshape", "cast"]


def known(setting: Setting, *arrays: Array) -> Node:
    return setting.node(*map(constant, arrays))


def test_values_that_are_known(setting: Setting) -> None:
    node = known(setting, np.array([3, 4]), np.array(0.5, np.float32))
    assert node.numbers(0) == node.extents(0) == (3, 4)
    assert (node.numbers(5), node.extents(5), node.scalar(5), node.known(5)) == (None,) * 4
    assert node.scalar(1) == 0.5
    assert known(setting, np.array([[7]])).scalar(0) == 7
    assert known(setting, np.array([True])).scalar(0) is True
    assert known(setting, np.array(7)).numbers(0) == (7,)
    with refused("operand B is float32[], and no integers"):
        node.numbers(1)
    with refused("operand A is int64[2], and no number"):
        node.scalar(0)
    with refused("operand A is int64[1, 1], and no integers"):
        known(setting, np.array([[7]])).extents(0)
    with refused("operand A is bool[1], and no integers"):
        known(setting, np.array([True])).extents(0)
    message = "operand A has to be known when the model is imported, and depends on inputs"
    with refused(message, UnknownValueError) as error:
        setting.node(setting.value(2, dtype=INT64)).numbers(0)
    assert error.value.operand == "in0"


def test_values_that_are_symbols(setting: Setting) -> None:
    node = known(setting, np.array([N, 4], object))
    assert node.extents(0) == (N, 4)
    with refused(
        "operand A is [N, 4], which are no numbers yet: give shapes for the inputs",
        UnsupportedError,
    ):
        node.numbers(0)
    with refused("operand A is int64[1], and no number"):
        known(setting, np.array([N], object)).scalar(0)


def test_calls(setting: Setting) -> None:
    a, b = setting.value(2, 3), setting.value(3)
    node = setting.node()
    found = node.call("add", a, None, b)
    assert found.type == TensorType((2, 3), FLOAT32)
    node.call("reduce_sum", a, to=Reduction((1,), False))
    assert setting.calls[0].args == (a.atom, b.atom)
    assert setting.calls[1].attributes == Reduction((1,), False)
    with pytest.raises(FrontendError, match=rf"^{re.escape(WHERE)}: add\(\.\.\.\): .*broadcast"):
        node.call("add", a, setting.value(2))
    symbols = constant(np.array([N], object))
    with refused(
        "a tensor computed from shapes holds [N], which are no numbers yet: give shapes for the "
        "inputs",
        UnsupportedError,
    ):
        node.call("cast", symbols, to=Cast(FLOAT32))
    assert node.atoms([a, b]) == (a.atom, b.atom)
    with refused(
        "a tensor computed from shapes holds [N], which are no numbers yet: give shapes for the "
        "inputs",
        UnsupportedError,
    ):
        node.atoms([a, symbols])


def test_numbers_and_casts(setting: Setting) -> None:
    node, a = setting.node(), setting.value(2)
    made = node.number(3, a)
    assert made.known is not None
    assert made.known.dtype == np.float32
    assert made.known.tolist() == 3.0
    assert node.constant(np.arange(3)).type == TensorType((3,), INT64)
    assert node.cast(a, FLOAT32) is a
    assert node.cast(a, INT8).type == TensorType((2,), INT8)
    assert setting.calls[0].attributes == Cast(INT8)


@pytest.mark.parametrize(
    ("shape", "into", "asked"),
    [
        ((2, 6), (3, 4), (3, 4)),
        ((2, 6), (4, -1), (4, 3)),
        ((2, 6), (12,), (12,)),
        ((0, 6), (3, 0), (3, 0)),
        ((N, 6), (N, 2, 3), (0, 2, 3)),
        ((N, 6), (2, N, 3), (2, -1, 3)),
        ((N, 6), (-1, 3), (-1, 3)),
        ((6, N), (2, 3, N), (2, 3, -1)),
    ],
)
def test_reshapes(
    setting: Setting,
    shape: tuple[int | Dim, ...],
    into: tuple[int | Dim, ...],
    asked: tuple[int, ...],
) -> None:
    data = setting.value(*shape)
    found = setting.node().reshape(data, into)
    (call,) = setting.calls
    assert call.args == (data.atom,)
    assert call.attributes == Reshape(asked, 0 in into)
    assert found.type.size == data.type.size


def test_reshapes_that_change_nothing_or_are_unknown(setting: Setting) -> None:
    node, data = setting.node(), setting.value(2, 6)
    assert node.reshape(data, (2, 6)) is data
    assert node.reshape(data, (2, -1)) is data
    assert setting.calls == []
    with pytest.raises(FrontendError, match="reshape"):
        node.reshape(data, (5, -1))
    with refused("float32[2, 6] into [-1, -1] is not known to be possible", UnsupportedError):
        node.reshape(data, (-1, -1))
    m = Dim(("M",))
    with refused("float32[N, M] into [M, N] is not known to be possible", UnsupportedError):
        node.reshape(setting.value(N, m), (m, N))
    with refused("float32[N, 0] into [0, N] is not known to be possible", UnsupportedError):
        node.reshape(setting.value(N, 0), (0, N))


def test_permutations(setting: Setting) -> None:
    node, data = setting.node(), setting.value(2, 3, 4)
    turned = node.permuted(data, (1, 2, 0))
    assert turned.shape == (3, 4, 2)
    found = node.permutation(turned)
    assert found is not None
    assert (found[0].atom, found[1]) == (data.atom, (1, 2, 0))
    assert node.permutation(data) is None
    assert node.permutation(node.call("relu", data)) is None
    # The inverse undoes it, another order does not.
    assert node.permuted(turned, (2, 0, 1)).atom == data.atom
    again = node.permuted(turned, (1, 2, 0))
    assert again.shape == (4, 2, 3)
    orders = [each.attributes for each in setting.calls if each.callee.name == "transpose"]
    assert orders == [Transpose((1, 2, 0)), Transpose((1, 2, 0))]


def test_axes_and_extents(setting: Setting) -> None:
    node, data = setting.node(), setting.value(N, 3)
    assert node.axes([-2, 1], data) == (-2, 1)
    for axis in (-3, 2):
        with refused(f"axes [0, {axis}] of float32[N, 3]"):
            node.axes([0, axis], data)
    assert node.extent(1, data) == 3
    with refused("axis 0 of float32[N, 3]: give its shape", UnsupportedError):
        node.extent(0, data)
    assert node.static_shape(setting.value(4, 3), "data") == (4, 3)
    with refused(
        "data float32[N, 3] has a symbolic extent: numbers are needed here: give shapes for the "
        "inputs",
        UnsupportedError,
    ):
        node.static_shape(data, "data")


def test_element_types(setting: Setting) -> None:
    assert [setting.node().element_type(number) for number in (1, 3, 7)] == [FLOAT32, INT8, INT64]
    for number, name in ((8, "string"), (14, "complex64"), (99, "type 99")):
        with refused(f"the type {name}", UnsupportedError):
            setting.node().element_type(number)


def test_sections(setting: Setting) -> None:
    asked: list[object] = []
    value, let = setting.value(2), Let("inside", Call(OPERATORS["relu"], (Var("x"),)))

    def convert(graph: GraphProto, inputs: object, builder: Builder) -> Section:
        asked.append((graph.name, inputs, builder))
        return Section((let,), (value,))

    proto = helper.make_node("Op", [], ["y"], name="n")
    node = Node(proto, DEFINITION, (), set(), setting.builder, convert)
    graph = helper.make_graph([], "g", [], [])
    section = node.section(graph, [value])
    assert asked == [("g", [value], setting.builder)]
    other = setting.builder.inner()
    with node.within(other):
        assert node.builder is other
        node.section(graph)
    assert node.builder is setting.builder
    assert asked[1:] == [("g", (), other)]
    with pytest.raises(KeyError), node.within(other):
        raise KeyError
    assert node.builder is setting.builder
    assert [each.name for each in section.lets] == ["inside"]
    with pytest.raises(FrontendError, match=r"^graph g is in no graph$"):
        setting.node().section(graph)
