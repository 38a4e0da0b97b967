"""Specifications of operators: operands, queries of types, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tandem.compiler import te
from tandem.compiler.errors import GraphError
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.opspec import (
    DATA,
    AnyOp,
    Operands,
    OpPattern,
    TypeQuery,
    define_operator,
    keywords,
    registry,
)
from tandem.compiler.graph.types import TensorType, TupleType, Type
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.layouts.layout import image_blocks
from tandem.compiler.operators.checks import refuse, show
from tandem.compiler.te import Tensor

ROW, SCALAR = TensorType((3,), INT8), TensorType((), INT8)


@pytest.mark.parametrize(
    ("operands", "accepted", "shown", "names"),
    [
        (DATA, [1], "data", ["data"]),
        (Operands(("a", "b")), [2], "a, b", ["a", "b"]),
        (Operands(("a", "b", "c"), 2), [1, 2, 3], "a, b?, c?", ["a", "b", "c"]),
        (Operands(("x",), variadic=True), [1, 2, 3, 4], "x, ...", ["x0", "x1", "x2"]),
        (Operands(("a", "x"), variadic=True), [2, 3, 4], "a, x, ...", ["a", "x0", "x1"]),
    ],
)
def test_operands(operands: Operands, accepted: list[int], shown: str, names: list[str]) -> None:
    assert [count for count in range(5) if operands.accept(count)] == accepted
    assert str(operands) == shown
    assert [operands.name(at) for at in range(len(names))] == names


@dataclass(frozen=True, slots=True)
class Scale(Attributes):
    """A factor."""

    factor: int = 2


def anything(query: TypeQuery, attributes: Attributes) -> tuple[TensorType, ...]:
    assert isinstance(attributes, Scale)
    return (TensorType(query.data.shape, INT32),)


def doubled(data: Tensor, other: Tensor | None = None, *, name: str, factor: int) -> Tensor:
    """The elements times a factor."""
    if other is not None and other.shape != data.shape:
        refuse("scaled", name, f"{show(data)} and {show(other)} differ")
    return te.compute(data.shape, lambda *at: data[at] * factor, name=name)


SCALED: AnyOp = define_operator(
    doubled, OpPattern.ELEMENTWISE, Operands(("data", "other"), 1), Scale, anything, name="scaled"
)


def refused(message: str, types: Sequence[Type], attributes: Attributes = Scale()) -> None:
    with pytest.raises(GraphError, match=f"^y = scaled\\(...\\): {re.escape(message)}$"):
        SCALED.result("y", types, attributes)


def test_definitions() -> None:
    assert repr(SCALED) == SCALED.name == "scaled"
    assert (SCALED.several, SCALED.takes_borders, SCALED.gradient) == (False, False, None)
    assert dict(SCALED.hints) == {"factor": int}
    own = define_operator(
        doubled, OpPattern.OPAQUE, DATA, Scale, anything, takes_borders=True, stored=anything
    )
    assert (own.name, own.pattern, own.operands) == ("doubled", OpPattern.OPAQUE, DATA)
    assert own.takes_borders
    assert own.stored is anything
    assert [*OpPattern] == sorted(OpPattern)
    assert keywords(Scale(7)) == {"factor": 7}
    assert keywords(NO_ATTRIBUTES) == {}


def test_result_types() -> None:
    assert SCALED.result("y", [ROW], Scale()) == ROW
    assert SCALED.result("y", [ROW, ROW], Scale(3)) == ROW
    # Of symbolic extents by the rule.
    open_ = TensorType((Dim(("N",)), 3), INT8)
    assert SCALED.result("y", [open_], Scale()) == TensorType(open_.shape, INT32)
    assert SCALED.result("y", [ROW, open_], Scale()) == TensorType((3,), INT32)
    # Of tensors in other layouts by another one.
    own = replace(SCALED, stored=lambda query, attributes: (SCALAR,))
    assert own.result("y", [ROW], Scale()) == SCALAR


def test_results_that_are_tuples() -> None:
    def parts(data: Tensor, *, name: str, factor: int) -> tuple[Tensor, ...]:
        return tuple(doubled(data, name=f"{name}{at}", factor=1) for at in range(factor))

    several = define_operator(parts, OpPattern.INJECTIVE, DATA, Scale, anything, several=True)
    assert several.result("y", [ROW], Scale(2)) == TupleType((ROW, ROW))
    assert several.result("y", [ROW], Scale(1)) == TupleType((ROW,))


def test_refusals() -> None:
    refused("0 operands, and the operator takes (data, other?)", [])
    refused("3 operands, and the operator takes (data, other?)", [ROW, ROW, ROW])
    pair = TupleType((ROW, ROW))
    refused("other is (int8[3], int8[3]), and has to be a tensor", [ROW, pair])
    refused("data is (int8[3], int8[3]), and has to be a tensor", [pair, ROW])
    refused("attributes are Attributes, not Scale", [ROW], NO_ATTRIBUTES)
    refused("factor is True, and has to be an integer", [ROW], Scale(True))
    # Names of tensors are those of operands, with their types.
    refused("data int8[3] and other int8[] differ", [ROW, SCALAR])
    refused("data int8[] and other int8[3] differ", [SCALAR, ROW])


def test_layouts_that_operators_do_not_take() -> None:
    blocked = TensorType((1, 4, 2, 2), INT8, image_blocks(1, 2))
    plain = TensorType((1, 4, 2, 2), INT8)
    message = f"other {blocked} has to be row-major: convert it first"
    refused(message, [plain, blocked])
    refused(message.replace("other", "data"), [blocked, blocked])


def test_queries() -> None:
    query = TypeQuery("scaled", "y", ("data", "other"), (ROW, SCALAR), lambda _: ())
    assert query.data is ROW
    assert query.show(1) == "other int8[]"
    assert query.show_all() == "data int8[3], other int8[]"
    with pytest.raises(GraphError, match=r"^y = scaled\(\.\.\.\): no$"):
        query.fail("no")


def test_types_of_definitions_are_of_the_shapes_as_stored() -> None:
    seen: list[tuple[object, ...]] = []

    def compute(operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        seen.extend((each.name, each.shape, each.dtype) for each in operands)
        return (te.placeholder((5,), FLOAT32, "made"),)

    query = TypeQuery("scaled", "y", ("data", "other"), (ROW, SCALAR), compute)
    assert query.infer([(7,), (8, 9)]) == (TensorType((5,), FLOAT32),)
    assert seen == [("data", (7,), INT8), ("other", (8, 9), INT8)]


def test_registries() -> None:
    other = replace(SCALED, name="other")
    assert dict(registry(SCALED, other)) == {"scaled": SCALED, "other": other}
    assert dict(registry(SCALED, SCALED)) == {"scaled": SCALED}
    with pytest.raises(GraphError, match=r"^two operators are called scaled$"):
        registry(SCALED, other, replace(SCALED, several=True))
