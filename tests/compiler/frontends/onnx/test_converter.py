"""Tables of converters."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.frontends.onnx.converter import Converter, by_name, direct
from tests.support.compiler.frontends.converted import Converted


def converter(name: str, result: Any = None) -> Converter:
    return Converter(name, (1,), lambda node: result)


def test_one_for_each_operator() -> None:
    one, other = converter("A"), converter("B")
    assert dict(by_name([one, other])) == {"A": one, "B": other}
    with pytest.raises(AssertionError, match="an operator has two converters"):
        by_name([one, other, converter("A")])


def test_results_are_tuples() -> None:
    node: Any = None
    one_result: tuple[Any, ...] = converter("A", "value").results(node)
    assert one_result == ("value",)
    several: tuple[Any, ...] = converter("A", ("x", "y")).results(node)
    assert several == ("x", "y")
    assert (one := converter("A")).limits == ""
    assert (one.takes_stored_floats, one.definition) == (False, None)


def test_operators_as_they_are() -> None:
    body = Converted([Converter("LeakyRelu", (6,), direct("leaky_relu"))])
    x = body.value(2, 3)
    body.node("LeakyRelu", 16, x, alpha=0.5)
    body.node("LeakyRelu", 16, x)
    (_, args, first), (_, _, second) = body.calls
    assert body.operators == ["leaky_relu", "leaky_relu"]
    assert args == ("x",)
    assert [getattr(each, "alpha", None) for each in (first, second)] == [
        0.5,
        pytest.approx(0.01),
    ]
