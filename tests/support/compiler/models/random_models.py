"""Random ONNX models of small networks: what exporters write, in every combination."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = NDArray[Any]

_STEPS = {
    "conv": 10,
    "pool": 5,
    "activate": 4,
    "residual": 4,
    "concat": 2,
    "bias": 1,
    "normalise": 1,
    "multiply": 1,
    "transpose": 1,
}
"""The kinds of nodes that are drawn, with their relative frequencies."""
_ACTIVATIONS = (
    *("Relu", "Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Elu"),
    *("Softplus", "Neg", "Abs", "PRelu"),
)
_CHANNELS = (1, 2, 3, 4, 5, 8, 12, 16, 17)
_LARGEST = 1500
"""The maximum number of elements of a tensor."""


@dataclass
class RandomModel:
    """A random model under construction.

    Attributes
    ----------
    shapes
        Shapes of the values so far, by name.
    in_reference
        Whether ONNX's reference evaluator computes all nodes as ONNX Runtime does. Of pools with
        `ceil_mode`, and MaxPool of stride 1 or with `auto_pad`, it has other shapes and divisors;
        up to opset 13, its BatchNormalization is that of training.
    """

    seed: int
    rng: np.random.Generator
    opset: int
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    in_reference: bool = True

    @staticmethod
    def of(seed: int) -> RandomModel:
        """The model of a seed."""
        rng = np.random.default_rng(seed)
        made = RandomModel(seed, rng, int(rng.choice([13, 14, 17, 19, 21, 22])))
        batch, channels = made.draw(1, 1, 2, 3, 4), made.draw(*_CHANNELS)
        extents = made.most(10), made.most(10)
        made.inputs = ("x", "z")[: made.draw(1, 1, 2)]
        for name in made.inputs:
            alike = name == "x" or made.odds(0.6)
            made.shapes[name] = (batch, channels if alike else made.draw(*_CHANNELS), *extents)
        chances = np.array([*_STEPS.values()], float)
        wanted = int(rng.integers(1, 9))
        while len(made.nodes) < wanted:
            getattr(made, f"_{rng.choice([*_STEPS], p=chances / chances.sum())}")()
        if made.odds(0.5):
            made._classify()
        return made

    # Choices -------------------------------------------------------------------------------------

    def draw(self, *among: int) -> int:
        """A random element of `among`."""
        return int(self.rng.choice(among))

    def most(self, limit: int) -> int:
        """A random number from 1 to `limit`."""
        return int(self.rng.integers(1, limit + 1))

    def odds(self, chance: float) -> bool:
        """True with probability `chance`."""
        return bool(self.rng.random() < chance)

    def image(self) -> str:
        """A random image, mostly a recent one."""
        names = [name for name, shape in self.shapes.items() if len(shape) == 4]
        return str(self.rng.choice(names[-2:] * 3 + names))

    def like(self, name: str, axes: tuple[int, ...]) -> str:
        """A random image with the extents of another along `axes`."""
        wanted = [self.shapes[name][axis] for axis in axes]
        fitting = [
            other
            for other, shape in self.shapes.items()
            if len(shape) == 4 and [shape[axis] for axis in axes] == wanted
        ]
        return str(self.rng.choice(fitting))

    def weight(self, *shape: int, shared: bool = False) -> str:
        """The name of random weights; with `shared`, often of older ones of this shape."""
        older = [name for name, values in self.weights.items() if values.shape == shape]
        if shared and older and self.odds(0.4):
            return str(self.rng.choice(older))
        values = self.rng.normal(size=shape) * np.sqrt(2 / prod(shape[1:]))
        if self.odds(0.2):
            values = values * 10 ** self.rng.uniform(-2, 1, (shape[0], *[1] * (len(shape) - 1)))
        return self.constant(values.astype(np.float32))

    def constant(self, values: Array) -> str:
        """The name of a new constant."""
        name = f"w{len(self.weights)}"
        self.weights[name] = values
        return name

    # Nodes ---------------------------------------------------------------------------------------

    def node(self, operator: str, *operands: str, **attributes: Any) -> str:
        """Add a node; its result's shape is what ONNX infers, in the newest opset."""
        name = f"v{len(self.nodes)}"
        node = helper.make_node(operator, operands, [name], **attributes)
        known = [
            helper.make_tensor_value_info(operand, TensorProto.FLOAT, self.shapes[operand])
            for operand in dict.fromkeys(operands)
            if operand in self.shapes
        ]
        stored = [
            numpy_helper.from_array(self.weights[operand], operand)
            for operand in dict.fromkeys(operands)
            if operand in self.weights
        ]
        result = helper.make_empty_tensor_value_info(name)
        graph = helper.make_graph([node], "node", known, [result], stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
        found = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        (output,) = found.graph.output
        shape = tuple(each.dim_value for each in output.type.tensor_type.shape.dim)
        assert shape
        assert all(shape), f"{operator} gives {shape}"
        if prod(shape) <= 4 * _LARGEST:
            self.nodes.append(node)
            self.shapes[name] = shape
        return name

    def _windows(self, image: str, kernel: list[int], *, dilate: bool) -> dict[str, Any] | None:
        """Attributes of windows of which none is without data; None if they do not fit."""
        extents = self.shapes[image][2:]
        found: dict[str, Any] = {"strides": [self.draw(1, 1, 2, 3) for _ in kernel]}
        dilations = [self.draw(1, 1, 1, 2) if dilate else 1 for _ in kernel]
        if any(each > 1 for each in dilations):
            found["dilations"] = dilations
        reaches = [(k - 1) * gap + 1 for k, gap in zip(kernel, dilations, strict=True)]
        # Neither rival pads "SAME" where windows leave gaps: their padding would be negative.
        gaps = any(stride > k for stride, k in zip(found["strides"], kernel, strict=True))
        if self.odds(0.15) and "dilations" not in found and not gaps:
            found["auto_pad"] = str(self.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
            pads = [0] * 4 if found["auto_pad"] == "VALID" else [99] * 4
        else:
            pads = [int(self.rng.integers(0, extent)) for extent in kernel * 2]
            found["pads"] = pads
        fits = all(
            extent + before + after >= reach and extent > reach - 1 - min(before, after)
            for extent, before, after, reach in zip(
                extents, pads[:2], pads[2:], reaches, strict=True
            )
        )
        return found if fits else None

    def _conv(self) -> None:
        image = self.image()
        channels = self.shapes[image][1]
        groups = channels if self.odds(0.15) else 1
        if groups == 1 and self.odds(0.2):
            groups = self.draw(*(each for each in range(1, channels + 1) if not channels % each))
        outputs = groups * self.draw(1, 1, 2, 3, 5) if groups > 1 else self.draw(*_CHANNELS)
        kernel = [self.draw(1, 2, 3, 3, 4), self.draw(1, 3, 3, 5)]
        windows = self._windows(image, kernel, dilate=True)
        if windows is None or outputs > 40:
            return
        operands = [image, self.weight(outputs, channels // groups, *kernel, shared=True)]
        if self.odds(0.6):
            operands.append(self.weight(outputs, shared=True))
        self.node("Conv", *operands, group=groups, **windows)

    def _pool(self) -> None:
        image = self.image()
        kernel = [self.draw(1, 2, 3, 3), self.draw(1, 2, 3, 4)]
        average = self.odds(0.5)
        windows = self._windows(image, kernel, dilate=not average or self.opset >= 19)
        if windows is None:
            return
        if self.odds(0.5) and windows.get("auto_pad") is None:
            windows["ceil_mode"] = 1
        same = str(windows.get("auto_pad", "")).startswith("SAME")
        if "ceil_mode" in windows or (not average and (same or max(windows["strides"]) == 1)):
            self.in_reference = False
        if average:
            windows["count_include_pad"] = self.draw(0, 1)
        self.node("AveragePool" if average else "MaxPool", image, kernel_shape=kernel, **windows)

    def _activate(self) -> None:
        image, operator = self.image(), str(self.rng.choice(_ACTIVATIONS))
        operands = [image]
        if operator == "HardSwish" and self.opset < 14:
            operator = "Relu"
        if operator == "Clip":
            low = np.float32(-self.rng.random())
            operands += [self.constant(np.array(low)), self.constant(np.array(low + 1.5))]
        if operator == "PRelu":
            operands.append(self.weight(self.shapes[image][1], 1, 1))
        self.node(operator, *operands)

    def _residual(self) -> None:
        image = self.image()
        operands = [image, self.like(image, (0, 1, 2, 3))]
        if self.odds(0.2):
            self.node("Sum", *operands, self.like(image, (0, 1, 2, 3)))
        else:
            self.node(str(self.rng.choice(["Add", "Add", "Add", "Sub", "Max"])), *operands)

    def _concat(self) -> None:
        image = self.image()
        others = [self.like(image, (0, 2, 3)) for _ in range(self.draw(1, 1, 2))]
        if sum(prod(self.shapes[each]) for each in (image, *others)) <= _LARGEST:
            self.node("Concat", image, *others, axis=1)

    def _bias(self) -> None:
        image = self.image()
        self.node("Add", image, self.weight(*((self.shapes[image][1], 1, 1)), shared=True))

    def _normalise(self) -> None:
        image = self.image()
        channels = self.shapes[image][1]
        scale, shift, mean = (self.weight(channels) for _ in range(3))
        variance = self.constant(self.rng.uniform(0.5, 2, channels).astype(np.float32))
        self.in_reference = self.in_reference and self.opset >= 14
        self.node("BatchNormalization", image, scale, shift, mean, variance)

    def _multiply(self) -> None:
        image = self.image()
        if self.odds(0.5):
            gate = self.node("Sigmoid", image)
            self.node("Mul", image, gate if gate in self.shapes else image)
        else:
            self.node("Mul", image, self.constant(np.array(np.float32(self.rng.normal()))))

    def _transpose(self) -> None:
        self.node("Transpose", self.image(), perm=[0, 1, 3, 2])

    def _classify(self) -> None:
        """Add a classifier: flattened or pooled, then a matrix product in one of its forms."""
        if self.opset < 22 and any(
            attribute.name == "ceil_mode" for node in self.nodes for attribute in node.attribute
        ):
            return  # ONNX Runtime infers too many windows, and refuses weights that fit.
        image = self.image()
        if self.odds(0.5):
            image = self.node("GlobalAveragePool", image)
        flat = self.node("Flatten", image)
        rows, columns = self.shapes[flat]
        outputs = self.draw(1, 3, 10, 16, 19)
        if columns * outputs > 20_000:
            return
        if self.odds(0.3):
            self.node("MatMul", flat, self.weight(columns, outputs))
            return
        attributes: dict[str, Any] = {}
        if self.odds(0.2):
            flat, attributes["transA"] = self.node("Transpose", flat, perm=[1, 0]), 1
        shape = (columns, outputs)
        if self.odds(0.5):
            shape, attributes["transB"] = (outputs, columns), 1
        if self.odds(0.2):
            attributes |= {"alpha": float(self.rng.normal()), "beta": float(self.rng.normal())}
        operands = [flat, self.weight(*shape)]
        if self.odds(0.7):
            shapes = ((outputs,), (1, outputs), (rows, outputs), (rows, 1), (1,))
            operands.append(self.weight(*shapes[self.draw(0, 0, 0, 1, 2, 3, 4)]))
        result = self.node("Gemm", *operands, **attributes)
        if self.odds(0.3):
            self.node("Softmax" if self.odds(0.5) else "Relu", result)

    # The model -----------------------------------------------------------------------------------

    @property
    def model(self) -> ModelProto:
        """The model: its results are all values without users, or the last one and another."""
        read = {name for node in self.nodes for name in node.input}
        results = [node.output[0] for node in self.nodes if node.output[0] not in read]
        used = {name: self.weights[name] for name in self.weights if name in read}
        inputs, outputs = (
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shapes[name])
                for name in names
            ]
            for names in (self.inputs, results)
        )
        stored = [numpy_helper.from_array(values, name) for name, values in used.items()]
        graph = helper.make_graph(self.nodes, f"random_{self.seed}", inputs, outputs, stored)
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)

    def data(self, seed: int) -> dict[str, Array]:
        """Random inputs by name."""
        rng = np.random.default_rng([self.seed, seed])
        return {name: rng.normal(size=self.shapes[name]).astype(np.float32) for name in self.inputs}
