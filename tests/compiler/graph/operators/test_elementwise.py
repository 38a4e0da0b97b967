"""Graph operators from element-wise ones: their attributes, operands, patterns and shapes."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import SPECS, Cast, Clip, Modulo
from tandem.compiler.graph.opspec import OpPattern
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.operators.elementwise import ELEMENTWISE
from tests.support.compiler.graph.calls import refused, type_of


def test_each_has_one() -> None:
    assert [each.name for each in SPECS] == [each.name for each in ELEMENTWISE.values()]
    assert all(OPERATORS[each.name] is each for each in SPECS)


def test_declared_attributes() -> None:
    assert (Modulo(), Clip()) == (Modulo(0), Clip(None, None))
    assert Cast(INT8).to == INT8
    for name, wanted in (("bit_cast", Cast), ("cast", Cast), ("clip", Clip), ("modulo", Modulo)):
        assert OPERATORS[name].attributes is wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("leaky_relu", [("alpha", 0.01)]),
        ("hard_sigmoid", [("alpha", 0.2), ("beta", 0.5)]),
        ("is_inf", [("detect_negative", 1), ("detect_positive", 1)]),
        ("bit_shift", [("direction", MISSING)]),
    ],
)
def test_attributes_by_signature(name: str, wanted: list[tuple[str, object]]) -> None:
    kind = OPERATORS[name].attributes
    assert [(each.name, each.default) for each in fields(kind)] == wanted
    assert issubclass(kind, Attributes)
    assert kind.__name__ == name.title().replace("_", "")
    assert set(OPERATORS[name].hints) == {each for each, _ in wanted}


def test_operands_by_signature() -> None:
    for name, shown, pattern in (
        ("relu", "x", OpPattern.ELEMENTWISE),
        ("cast", "x", OpPattern.ELEMENTWISE),
        ("maximum", "x, ...", OpPattern.BROADCAST),
        ("divide", "a, b", OpPattern.BROADCAST),
        ("where", "condition, a, b", OpPattern.BROADCAST),
        ("prelu", "x, slope", OpPattern.BROADCAST),
    ):
        assert str(OPERATORS[name].operands) == shown
        assert OPERATORS[name].pattern is pattern
    assert OPERATORS["relu"].attributes is Attributes


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[N, 1], y: int8[M]", "add(x, y)", "int8[N, M]"),
        ("x: int8[N], y: int8[N]", "less(x, y)", "bool[N]"),
        ("x: int8[N, 3], y: int8[3]", "prelu(x, y)", "int8[N, 3]"),
        ("x: int8[1, N], y: int8[N, 1], z: int8[]", "maximum(x, y, z)", "int8[N, N]"),
        ("x: int8[N]", "cast(x, to=float32)", "float32[N]"),
    ],
)
def test_shapes(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        (
            "x: int8[N], y: int8[M]",
            "add(x, y)",
            r"a int8\[N\], b int8\[M\] do not broadcast: axis -1 has N and M",
        ),
        (
            "x: int8[N], y: int8[M, 1]",
            "prelu(x, y)",
            r"x int8\[N\], slope int8\[M, 1\] do not broadcast to x int8\[N\]",
        ),
        ("x: int8[N], y: int16[N]", "add(x, y)", ""),
        ("x: bool[N]", "relu(x)", ""),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)
