"""Element-wise operators: calls of the graph, by hand, in versions that differ."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.operators.elementwise import CONVERTERS
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.operators.elementwise import Cast, Clip
from tandem.compiler.graph.operators.shapes import Expand, Reshape
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT4, INT8, INT32, UINT8
from tests.support.compiler.frontends.converted import Converted


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    start = "not supported: " if kind is UnsupportedError else ""
    return pytest.raises(kind, match=rf"^node n \(\w+\): {re.escape(start + message)}$")


def test_the_same_operator(body: Converted) -> None:
    a, b = body.value(2, 3), body.value(3)
    (found,) = body.node("Sub", 13, a, b)
    assert found.type == TensorType((2, 3), FLOAT32)
    body.node("LeakyRelu", 16, a, alpha=0.25)
    assert body.operators == ["subtract", "leaky_relu"]
    assert body.calls[0][1] == (a.atom.name, b.atom.name)  # type: ignore[union-attr]
    assert body.calls[1][2].alpha == 0.25  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("operator", "name"), [("Max", "maximum"), ("Min", "minimum"), ("Sum", "total")]
)
@pytest.mark.parametrize(
    ("count", "taken"), [(1, [1]), (32, [32]), (33, [32, 2]), (63, [32, 32]), (64, [32, 32, 2])]
)
def test_many_operands(
    body: Converted, operator: str, name: str, count: int, taken: list[int]
) -> None:
    values = [body.value(2) for _ in range(count)]
    body.node(operator, 13, *values)
    calls = body.calls
    assert [each[0] for each in calls] == [name] * len(taken)
    assert [len(each[1]) for each in calls] == taken
    names = [arg for _, args, _ in calls for arg in args]
    given = [each.atom.name for each in values]  # type: ignore[union-attr]
    assert [each for each in names if each in given] == given
    for _, args, _ in calls[1:]:
        assert args[0] not in given


def test_means_of_many(body: Converted) -> None:
    body.node("Mean", 13, *(body.value(2) for _ in range(32)))
    body.node("Mean", 13, *(body.value(2) for _ in range(33)))
    assert body.operators == ["mean", "total", "total", "divide"]
    (divisor,) = [each for each in body.calls[-1][1] if isinstance(each, np.ndarray)]
    assert divisor == 33
    assert divisor.dtype == np.float32


@pytest.mark.parametrize(
    ("shape", "attributes", "wanted"),
    [
        ((4,), {}, None),
        ((3, 4), {}, None),
        ((3,), {"axis": 1}, (3, 1)),
        ((2, 3), {"axis": 0}, (2, 3, 1)),
        ((3,), {"axis": -2}, (3, 1)),
        ((2,), {"axis": 0}, (2, 1, 1)),
        ((4,), {"axis": -1}, None),
    ],
)
def test_operands_from_an_axis_on(
    body: Converted,
    shape: tuple[int, ...],
    attributes: dict[str, int],
    wanted: tuple[int, ...] | None,
) -> None:
    a, b = body.value(2, 3, 4), body.value(*shape)
    (found,) = body.node("Add", 6, a, b, broadcast=1, **attributes)
    assert found.shape == (2, 3, 4)
    if wanted is None:
        assert body.operators == ["add"]
    else:
        assert body.operators == ["reshape", "add"]
        assert body.calls[0][2] == Reshape(wanted)


def test_operands_that_do_not_fit_from_an_axis_on(body: Converted) -> None:
    a, b = body.value(2, 3, 4), body.value(3)
    with refused("float32[2, 3, 4] and float32[3]: the attribute broadcast is 0"):
        body.node("Add", 6, a, b)
    body.node("Add", 6, a, body.value(2, 3, 4))
    assert body.operators == ["add"]
    with refused("float32[3] from axis 3 of float32[2, 3, 4]"):
        body.node("Add", 6, a, b, broadcast=1, axis=3)
    with refused("float32[3] from axis -1 of float32[2, 3, 4]"):
        body.node("Add", 6, a, b, broadcast=1, axis=-4)
    with refused("float32[2, 3, 4] from axis -1 of float32[3]"):
        body.node("Add", 6, b, a, broadcast=1)


def test_slopes(body: Converted) -> None:
    data, slope = body.value(2, 3, 4, 5), body.value(3)
    body.node("PRelu", 6, data, slope)
    assert body.operators == ["reshape", "prelu"]
    assert body.calls[0][2] == Reshape((3, 1, 1))
    for opset, of, over in ((7, body.value(2, 3), body.value(3)), (6, body.value(3), slope)):
        body.node("PRelu", opset, of, over)
    body.node("PRelu", 6, data, body.value(3, 1, 1))
    assert body.operators[2:] == ["prelu"] * 3


def test_casts(body: Converted) -> None:
    a = body.value(2)
    body.node("Cast", 13, a, to=3)
    body.node("Cast", 1, a, to="INT8")
    assert body.node("Cast", 13, a, to=1)[0].atom == a.atom
    # A float that becomes an integer of 4 bits is a whole number first.
    (found,) = body.node("Cast", 21, a, to=22)
    assert found.dtype == INT4
    body.node("Cast", 21, body.value(2, dtype=INT8), to=22)
    body.node("Cast", 21, a, to=23)
    kinds = [call[2] for call in body.calls]
    assert kinds[:5] == [Cast(INT8), Cast(INT8), Cast(INT32), Cast(INT4), Cast(INT4)]
    body.node("CastLike", 15, a, body.value(dtype=UINT8))
    assert body.calls[-1][2] == Cast(UINT8)
    with refused("to is 'INT9'"):
        body.node("Cast", 1, a, to="INT9")
    with refused("the type string", UnsupportedError):
        body.node("Cast", 13, a, to=8)


def test_limits_as_attributes(body: Converted) -> None:
    a = body.value(2)
    largest = float(np.finfo(np.float32).max)
    body.node("Clip", 6, a, min=-1.0)
    body.node("Clip", 1, a, max=2.0)
    body.node("Clip", 1, a)
    assert [call[2] for call in body.calls] == [
        Clip(-1.0, largest),
        Clip(None, 2.0),
        Clip(None, None),
    ]


def test_limits_as_operands(body: Converted) -> None:
    a, open_ = body.value(2), body.value()
    number = np.array(0.5, np.float32)
    body.node("Clip", 13, a, number, None)
    body.node("Clip", 13, a, None, number)
    body.node("Clip", 13, a)
    assert [call[2] for call in body.calls] == [Clip(0.5, None), Clip(None, 0.5), Clip()]
    # What is known only when the network runs.
    body.node("Clip", 13, a, open_, number)
    body.node("Clip", 13, a, open_)
    body.node("Clip", 13, a, None, open_)
    assert body.operators[3:] == ["maximum", "minimum", "maximum", "minimum"]
    assert body.node("Clip", 13, a, open_, None)[0].atom != a.atom


def test_thresholds(body: Converted) -> None:
    (found,) = body.node("ai.onnx.ml.Binarizer", 1, body.value(2, dtype=FLOAT64), threshold=0.5)
    assert found.dtype == FLOAT64
    (greater, cast) = body.calls
    assert (greater[0], greater[1][1], greater[1][1].dtype) == ("greater", 0.5, np.float64)
    assert cast[2] == Cast(FLOAT64)


def test_nothing_is_dropped(body: Converted) -> None:
    a = body.value(2, 3)
    assert [each.atom for each in body.node("Dropout", 13, a)] == [a.atom]
    # Only one that trains, with a ratio, is random.
    ratio, zero = np.array(0.5, np.float32), np.array(0, np.float32)
    given: tuple[Any, ...]
    for given in ((None, None), (ratio, None), (ratio, np.array(False)), (zero, np.array(True))):
        assert body.node("Dropout", 13, a, *given)[0].atom == a.atom
    message = "training: its results are random"
    for given in ((ratio, np.array(True)), (None, np.array(True))):
        with refused(message, UnsupportedError):
            body.node("Dropout", 13, a, *given)
    with refused(message, UnsupportedError):
        body.node("Dropout", 6, a)
    body.node("Dropout", 6, a, is_test=1)
    assert body.calls == []


@pytest.mark.parametrize(("opset", "dtype"), [(7, FLOAT32), (10, BOOL), (13, BOOL)])
def test_masks_of_what_is_kept(body: Converted, opset: int, dtype: object) -> None:
    a = body.value(2, 3)
    assert len(body.node("Dropout", opset, a, outputs=2)) == 1
    kept, mask = body.node("Dropout", opset, a, outputs=2, used=2)
    assert kept.atom == a.atom
    assert mask.type == TensorType((2, 3), dtype)  # type: ignore[arg-type]
    assert mask.known is not None or body.calls[-1][2] == Expand((2, 3))
    if mask.known is not None:
        assert mask.known.all()


def test_identity(body: Converted) -> None:
    a = body.value(Dim(("N",)), 3)
    assert body.node("Identity", 13, a)[0].atom == a.atom
    assert body.calls == []
