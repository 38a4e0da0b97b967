"""Models as graphs: names, symbols, what is known, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph import Call
from tandem.compiler.graph.printer import text
from tests.support.compiler.frontends.onnx_models import model, residual
from tests.support.compiler.frontends.reference_runs import agrees, noise

Array = NDArray[Any]
make = helper.make_node


def test_a_small_network(golden: Callable[[str, str], None]) -> None:
    imported = import_model(residual())
    golden("frontends/residual.txt", text(imported.function))
    assert (imported.inputs, imported.outputs) == (("x",), ("z",))
    assert imported.names["g"] == "g"
    for batch in (1, 3):
        agrees(residual(), noise(batch, 3, 8, 8))


@pytest.mark.parametrize("opset", [14, 17, 21, 25])
def test_opsets(opset: int) -> None:
    agrees(residual(opset), noise(2, 3, 8, 8))


@pytest.mark.parametrize(
    ("operator", "count"), [*product(["Sum", "Mean", "Max", "Min"], [32, 33, 64]), ("Sum", 400)]
)
def test_many_operands(operator: str, count: int) -> None:
    """Divided among several operators, in the same order."""
    nodes = [make("Mul", ["x", f"c{number}"], [f"v{number}"]) for number in range(count)]
    nodes.append(make(operator, [f"v{number}" for number in range(count)], ["y"]))
    factors = {f"c{number}": noise(1 + number % 3)[:1] for number in range(count)}
    given = model(nodes, {"x": (2, 3)}, ["y"], factors)
    imported = import_model(given)
    calls = [let.value for let in imported.function.body.lets if isinstance(let.value, Call)]
    assert max(len(call.args) for call in calls) <= 32
    if count < 65:
        agrees(given, noise(2, 3))


def test_a_transformer() -> None:
    """Attention as exporters write it: heads by Reshape and Transpose of computed shapes, a mask by
    Trilu, and Where."""
    heads, width, length = 2, 8, 5
    weights = {name: noise(width, width) for name in ("wq", "wk", "wv", "wo")}
    weights |= {"gain": noise(width) + 2, "shift": noise(width), "table": noise(11, width)}
    weights |= {
        "split": np.array([0, 0, heads, width // heads]),
        "join": np.array([0, 0, width]),
        "root": np.array((width // heads) ** 0.5, np.float32),
        "ones": np.ones((length, length), np.float32),
        "low": np.array(-1e9, np.float32),
        "half": np.array(0.5, np.float32),
        "place": np.arange(length),
    }
    nodes: list[NodeProto] = [
        make("Gather", ["table", "place"], ["where"]),
        make("Add", ["x", "where"], ["h"]),
        make("LayerNormalization", ["h", "gain", "shift"], ["n"], axis=-1),
        make("Trilu", ["ones"], ["triangle"], upper=0),
        make("Cast", ["triangle"], ["seen"], to=TensorProto.BOOL),
    ]
    for stem, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            make("MatMul", ["n", f"w{stem}"], [f"{stem}0"]),
            make("Reshape", [f"{stem}0", "split"], [f"{stem}1"]),
            make("Transpose", [f"{stem}1"], [stem], perm=order),
        ]
    nodes += [
        make("MatMul", ["q", "k"], ["s0"]),
        make("Div", ["s0", "root"], ["s1"]),
        make("Where", ["seen", "s1", "low"], ["s2"]),
        make("Softmax", ["s2"], ["p"], axis=-1),
        make("MatMul", ["p", "v"], ["o0"]),
        make("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
        make("Reshape", ["o1", "join"], ["o2"]),
        make("MatMul", ["o2", "wo"], ["o3"]),
        make("Split", ["o3"], ["left", "right"], axis=-1, num_outputs=2),
        make("Tanh", ["left"], ["l"]),
        make("Erf", ["right"], ["r"]),
        make("Concat", ["l", "r"], ["c"], axis=-1),
        make("Pow", ["c", "half"], ["unused"]),
        make("ReduceMean", ["c"], ["y"], keepdims=0),
    ]
    agrees(model(nodes, {"x": ["N", length, width]}, ["c", "y"], weights, 18), noise(3, 5, 8))


def test_shapes_computed_from_an_open_batch() -> None:
    """Expand as PyTorch writes it, with a shape that Where makes."""
    weights = {
        "minus": np.array([-1, 4, 3]),
        "three": np.array([3]),
        "zero": np.array([0]),
        "one": np.array([1]),
    }
    nodes = [
        make("Shape", ["x"], ["s"]),
        make("Slice", ["s", "zero", "one"], ["n"]),
        make("Mul", ["n", "three"], ["n3"]),
        make("Div", ["n3", "three"], ["again"]),
        make("Concat", ["again", "one", "three"], ["wanted"], axis=0),
        make("Expand", ["x", "wanted"], ["e"]),
        make("ConstantOfShape", ["three"], ["zeros"]),
        make("Cast", ["zeros"], ["z"], to=TensorProto.INT64),
        make("Equal", ["wanted", "z"], ["none"]),
        make("Where", ["none", "minus", "wanted"], ["target"]),
        make("Reshape", ["x", "n3"], ["flat"]),
        make("Expand", ["x", "target"], ["f"]),
    ]
    agrees(model(nodes, {"x": ["N", 1, 3]}, ["e", "flat", "f"], weights), noise(2, 1, 3))


def test_symbols_and_shapes() -> None:
    add = [make("Add", ["x", "y"], ["z"])]
    given = model(add, {"x": ["batch size", 3], "y": ["batch size", 3]}, ["z"])
    assert [str(each.type) for each in import_model(given).function.params] == [
        "float32[batch_size, 3]"
    ] * 2
    fixed = import_model(given, shapes={"x": (7, 3)}).function
    assert [str(each.type) for each in fixed.params] == ["float32[7, 3]"] * 2
    for shapes, message in (
        ({"x": (7, 4)}, r"input x is \[7, 3\], and cannot be \[7, 4\]"),
        ({"x": (7,)}, r"input x is \[batch_size, 3\], and cannot be \[7\]"),
        ({"x": (7, 3), "y": (8, 3)}, r"input y is \[7, 3\], and cannot be \[8, 3\]"),
        ({"w": (7,)}, "shapes for w: the inputs are x, y"),
    ):
        with pytest.raises(FrontendError, match=message):
            import_model(given, shapes=shapes)


def test_extents_without_a_name_differ() -> None:
    given = model([make("Relu", ["x"], ["y"])], {"x": [None, 3, None]}, ["y"])
    (param,) = import_model(given).function.params
    assert str(param.type) == "float32[x_0, 3, x_2]"


def test_values_for_inputs() -> None:
    graph = helper.make_graph(
        [make("Reshape", ["x", "s"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6]),
            helper.make_tensor_value_info("s", TensorProto.INT64, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])],
    )
    opset = helper.make_opsetid("", 17)
    given = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    with pytest.raises(UnsupportedError, match="operand shape has to be known when the model is"):
        import_model(given)
    imported = import_model(given, values={"s": np.array([3, -1])})
    assert imported.inputs == ("x",)
    assert str(imported.function.body.lets[-1].type) == "float32[3, 4]"
    with pytest.raises(FrontendError, match=r"input s is int64\[2\], and is given float32"):
        import_model(given, values={"s": np.zeros(2, np.float32)})


def test_weights_may_be_inputs_too() -> None:
    """As in files of IR version 3."""
    given = residual()
    names = [each.name for each in given.graph.initializer]
    for tensor in given.graph.initializer:
        given.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        )
    imported = import_model(given)
    assert imported.inputs == ("x",)
    assert len(names) > 5


def test_names_that_graphs_do_not_have() -> None:
    nodes = [
        make("Relu", ["0"], ["a/b"]),
        make("Abs", ["a/b"], ["a.b"]),
        make("Neg", ["a.b"], ["if"]),
    ]
    imported = import_model(model(nodes, {"0": [2]}, ["if"]))
    assert dict(imported.names) == {"0": "v_0", "a/b": "a_b", "a.b": "a_b_1", "if": "v_if"}


def test_all_unsupported_operators_at_once() -> None:
    nodes = [
        make("SequenceConstruct", ["x"], ["a"], "first"),
        make("Relu", ["x"], ["b"], "fine"),
        make("SequenceConstruct", ["b"], ["c"], "second"),
        make("Magic", ["b"], ["d"], "third", domain="com.example"),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [3])], [])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 2)]
    with pytest.raises(UnsupportedError) as caught:
        import_model(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    assert str(caught.value) == (
        "operators that are not supported: SequenceConstruct of opset 17 (node first, second); "
        "com.example.Magic of opset 2 (node third)"
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [make("Conv", ["x", "x"], ["y"], "c", kernel_shape=[3, 3])],
            r"node c \(Conv\)|the model is not legal",
        ),
        ([make("Relu", ["nowhere"], ["y"], "r")], "the model is not legal.*nowhere"),
        ([make("Relu", ["x"], ["y"], "r", alpha=1.0)], "the model is not legal.*alpha"),
        ([make("Softmax", ["x"], ["y"], "s", axis=9)], "axis"),
        (
            [
                make("NonZero", ["x"], ["z"], "n"),
                make("Cast", ["z"], ["f"], to=1),
                make("ReduceMean", ["f"], ["y"], "m", axes=[1], keepdims=0),
            ],
            r"node m \(ReduceMean\): not supported: the extent of axis 1 of operand data, "
            r"up to 32, has to be known when the model is imported, and depends on "
            r"inputs: x; --input gives a value$",
        ),
        (
            [make("AveragePool", ["x"], ["y"], kernel_shape=[9, 9])],
            r"node AveragePool of y: average_pool\(...\): axis 2 of|the model is not legal",
        ),
    ],
)
def test_refusals(nodes: list[NodeProto], message: str) -> None:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", 1, [None] * (1 + 3 * (len(nodes) < 2)))],
    )
    opset = helper.make_opsetid("", 17)
    with pytest.raises(FrontendError, match=message):
        import_model(helper.make_model(graph, opset_imports=[opset], ir_version=8))


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_softmax_of_a_scalar_is_refused(operator: str, axis: int, opset: int) -> None:
    """A scalar has no axis; ONNX's shape inference refuses it from opset 11 on."""
    x, y = (helper.make_tensor_value_info(name, 1, []) for name in "xy")
    graph = helper.make_graph([make(operator, ["x"], ["y"], "s", axis=axis)], "g", [x], [y])
    opsets = [helper.make_opsetid("", opset)]
    message = rf"node s \({operator}\): axis {axis} of float32\[\]|Input rank must be >= 1"
    with pytest.raises(FrontendError, match=message):
        import_model(helper.make_model(graph, opset_imports=opsets, ir_version=8))


