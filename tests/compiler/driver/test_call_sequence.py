"""Functions of kernels without their tuples; what cannot be laid out beforehand."""

from __future__ import annotations

import pytest

from tandem.compiler.driver.call_sequence import call_sequence
from tandem.compiler.errors import BuildError, GraphError
from tandem.compiler.graph.passes import Fuse, transform
from tests.support.compiler.graph.graphs import graph


def test_tuples_are_only_names() -> None:
    """A part has the name of the value that it becomes, so that all devices call it the same."""
    function = graph("""
func @f(x: float32[4], y: float32[3]):
  t = (y, x)
  a = t[1]
  s = split(a, sizes=[1, 3])
  b = s[1]
  c = add(b, y)
  u = (c, s, y)
  return u
""")
    found = call_sequence(transform(function, [Fuse()]))
    calls = [(each.name, each.operands, each.outputs) for each in found.invocations]
    assert calls == [("s", ("x",), ("s.0", "b")), ("c", ("b", "y"), ("c",))]
    assert found.results == ("c", "s.0", "b", "y")
    assert {name: str(each) for name, each in found.types.items()} == {
        "x": "float32[4]",
        "y": "float32[3]",
        "s.0": "float32[1]",
        "b": "float32[3]",
        "c": "float32[3]",
    }


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "func @g(x: float32[2]):\n  return x\n"
            "func @f(x: float32[2]):\n  a = @g(x)\n  return a\n",
            "function f: a calls g, which is no kernel",
        ),
        (
            "func @f(x: float32[2]):\n  a = relu(x)\n  return a\n",
            "function f: a calls relu, which is no kernel",
        ),
        (
            "func @f(t: (float32[2], float32[2])):\n  a = t[0]\n  return a\n",
            r"function f: parameter t is \(float32\[2\], float32\[2\]\): tensors only",
        ),
    ],
)
def test_what_cannot_be_laid_out(program: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        call_sequence(graph(program))


def test_extents_that_nobody_knows() -> None:
    with pytest.raises(GraphError, match=r"f: x float32\[N\] has a symbolic extent"):
        call_sequence(graph("func @f(x: float32[N]):\n  return x\n"))
