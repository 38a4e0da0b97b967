"""Which values become int8, by hand."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.types import TupleType
from tandem.compiler.quantise.points import int8_values, points, return_values, tensor_name
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.quantise.networks import network

PARAMS = "x: float32[1, 4, 5, 5], w: float32[8, 4, 3, 3], v: float32[8, 8, 1, 1], u: float32[3, 4]"

MEAN = "f = reduce_max(x, axes=[2, 3], keepdims=False)"


def chosen(lines: str, params: str = PARAMS) -> tuple[str, ...]:
    text = "".join(f"  {line}\n" for line in lines.split("; "))
    function = network(f"func @f({params}):\n{text}  return y\n")
    return int8_values(function, infer(function))


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        # A convolution gives int8 where its result is read in real numbers, too.
        ("y = conv2d(x, w)", ("x", "y")),
        ("c = conv2d(x, w); y = exp(c)", ("x", "c")),
        ("c = conv2d(x, w); r = relu(c); y = conv2d(r, v)", ("x", "c", "r", "y")),
        # What extends a convolution is one, too.
        ("c = conv2d(x, w); y = relu(c)", ("x", "c", "y")),
        # Sums of a dense layer are real numbers where they are read so.
        (f"{MEAN}; y = dense(f, u)", ("f",)),
        (f"{MEAN}; d = dense(f, u); y = relu(d)", ("f",)),
        ("y = exp(x)", ()),
        ("r = relu(x); y = conv2d(r, w)", ("x", "r", "y")),
        ("e = exp(x); y = conv2d(e, w)", ("e", "y")),
        ("e = exp(x); r = relu(e); y = exp(r)", ()),
    ],
)
def test_values_that_become_int8(lines: str, wanted: tuple[str, ...]) -> None:
    assert chosen(lines) == wanted


def test_weights_that_are_no_constants_make_no_int8() -> None:
    head = "func @f(x: float32[1, 4, 5, 5], w: float32[8, 4, 3, 3]):"
    function = graph(f"{head}\n  y = conv2d(x, w)\n  return y\n")
    assert int8_values(function, infer(function)) == ()


def test_values_within_branches() -> None:
    text = f"""
func @f(xb: bool[], {PARAMS}):
  y = if xb:
    c = conv2d(x, w)
    yield c
  else:
    d = conv2d(x, w)
    e = exp(d)
    yield e
  return y
"""
    function = network(text)
    found = int8_values(function, infer(function))
    assert found == ("x", "c", "d")


def test_names_of_tensors() -> None:
    main = graph("func @main(x: float32[2]):\n  y = relu(x)\n  return y\n")
    other = graph("func @part(x: float32[2]):\n  y = relu(x)\n  return y\n")
    assert tensor_name(main, main, "y") == "y"
    assert tensor_name(main, other, "y") == "part.y"


def test_points_of_a_program() -> None:
    function = network(f"func @f({PARAMS}):\n  c = conv2d(x, w)\n  y = exp(c)\n  return y\n")
    assert dict(points(function)) == {"x": ("f", "x"), "c": ("f", "c")}


def test_functions_that_return_values() -> None:
    function = network(f"func @f({PARAMS}):\n  c = conv2d(x, w)\n  y = exp(c)\n  return y\n")
    found = return_values(function, ["c", "x"])
    type_ = infer(found)[found.body.result.name]  # type: ignore[union-attr]
    before = infer(function)
    assert type_ == TupleType((before["c"], before["x"]))
    names = [let.name for let in found.body.lets if isinstance(let.value, Call)]
    # Nothing else is computed.
    assert len(names) == 1