@pytest.mark.parametrize(("opset", "said"), [(0, "opset 0"), (99, "opset 99")])
def test_other_opsets_are_refused(opset: int, said: str) -> None:
    given = residual()
    given.opset_import[0].version = opset
    with pytest.raises(FrontendError, match=f"the model is of {said}: 1 to"):
        import_model(given)


def test_functions_of_the_model_are_inlined() -> None:
    body = [make("Relu", ["a"], ["t"]), make("Neg", ["t"], ["b"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "Twist", ["a"], ["b"], body, opsets[:1])
    graph = helper.make_graph(
        [make("Twist", ["x"], ["y"], domain="own")],
        "g",
        [helper.make_tensor_value_info("x", 1, [3])],
        [helper.make_tensor_value_info("y", 1, [3])],
    )
    given = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=8)
    agrees(given, noise(3))


def test_quantised_layers() -> None:
    """QDQ as quantisers write it becomes what passes look for."""
    weights: dict[str, Array] = {
        "w": np.random.default_rng(0).integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "ws": np.full(4, 0.01, np.float32),
        "wz": np.zeros(4, np.int8),
        "s": np.array(0.05, np.float32),
        "z": np.array(3, np.uint8),
    }
    nodes = [
        make("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make("DequantizeLinear", ["q", "s", "z"], ["d"]),
        make("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=0),
        make("Conv", ["d", "dw"], ["c"], kernel_shape=[3, 3]),
        make("QuantizeLinear", ["c", "s", "z"], ["y"]),
    ]
    given = model(nodes, {"x": ["N", 3, 6, 6]}, ["y"], weights, 21)
    operators = [str(let.value.callee) for let in import_model(given).function.body.lets]  # type: ignore[union-attr]
    assert operators == ["quantise", "dequantise", "dequantise", "conv2d", "quantise"]
    agrees(given, noise(2, 3, 6, 6))


def test_logic() -> None:
    """ONNX's own tests of these are of older opsets."""
    nodes = [
        make("Greater", ["x", "y"], ["g"]),
        make("Less", ["x", "y"], ["l"]),
        make("Not", ["g"], ["n"]),
        make("And", ["n", "l"], ["a"]),
        make("Or", ["a", "g"], ["o"]),
        make("Xor", ["o", "l"], ["z"]),
    ]
    agrees(model(nodes, {"x": ["N", 3], "y": [3]}, ["n", "a", "o", "z"]), noise(4, 3), noise(3))


def test_a_layer_has_a_row_of_weights_for_each_output() -> None:
    """Whichever way a model says it; what is no layer stays a product."""
    weights = {"w": noise(4, 5), "b": noise(5), "row": noise(1, 5), "column": noise(2, 1)}
    nodes = [
        make("Gemm", ["x", "w", "b"], ["p"]),
        make("Gemm", ["x", "w", "row"], ["q"]),
        make("MatMul", ["x", "w"], ["r"]),
        make("Gemm", ["x", "w", "column"], ["s"]),
        make("Gemm", ["x", "w", "b"], ["t"], alpha=0.5),
        make("Gemm", ["w", "w"], ["u"], transA=1),
    ]
    given = model(nodes, {"x": [2, 4]}, list("pqrstu"), weights)
    lets = import_model(given).function.body.lets
    operators = [str(let.value.callee) for let in lets[:-1]]  # type: ignore[union-attr]
    assert operators == ["dense", "dense", "dense", "gemm", "gemm", "gemm"]
    agrees(given, noise(2, 4))


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["QuantizeLinear", "DequantizeLinear"])
def test_scales_that_are_no_numbers(which: str, scale: float) -> None:
    make = helper.make_node
    scales = ["bad", "s"] if which == "QuantizeLinear" else ["s", "bad"]
    nodes = [
        make("QuantizeLinear", ["x", scales[0], "z"], ["q"]),
        make("DequantizeLinear", ["q", scales[1], "z"], ["y"]),
    ]
    weights: dict[str, Array] = {
        "s": np.array(0.5, np.float32),
        "bad": np.array(scale, np.float32),
        "z": np.array(0, np.int8),
    }
    with pytest.raises(FrontendError, match=f"node {which} of .: a scale is NaN or infinite"):
        import_model(model(nodes, {"x": [1, 4]}, ["y"], weights))


def test_tensors_of_too_many_axes() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    with pytest.raises(CompilerError, match="a tensor of float32 has 100 axes; at most 32 are"):
        import_model(model(nodes, {"x": [1] * 100}, ["y"]))
