"""Axes that results have from operands, found by changing numbers: a slice of an operand along its
axis changes, in ONNX's reference, only that slice of the result along the axis that is stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.frontends.onnx.bounded import axes
from tandem.compiler.frontends.onnx.bounded.rule import AxisMap
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tests.support.compiler.frontends.onnx_models import Array

Rule = Callable[[Node], AxisMap]


@dataclass(frozen=True)
class Case:
    """A node on operands of these shapes.

    Attributes
    ----------
    shapes
        Of operands of random numbers; no two extents of one that are alike, nor 1.
    constants
        Further operands, whose values stay.
    integers
        Positions of operands that are indices, and the number that they are below.
    whole
        Whether the rule states every axis that there is; else it states some.
    """

    rule: Rule
    operator: str
    shapes: Sequence[tuple[int, ...]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: Sequence[Any] = ()
    integers: Mapping[int, int] = field(default_factory=dict)
    opset: int = 18
    whole: bool = True

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{self.operator}-{self.opset} {[*self.shapes, *self.constants]} {told}"

    def operands(self, rng: np.random.Generator) -> list[Array]:
        found: list[Array] = []
        for at, shape in enumerate(self.shapes):
            if at in self.integers:
                found.append(rng.integers(0, self.integers[at], shape))
            else:
                found.append(rng.standard_normal(shape).astype(np.float32))
        return [*found, *(np.array(each) for each in self.constants)]

    def node(self) -> Node:
        proto, operands = self.proto(), self.operands(np.random.default_rng(0))
        definition = standard(self.operator, self.opset, "")
        assert definition is not None
        values = [constant(each) for each in operands]
        return Node(proto, definition, values, frozenset(), Builder(set()))

    def proto(self) -> Any:
        names = [f"x{at}" for at in range(len(self.shapes) + len(self.constants))]
        return helper.make_node(self.operator, names, ["y"], **self.attributes)

    def results(self, operands: Sequence[Array]) -> Array:
        proto = self.proto()
        infos = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in zip(proto.input, operands, strict=True)
        ]
        result = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
        graph = helper.make_graph([proto], "graph", infos, [result])
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        found = ReferenceEvaluator(model).run(None, dict(zip(proto.input, operands, strict=True)))
        return np.asarray(next(iter(found)))


def _reduced(operator: str, **attributes: Any) -> Iterator[Case]:
    for chosen in ([0], [1], [-1], [0, 2], [-3, -2]):
        for keepdims in (0, 1):
            given = {"axes": chosen, "keepdims": keepdims, **attributes}
            yield Case(axes.reduced, operator, [(2, 3, 5)], given, opset=12)


def _along(rule: Rule, operator: str, opset: int = 18, **attributes: Any) -> Iterator[Case]:
    for axis in (0, 1, 2, -1, -3):
        yield Case(rule, operator, [(2, 3, 5)], {"axis": axis, **attributes}, opset=opset)


CASES = [
    *(
        Case(axes.broadcast, "Mul", shapes)
        for shapes in (
            [(2, 3, 5), (2, 3, 5)],
            [(2, 3, 5), (5,)],
            [(3, 5), (2, 3, 5)],
            [(2, 3, 5), ()],
        )
    ),
    Case(axes.broadcast, "Sum", [(2, 3, 5), (3, 5), (5,)]),
    Case(axes.first, "Identity", [(2, 3, 5)]),
    Case(axes.rows, "InstanceNormalization", [(2, 3, 5, 7), (3,), (3,)], whole=False),
    Case(axes.rows, "GlobalAveragePool", [(2, 3, 5, 7)], whole=False),
    *_along(axes.except_axis, "Softmax"),
    *_along(axes.except_axis, "LogSoftmax"),
    *_along(axes.except_axis, "Hardmax"),
    *_along(axes.except_axis, "LpNormalization"),
    *_reduced("ReduceMean"),
    *_reduced("ReduceSum"),
    Case(axes.reduced, "ReduceMax", [(2, 3, 5)], {"keepdims": 1}, opset=12),
    *_along(axes.arg, "ArgMax", keepdims=0),
    *_along(axes.arg, "ArgMin", keepdims=1),
    *(
        Case(axes.transposed, "Transpose", [(2, 3, 5)], given)
        for given in ({}, {"perm": [1, 2, 0]}, {"perm": [2, 0, 1]}, {"perm": [0, 2, 1]})
    ),
    *(
        Case(axes.unsqueezed, "Unsqueeze", [(2, 3, 5)], constants=[chosen])
        for chosen in ([0], [1], [-1], [0, 2], [-1, -3], [4, 0])
    ),
    Case(axes.unsqueezed, "Unsqueeze", [(2, 3, 5)], {"axes": [1, 3]}, opset=11),
    *(
        Case(axes.squeezed, "Squeeze", [(1, 2, 1, 3, 5, 1)], constants=[chosen])
        for chosen in ([0], [2], [-1], [0, 2], [-1, -4], [5, 0, 2])
    ),
    Case(axes.squeezed, "Squeeze", [(2, 1, 3)], {"axes": [1]}, opset=11),
    Case(axes.squeezed, "Squeeze", [(2, 1, 3)], whole=False),
    *(
        Case(axes.joined, "Concat", [(2, 3, 5), (2, 3, 5), (2, 3, 5)], {"axis": axis})
        for axis in (0, 1, 2, -1)
    ),
    *(
        Case(
            axes.gathered,
            "Gather",
            [(2, 3, 5), shape],
            {"axis": axis},
            integers={1: 2},
        )
        for axis in (0, 1, 2, -2)
        for shape in ((), (7,), (7, 11))
    ),
    *(
        Case(axes.gathered_nd, "GatherND", [(2, 3, 5), shape], integers={1: 2})
        for shape in ((7, 1), (7, 2), (7, 3), (7, 11, 1), (7, 11, 2))
    ),
    Case(
        axes.gathered_nd, "GatherND", [(2, 3, 5), (2, 1)], {"batch_dims": 1}, (), {1: 2}, 18, False
    ),
    *(
        Case(axes.multiplied, "MatMul", shapes)
        for shapes in (
            [(2, 3, 5), (2, 5, 7)],
            [(3, 5), (2, 5, 7)],
            [(2, 11, 3, 5), (5, 7)],
            [(2, 11, 3, 5), (11, 5, 7)],
            [(3, 5), (5, 7)],
        )
    ),
    Case(axes.multiplied, "MatMul", [(5,), (5, 7)], whole=False),
    Case(axes.multiplied, "MatMul", [(3, 5), (5,)], whole=False),
    *(
        Case(axes.gemm, "Gemm", [a, b, *c], {"transA": a != (3, 5), "transB": b != (5, 7)})
        for a in ((3, 5), (5, 3))
        for b in ((5, 7), (7, 5))
        for c in ([], [(3, 7)], [(7,)])
    ),
    *(
        Case(
            axes.encoded,
            "OneHot",
            [(2, 3, 5)],
            {"axis": axis},
            [7, np.array([0, 1], np.float32)],
            {0: 7},
        )
        for axis in (0, 1, 3, -1, -4)
    ),
]


def found_by_changes(case: Case, rng: np.random.Generator) -> dict[tuple[int, int], int]:
    """The axis of the result that has the slices of an operand along its axis."""
    before = case.operands(rng)
    result = case.results(before)
    found = {}
    for position, shape in enumerate(case.shapes):
        for axis, extent in enumerate(shape):
            candidates = {at for at, each in enumerate(result.shape) if each == extent}
            for index in range(extent):
                place: tuple[Any, ...] = (*(slice(None),) * axis, index, ...)
                after = [each.copy() for each in before]
                part = after[position][place]
                if position in case.integers:
                    part[...] = (part + 1) % case.integers[position]
                else:
                    part[...] = rng.standard_normal(part.shape) * 10
                changed = np.nonzero(case.results(after) != result)
                candidates = {at for at in candidates if {*changed[at].tolist()} <= {index}}
            if extent > 1 and candidates:
                (found[position, axis],) = candidates
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_change_stays_in_its_slice(case: Case) -> None:
    stated = case.rule(case.node())
    kept = {key: to for key, to in stated.items() if to is not None}
    found = found_by_changes(case, np.random.default_rng(1))
    moving = {key: to for key, to in kept.items() if case.shapes[key[0]][key[1]] > 1}
    assert {*moving} <= {*found}, "a slice changes others"
    assert moving == {key: found[key] for key in moving}
    if case.whole:
        assert moving == found


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMean"])
def test_padding_of_what_is_reduced(operator: str) -> None:
    """Filled with a neutral number, where there is one: a mean has none."""
    for case in _reduced(operator):
        stated = case.rule(case.node())
        gone = {axis % 3 for axis in case.attributes["axes"]}
        none = {key for key, to in stated.items() if to is None}
        assert none == (set() if operator == "ReduceMean" else {(0, axis) for axis in gone})


def test_what_is_sorted_has_its_padding_last() -> None:
    for axis in (0, 1, -1):
        case = Case(axes.sorted_, "TopK", [(2, 3, 5)], {"axis": axis}, [[1]])
        sorted_ = axis % 3
        expected = {(0, at): None if at == sorted_ else at for at in range(3)}
        assert case.rule(case.node()) == expected


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_normalisation_is_along_the_last_axes(axis: int) -> None:
    case = Case(axes.before_axis, "LayerNormalization", [(2, 3, 5), (5,)], {"axis": axis})
    assert case.rule(case.node()) == {(0, at): at for at in range(axis % 3)}


def test_boxes_are_alone() -> None:
    """Each has a row of the result, and of the images that it is from."""
    case = Case(axes.boxes, "RoiAlign", [(1, 2, 7, 9), (3, 4), (3,)], {}, (), {2: 1})
    assert case.rule(case.node()) == {(1, 0): 0, (2, 0): 0}


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_old_softmax_is_along_all_axes_from_its_own_on(operator: str, axis: int) -> None:
    """ONNX's reference has the operators of opset 13 only."""
    case = Case(axes.except_axis, operator, [(2, 3, 5)], {"axis": axis}, opset=12)
    assert case.rule(case.node()) == {(0, at): at for at in range(axis % 3)}


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_gathered_at_each_index(axis: int) -> None:
    case = Case(
        axes.gathered_elements, "GatherElements", [(3, 5), (3, 5)], {"axis": axis}, (), {1: 2}
    )
    assert case.rule(case.node()) == {(1, 0): 0, (1, 1): 1}
