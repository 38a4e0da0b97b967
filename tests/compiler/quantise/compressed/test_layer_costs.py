"""Costs of layers by the names of their products."""

from __future__ import annotations

from tandem.compiler.quantise.compressed.layer_costs import LayerCost, by_product
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights

ONE, TWO, THREE = (LayerCost(n, "cycles", "the bus") for n in (1.0, 2.0, 3.0))


def layer(name: str, *results: str) -> LayerWeights:
    return LayerWeights(name, "int8", None, 1, 8, results=results)


def test_text() -> None:
    assert str(LayerCost(1234567.4, "cycles", "its products")) == "1,234,567 cycles"
    assert str(LayerCost(12.6, "bytes", "the bus")) == "13 bytes"
    assert LayerCost(1.0, "cycles", "the bus").int8 == ""


def test_the_first_that_is_known() -> None:
    costs = {"a": ONE, "b": TWO, "c": THREE}
    assert by_product(costs, [layer("a", "b")]) == {"a": ONE}
    assert by_product(costs, [layer("x", "c", "b")]) == {"x": THREE}
    assert by_product(costs, [layer("x"), layer("y", "z"), layer("b")]) == {"b": TWO}
    assert by_product({}, [layer("a")]) == {}
