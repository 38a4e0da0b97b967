"""Which values are computed with a layer's weights."""

from __future__ import annotations

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.compressed.results import with_results

PROGRAM = """func @net(x: float32[1, 4], w: float32[4, 4]) -> float32[1, 4]:
    a = dense(x, w)
    b = relu(a)
    c = dense(b, w)
    d = add(c, b)
    e = dense(d, w)
    f = dense(d, w)
    g = add(e, f)
    h = relu(g)
    return h
"""


def test_a_sum_belongs_to_what_nothing_else_reads() -> None:
    layers = [LayerWeights(name, "int4", 16, 16, 68) for name in "acef"]
    found = with_results(parse_function(PROGRAM, OPERATORS), layers)
    assert {each.layer: each.results for each in found} == {
        "a": ("a", "b"),
        "c": ("c", "d"),
        "e": ("e", "g", "h"),
        "f": ("f", "g", "h"),
    }
