"""Small networks whose inputs are declared in all the ways in which exporters leave extents open.

Each has a plain twin for ONNX Runtime, which does not load all of them: with exact shapes of its
inputs, without declarations of results, and with the branch that is taken in place of a choice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx import numpy_helper as arrays

from tandem.compiler.frontends.onnx import StatedShape

Array = NDArray[Any]
make = helper.make_node
_RATE = 16_000


@dataclass(frozen=True)
class OpenModel:
    """A model with open extents.

    Attributes
    ----------
    twin
        The same network with exact shapes.
    feeds
        Arrays for all inputs.
    stated
        What is stated beside the arrays.
    """

    model: ModelProto
    twin: ModelProto
    feeds: dict[str, Array]
    stated: tuple[StatedShape, ...]


@dataclass
class _Drawing:
    """A network under construction; `shape` is that of its last value."""

    draw: st.DrawFn
    rng: np.random.Generator
    shape: tuple[int, ...]
    value: str = "x"
    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    feeds: dict[str, Array] = field(default_factory=dict)
    taken: GraphProto | None = None

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        bound = sqrt(3 / prod(shape[1:]))
        self.weights[name] = self.rng.uniform(-bound, bound, shape).astype(np.float32)
        return name

    def numbers(self, *elements: int, dtype: Any = np.int64) -> str:
        name = f"n{len(self.weights)}"
        self.weights[name] = np.array(elements, dtype)
        return name

    def node(self, operator: str, *operands: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(make(operator, [*operands], [name], **attributes))
        return name

    # Parts of a network ---------------------------------------------------------------------------

    def convolution(self) -> None:
        size, stride, channels = self.one_of(1, 3), self.one_of(1, 1, 2), self.one_of(4, 8, 17)
        batch, inputs, *image = self.shape
        pads = [size // 2] * 4
        weight = self.weight(channels, inputs, size, size)
        data = self.node("Conv", self.value, weight, strides=[stride] * 2, pads=pads)
        self.value = self.node("Relu", data)
        self.shape = (batch, channels, *(-(-extent // stride) for extent in image))

    def resized(self) -> None:
        """Resized to the extents of the input, which are computed from its shape."""
        kept, image = (
            self.node("Slice", self.node("Shape", of), self.numbers(start), self.numbers(end))
            for of, start, end in ((self.value, 0, 2), ("x", 2, 4))
        )
        sizes = self.node("Concat", kept, image, axis=0)
        self.value = self.node(
            "Resize",
            *(self.value, "", "", sizes),
            mode="nearest",
            nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        )
        self.shape = (*self.shape[:2], *self.feeds["x"].shape[2:])

    def choice(self) -> None:
        """A branch on what is given, or on a shape. The other may hold whatever does not fit."""
        kind = self.one_of("rate", "flag", "shape")
        truth = self.one_of(True, False)
        if kind == "flag":
            self.feeds["flag"] = np.array(truth)
            condition = "flag"
        elif kind == "rate":
            dtype, shape = self.one_of(np.int64, np.int32), self.one_of((), (1,))
            self.feeds["rate"] = np.full(shape, _RATE if truth else _RATE // 2, dtype)
            self.weights["known"] = np.full(shape, _RATE, dtype)
            condition = self.node("Equal", "rate", "known")
        else:
            channels = self.node("Gather", self.node("Shape", self.value), self.numbers(1))
            expected = self.numbers(self.shape[1] + (not truth))
            condition = self.node("Equal", channels, expected)
        taken = self._branch(self.one_of("Relu", "Neg", "Conv", "Identity"))
        other = self._branch(self.one_of("Reshape", "Squeeze", "Sequence", "MatMul", "Relu"))
        names = ("then_branch", "else_branch") if truth else ("else_branch", "then_branch")
        self.value = self.node("If", condition, **dict(zip(names, (taken, other), strict=True)))
        self.taken = taken

    def _branch(self, kind: str) -> GraphProto:
        stem = f"b{len(self.nodes)}{kind}"
        own: dict[str, Array] = {}
        match kind:
            case "Conv":
                channels = self.shape[1]
                own["cw"] = self.weights.pop(self.weight(channels, channels, 1, 1))
                nodes = [make("Conv", [self.value, "cw"], [stem])]
            case "Reshape":
                own["target"] = np.array([7, 11])
                nodes = [make("Reshape", [self.value, "target"], [stem])]
            case "Squeeze":
                own["axes"] = np.array([1, 2])
                nodes = [make("Squeeze", [self.value, "axes"], [stem])]
            case "MatMul":
                own["odd"] = np.ones((29, 2), np.float32)
                nodes = [make("MatMul", [self.value, "odd"], [stem])]
            case "Sequence":
                own["first"] = np.array(0)
                nodes = [
                    make("SequenceConstruct", [self.value, self.value], [f"{stem}_all"]),
                    make("SequenceAt", [f"{stem}_all", "first"], [stem]),
                ]
            case _:
                nodes = [make(kind, [self.value], [stem])]
        result = helper.make_tensor_value_info(stem, TensorProto.FLOAT, None)
        weights = [arrays.from_array(array, f"{stem}_{name}") for name, array in own.items()]
        for node in nodes:
            node.input[:] = [f"{stem}_{name}" if name in own else name for name in node.input]
        return helper.make_graph(nodes, stem, [], [result], weights)

    def flattened(self) -> None:
        """Rows of a batch that is computed from the shape, and a product."""
        features = prod(self.shape[1:])
        kind = self.one_of("Flatten", "Slice", "Gather", "Size")
        shape = self.node("Shape", self.value)
        narrow = self.one_of(None, TensorProto.INT32, TensorProto.FLOAT)
        if narrow is not None:
            shape = self.node("Cast", shape, to=narrow)
        match kind:
            case "Flatten":
                self.nodes.pop()
                if narrow is not None:
                    self.nodes.pop()
                flat = self.node("Flatten", self.value)
            case _:
                if kind == "Gather":
                    one = self.node("Gather", shape, self.numbers(0))
                else:
                    one = self.node("Slice", shape, self.numbers(0), self.numbers(1))
                if narrow is not None:
                    one = self.node("Cast", one, to=TensorProto.INT64)
                rest = self.numbers(-1)
                if kind == "Size":
                    rest = self.node("Div", self.node("Size", self.value), one)
                flat = self.node("Reshape", self.value, self.node("Concat", one, rest, axis=0))
        self.value = self.node("MatMul", flat, self.weight(features, 5))
        self.shape = (self.shape[0], 5)

    def straight(self) -> tuple[list[NodeProto], list[TensorProto]]:
        """The nodes, with the branch that is taken in place of the choice, and the weights."""
        weights = [arrays.from_array(array, name) for name, array in self.weights.items()]
        if self.taken is None:
            return self.nodes, weights
        at = next(at for at, node in enumerate(self.nodes) if node.op_type == "If")
        result = make("Identity", [self.taken.output[0].name], self.nodes[at].output)
        nodes = [*self.nodes[:at], *self.taken.node, result, *self.nodes[at + 1 :]]
        return nodes, [*weights, *self.taken.initializer]

    # The model ------------------------------------------------------------------------------------

    def declared(self, name: str, shape: tuple[int, ...]) -> ValueInfoProto:
        """An input of which any extents are open, in any way."""
        number = helper.np_dtype_to_tensor_dtype(self.feeds[name].dtype)
        if self.one_of(*[False] * 7, True):
            return helper.make_tensor_value_info(name, number, None)
        info = helper.make_tensor_value_info(name, number, shape)
        style = self.one_of("mixed", "mixed", "?", "-1", "names")
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            kind = style
            if style == "mixed":
                kind = self.one_of("fixed", "name", "shared", "-1", "nothing", "?")
            match kind:
                case "fixed":
                    pass
                case "-1":
                    dim.dim_value = -1
                case "nothing":
                    dim.Clear()
                case "?":
                    dim.dim_param = "?"
                case "shared":
                    # Equal extents may share a name.
                    dim.dim_param = f"extent {shape[axis]}"
                case _:
                    dim.dim_param = f"{name}.{axis}"
        return info

    def statement(self, info: ValueInfoProto, batch: int) -> list[StatedShape]:
        """What is stated of the image beside its array: at least a batch that is run as one."""
        shape = self.feeds["x"].shape
        if batch > 1 or self.one_of(False, True):
            return [StatedShape("x", shape, "--shape")]
        dims = info.type.tensor_type.shape.dim
        named = [(dim.dim_param, n) for dim, n in zip(dims, shape, strict=False) if dim.dim_param]
        if named and named[-1][0] != "?" and self.one_of(False, True):
            return [StatedShape(named[-1][0], (named[-1][1],), "--shape")]
        return []


def _results(drawing: _Drawing) -> tuple[list[ValueInfoProto], list[ValueInfoProto]]:
    """What the model declares of its result, and of values within: nothing, or what is wrong."""
    kind = drawing.one_of("nothing", "names", "wrong", "exact", "-1")
    shapes: dict[str, Any] = {
        "nothing": None,
        "names": [f"out {axis}" for axis in range(len(drawing.shape))],
        "wrong": [extent + 1 for extent in drawing.shape],
        "exact": drawing.shape,
        "-1": [-1] * len(drawing.shape),
    }
    result = helper.make_tensor_value_info(drawing.value, TensorProto.FLOAT, shapes[kind])
    within = []
    if drawing.one_of(False, True):
        convolved = next(node.output[0] for node in drawing.nodes if node.op_type == "Conv")
        lie = drawing.one_of([1, 2, 3, 4], [9], ["x.0", 4, "x.0", "x.0"])
        within.append(helper.make_tensor_value_info(convolved, TensorProto.FLOAT, lie))
    return [result], within


@st.composite
def open_models(draw: st.DrawFn) -> OpenModel:
    """A convolutional network of one image, with what its declaration leaves open."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    batch = draw(st.sampled_from([1, 1, 1, 2, 3]))
    shape = (batch, *(draw(st.integers(low, high)) for low, high in ((1, 5), (3, 9), (3, 9))))
    drawing = _Drawing(draw, rng, shape)
    drawing.feeds["x"] = rng.standard_normal(shape).astype(np.float32)
    drawing.convolution()
    parts = draw(st.lists(st.sampled_from(["conv", "resize", "choice"]), max_size=3, unique=True))
    for part in parts:
        match part:
            case "conv":
                drawing.convolution()
            case "resize":
                drawing.resized()
            case _:
                drawing.choice()
    if draw(st.booleans()):
        drawing.flattened()
    results, within = _results(drawing)
    weights = [arrays.from_array(array, name) for name, array in drawing.weights.items()]
    infos = [drawing.declared(name, array.shape) for name, array in drawing.feeds.items()]
    exact = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in drawing.feeds.items()
    ]
    plain = [helper.make_tensor_value_info(drawing.value, TensorProto.FLOAT, None)]
    graph = helper.make_graph(drawing.nodes, "net", infos, results, weights, value_info=within)
    nodes, constants = drawing.straight()
    twin = helper.make_graph(nodes, "net", exact, plain, constants)
    model, exact_model = (
        helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        for whole in (graph, twin)
    )
    stated = drawing.statement(infos[0], batch)
    return OpenModel(model, exact_model, drawing.feeds, tuple(stated))
