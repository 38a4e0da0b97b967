"""The names of layers with weights."""

from __future__ import annotations

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.quantise.layer_names import layer_names

PROGRAM = """func @net(x: float32[1, 4], w: float32[4, 4]) -> float32[1, 4]:
    a = dense(x, w)
    b = relu(a)
    c = dense(b, w)
    d = dense(b, w)
    e = add(c, d)
    f = relu(e)
    g = softmax(f, axis=1)
    h = relu(g)
    i = dense(h, w)
    j = add(i, h)
    k = add(j, b)
    return k
"""


def test_a_layer_has_the_names_of_what_extends_its_sums() -> None:
    """A sum of two products is of both, and what is computed from other numbers of none; a sum
    with what others read too is of the product that is read here alone."""
    found = layer_names(parse_function(PROGRAM, OPERATORS), ["a", "c", "d", "i"])
    assert found == {
        "a": ("a", "b"),
        "c": ("c", "e", "f"),
        "d": ("d", "e", "f"),
        "i": ("i", "j", "k"),
    }
