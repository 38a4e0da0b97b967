"""Extents that depend on inputs, behind what reads, cuts or changes extents: against NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tandem.compiler.errors import UnknownValueError
from tandem.compiler.frontends.onnx.bounded import shapes
from tandem.compiler.frontends.onnx.bounded.rule import Rule
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Count, Value
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Body, Function, Var
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32, INT64


class Bounded:
    """Nodes of tensors in which extents are `n`, or `m`, elements: inputs of the graph."""

    def __init__(self) -> None:
        self.builder = Builder(set())
        scalar = TensorType((), INT64)
        self.params = [self.builder.param(name, scalar) for name in "nm"]
        self.n, self.m = (Count(Value(scalar, Var(each.name)), "x") for each in self.params)

    def data(self, *shape: int, **counts: Count) -> Value:
        """A tensor of floats; `a1` is the count along axis 1."""
        by_axis = {int(axis[1:]): count for axis, count in counts.items()}
        return Value(TensorType(shape, FLOAT32), Var("data"), counts=by_axis)

    def node(self, operator: str, opset: int, *operands: Any, **attributes: Any) -> Node:
        values = [it if isinstance(it, Value) else constant(np.array(it)) for it in operands]
        names = [f"in{at}" for at in range(len(values))]
        proto = helper.make_node(operator, names, ["y"], "node", **attributes)
        definition = standard(operator, opset, "")
        assert definition is not None
        return Node(proto, definition, values, frozenset(), self.builder)

    def number(self, value: Value, n: int, m: int = 0) -> Any:
        """What is computed, with these counts."""
        body = Body(tuple(self.builder.lets), self.builder.atom(value))
        found = evaluate(Function("f", tuple(self.params), body), [np.array(n), np.array(m)])
        return np.asarray(found).tolist()


def count_of(
    rule: Rule,
    operator: str,
    operands: Sequence[Any],
    result: tuple[int, ...],
    along: int,
    **given: Any,
) -> list[int]:
    """The count along the only bounded axis of a result, for 0 to 6 elements of the operand."""
    it = Bounded()
    found = applied(it, rule, operator, operands, result, **given)
    assert [*found.counts] == [along]
    size = it.builder.end_body("size", [found.counts[along].size])[0]
    assert found.counts[along].source == "x"
    return [it.number(size, n) for n in range(7)]


def applied(
    it: Bounded,
    rule: Rule,
    operator: str,
    operands: Sequence[Any],
    result: tuple[int, ...],
    **given: Any,
) -> Value:
    """The result of a rule; the first operand is a shape and the axis along which it is bounded."""
    shape, *axes = operands[0]
    counts = {f"a{axis}": count for axis, count in zip(axes, (it.n, it.m), strict=False)}
    node = it.node(operator, 18, it.data(*shape, **counts), *operands[1:], **given)
    (found,) = rule(node, (it.data(*result),))
    return found


def refused(
    rule: Rule,
    operator: str,
    operands: Sequence[Any],
    result: tuple[int, ...],
    along: int,
    **given: Any,
) -> None:
    it = Bounded()
    most = operands[0][0][along]
    message = rf"^node node \({operator}\): not supported: the extent of axis {along} of operand "
    with pytest.raises(UnknownValueError, match=rf"{message}\w+, up to {most}, has to be known"):
        applied(it, rule, operator, operands, result, **given)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, [5, "n", 3, "m"]),
        ({"start": 1, "end": 2}, ["n"]),
        ({"start": -2}, [3, "m"]),
        ({"end": -1}, [5, "n", 3]),
        ({"start": 2, "end": 3}, None),
        ({"end": 1}, None),
    ],
)
def test_shapes(given: dict[str, int], wanted: list[Any] | None) -> None:
    it = Bounded()
    node = it.node("Shape", 15, it.data(5, 4, 3, 6, a1=it.n, a3=it.m), **given)
    before = (it.data(1),)
    found = shapes.shape(node, before)
    if wanted is None:
        assert found is before
        return
    (size,) = it.builder.end_body("it", found)
    for n, m in ((0, 6), (2, 5)):
        assert it.number(size, n, m) == [{"n": n, "m": m}.get(each, each) for each in wanted]


def test_sizes() -> None:
    it = Bounded()
    node = it.node("Size", 13, it.data(5, 4, 3, 6, a1=it.n, a3=it.m))
    (size,) = it.builder.end_body("it", shapes.size(node, ()))
    assert it.number(size, 2, 5) == 5 * 2 * 3 * 5
    assert size.type == TensorType((), INT64)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 6), (0, 0), (1, 6), (2, 4), (5, 6), (0, 1), (3, 100), (6, 6)]
)
@pytest.mark.parametrize("axis", [0, -2])
def test_slices(start: int, end: int, axis: int) -> None:
    """As many as NumPy cuts of the elements that there are."""
    extent = len(range(6)[start:end])
    found = count_of(shapes.sliced, "Slice", [((6, 5), 0), [start], [end], [axis]], (extent, 5), 0)
    assert found == [len(range(n)[start:end]) for n in range(7)]


def test_slices_along_other_axes() -> None:
    operands = [((6, 5), 0), [-3, 1], [-1, 5], [1, 0], [2, 1]]
    assert count_of(shapes.sliced, "Slice", operands, (4, 1), 0) == [0, 0, 1, 2, 3, 4, 4]
    alone = [((6, 5), 0), [4], [-9], [1], [-1]]
    assert count_of(shapes.sliced, "Slice", alone, (6, 5), 0) == [*range(7)]


@pytest.mark.parametrize(
    ("start", "end", "step"), [(-1, 6, 1), (0, -1, 1), (0, 6, 2), (5, 0, -1), (-1, -1, 1)]
)
def test_slices_from_the_end_are_refused(start: int, end: int, step: int) -> None:
    operands = [((5, 6), 1), [start], [end], [1], [step]]
    refused(shapes.sliced, "Slice", operands, (5, 3), 1)


@pytest.mark.parametrize(
    ("shape", "wanted", "result", "into", "rows"),
    [
        (((1, 6, 4), 1), [1, -1], (1, 24), 1, 4),
        (((1, 6, 4), 1), [-1], (24,), 0, 4),
        (((6, 4), 0), [-1, 2], (12, 2), 0, 2),
        (((6, 4), 0), [-1, 2, 2], (6, 2, 2), 0, 1),
        (((6, 4), 0), [1, -1, 4], (1, 6, 4), 1, 1),
        (((1, 6, 4), 1), [1, 0, 2, -1], (1, 6, 2, 2), 1, 1),
        (((1, 6, 4), 1), [0, -1], (1, 24), 1, 4),
        (((6,), 0), [1, 1, -1], (1, 1, 6), 2, 1),
    ],
)
def test_reshapes(
    shape: Any, wanted: list[int], result: tuple[int, ...], into: int, rows: int
) -> None:
    """NumPy reshapes as many rows so, too."""
    found = count_of(shapes.reshaped, "Reshape", [shape, wanted], result, into)
    assert found == [rows * n for n in range(7)]
    extents, axis = shape
    part = np.zeros([2 if at == axis else each for at, each in enumerate(extents)])
    asked = [-1 if at == into else each for at, each in enumerate(result)]
    assert part.reshape(asked).shape[into] == 2 * rows


@pytest.mark.parametrize(
    ("shape", "wanted", "result", "given"),
    [
        (((6, 4), 0), [4, 6], (4, 6), {}),
        (((6, 4), 0), [2, -1], (2, 12), {}),
        (((6, 4), 0), [-1, 3], (8, 3), {}),
        (((6, 4), 0), [-1, 8], (3, 8), {}),
        (((6, 0), 0), [-1, 5], (0, 5), {}),
        (((6, 1), 0), [0, 1], (6, 1), {"allowzero": 1}),
        (((2, 6), 1), [-1], (12,), {}),
        (((3, 2), 0, 1), [-1], (6,), {}),
    ],
)
def test_reshapes_that_would_move_padding_are_refused(
    shape: Any, wanted: list[int], result: tuple[int, ...], given: dict[str, int]
) -> None:
    refused(shapes.reshaped, "Reshape", [shape, wanted], result, shape[1], **given)


@pytest.mark.parametrize(
    ("axis", "rows"), [(None, None), (2, 1), (3, 4), (-1, 1), (1, None), (0, None), (-2, None)]
)
def test_flattens(axis: int | None, rows: int | None) -> None:
    """The bounded axis has to become part of the first, which by default has one axis."""
    given = {} if axis is None else {"axis": axis}
    # Of the result only extents behind the first are read where it is allowed.
    result = (24, 1) if axis == 3 else (6, 4)
    if rows is None:
        refused(shapes.flattened, "Flatten", [((1, 6, 4), 1)], result, 1, **given)
    else:
        found = count_of(shapes.flattened, "Flatten", [((1, 6, 4), 1)], result, 0, **given)
        assert found == [rows * n for n in range(7)]


def test_what_is_flattened_from_the_end() -> None:
    """An axis below 0 is one from the end: the only row of this is part of the second extent."""
    refused(shapes.flattened, "Flatten", [((1, 1, 4), 1)], (1, 4), 1, axis=-2)
    found = count_of(shapes.flattened, "Flatten", [((1, 1, 4), 1)], (1, 4), 0, axis=-1)
    assert found == [*range(7)]


def test_scatters() -> None:
    """Indices and what they scatter have the same counts; where they go has none."""

    def scatter(*bounded: dict[str, Count]) -> None:
        operands = [
            it.data(*shape, **counts) for shape, counts in zip(SHAPES, bounded, strict=True)
        ]
        node = it.node("ScatterElements", 18, *operands)
        before = (it.data(5),)
        assert shapes.scattered(node, before) is before

    it = Bounded()
    scatter({}, {"a0": it.n}, {"a0": it.n})
    scatter({}, {"a0": it.n, "a1": it.m}, {"a0": it.n, "a1": it.m})
    scatter({}, {}, {})
    for bounded, operand, axis in (
        (({"a1": it.n}, {}, {}), "data", 1),
        (({}, {"a0": it.n}, {}), "indices", 0),
        (({}, {}, {"a1": it.n}), "updates", 1),
        (({}, {"a0": it.n}, {"a0": it.m}), "indices", 0),
        (({}, {"a0": it.n}, {"a0": it.n, "a1": it.m}), "updates", 1),
    ):
        with pytest.raises(UnknownValueError, match=f"axis {axis} of operand {operand}, up to"):
            scatter(*bounded)


SHAPES = (5, 4), (3, 4), (3, 4)
