"""Arithmetic on extents, some of them symbols: what becomes of it, and how it is refused, stays as
it was. What is taken gives the numbers of ONNX's reference for every extent.

Exporters write such chains before reshapes. An operand may be a symbol in any place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import CompilerError
from tandem.compiler.frontends.onnx import Imported, import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.printer import text
from tests.support.compiler.frontends.onnx_models import Array, model

CASES = 300
EVALUATED = 6
"""The results of one case in so many are compared."""
SHAPES = ((3, 2, 4), (1, 2, 5))
"""Shapes of the input, whose first and last extents are symbols."""
INTEGERS, REALS = TensorProto.INT64, TensorProto.FLOAT


class Chain:
    """Nodes on the shape of `x`; the values so far, by their number of axes, 0 or 1."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.nodes = [make_node("Shape", ["x"], ["shape"])]
        self.weights: dict[str, Array] = {}
        self.ranks = {"shape": 1}

    def value(self, rank: int) -> str:
        """A value, mostly a recent one, or a constant."""
        fitting = [name for name, own in self.ranks.items() if own == rank]
        if fitting and self.rng.random() < 0.7:
            return self.rng.choice(fitting[-3:])
        count = self.rng.choice((1, 1, 2, 3))
        numbers = [self.rng.choice((0, 1, 2, 3, 4, 12, -1)) for _ in range(count)]
        return self.constant(numbers[0] if rank == 0 else numbers)

    def constant(self, numbers: Any) -> str:
        """A constant of int64."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.array(numbers)
        return name

    def add(self, operator: str, operands: Sequence[str], rank: int, **attributes: Any) -> str:
        """A node; the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(make_node(operator, operands, [name], **attributes))
        self.ranks[name] = rank
        return name

    def step(self) -> None:
        """Add a random node."""
        rng = self.rng
        rank = rng.choice((0, 0, 1))
        match rng.randrange(11):
            case 0 | 1:
                where = rng.choice((0, 1, 2, -1)) if rank == 0 else [rng.choice((0, 1, 2, -1))]
                self.add("Gather", [self.value(1), self.constant(where)], rank)
            case 2:
                ends = [self.constant([rng.choice((0, 1, 2, 3, -1))]) for _ in range(2)]
                self.add("Slice", [self.value(1), *ends], 1)
            case 3:
                self.add("Unsqueeze", [self.value(0), self.constant([0])], 1)
            case 4:
                self.add("Concat", [self.value(1), self.value(1)], 1, axis=0)
            case 5 | 6:
                kind = rng.choice(("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"))
                self.add(kind, [self.value(rank), self.value(rank)], rank)
            case 7:
                kind = rng.choice(("ReduceProd", "ReduceSum", "ReduceMax"))
                self.add(kind, [self.value(1)], 0, keepdims=0)
            case 8:
                to = rng.choice((INTEGERS, REALS, TensorProto.INT32))
                middle = self.add("Cast", [self.value(rank)], 2, to=to)
                self.add("Cast", [middle], rank, to=INTEGERS)
            case 9:
                self.add("Range", [self.value(0), self.value(0), self.value(0)], 1)
            case _:
                same = self.add("Equal", [self.value(rank), self.value(rank)], 2)
                self.add("Where", [same, self.value(rank), self.value(rank)], rank)

    def end(self) -> None:
        """What the shape is for: the last node gives `y`."""
        match self.rng.randrange(4):
            case 0:
                self.nodes.append(make_node("Reshape", ["x", self.value(1)], ["y"]))
            case 1:
                self.nodes.append(make_node("ConstantOfShape", [self.value(1)], ["y"]))
            case 2:
                self.nodes.append(make_node("Expand", ["x", self.value(1)], ["y"]))
            case _:
                self.nodes.append(make_node("Cast", [self.value(1)], ["y"], to=REALS))

    def needed(self) -> list[NodeProto]:
        """The nodes on which `y` depends."""
        wanted, found = {"y"}, []
        for node in reversed(self.nodes):
            if wanted & {*node.output}:
                wanted |= {*node.input}
                found.append(node)
        return found[::-1]


def _model(seed: int) -> ModelProto:
    rng = Random(f"shape {seed}")
    chain = Chain(rng)
    for _ in range(rng.randint(1, 5)):
        chain.step()
    chain.end()
    nodes = chain.needed()
    read = {name for node in nodes for name in node.input}
    weights = {name: array for name, array in chain.weights.items() if name in read}
    return model(nodes, {"x": ("n", 2, "m")}, ["y"], weights, opset=18)


def _imported(seed: int) -> Imported | str:
    """What the model becomes, or how it is refused."""
    try:
        return import_model(_model(seed))
    except CompilerError as error:
        # What ONNX itself says depends on its version.
        said = str(error).partition("the model is not legal: ")
        return f"{type(error).__name__}: {said[0]}{said[1]}"


def test_shapes(recorded: Callable[[str, Sequence[str]], None]) -> None:
    found = [_imported(seed) for seed in range(CASES)]
    texts = [each if isinstance(each, str) else text(each.function) for each in found]
    taken = sum(not isinstance(each, str) for each in found)
    assert CASES // 4 < taken < CASES
    recorded("recorded/frontends/shapes.txt", texts)


def test_numbers() -> None:
    compared = 0
    for seed in range(0, CASES, EVALUATED):
        imported = _imported(seed)
        if isinstance(imported, str):
            continue
        reference = ReferenceEvaluator(_model(seed))
        for shape in SHAPES:
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            try:
                with np.errstate(all="ignore"):
                    (wanted,) = reference.run(None, {"x": x})
                arguments = [x] if imported.function.params else []
                found = evaluate(imported.function, arguments)
            except (ValueError, CompilerError):
                # A reshape that does not fit these extents, for either.
                continue
            (given,) = imported.by_name(found).values()
            np.testing.assert_array_equal(given, wanted, err_msg=f"{seed} {shape}")
            compared += 1
    assert compared > CASES // EVALUATED // 3
