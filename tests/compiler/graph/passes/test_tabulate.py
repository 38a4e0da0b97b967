"""Functions of bytes become tables, with every bit as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph import Call, Function, Var
from tandem.compiler.graph.evaluate import Interpreter, Runner, evaluate
from tandem.compiler.graph.passes import Fuse, Tabulate, transform
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.cpu.runner import exact_runner
from tests.support.compiler.graph.graphs import graph, same_values
from tests.support.examples import examples

LEAST = 8


def operators(function: Function) -> list[str]:
    return [
        repr(let.value.callee) if isinstance(let.value, Call) else "if"
        for let in all_lets(function.body)
    ]


def tabulated(
    program: str, run: Runner | None = None, least: int = LEAST
) -> tuple[Function, Function]:
    before = graph(program)
    return before, transform(before, [Tabulate(run or Interpreter(), least)])


def every_byte(dtype: str, shape: Sequence[int] = (256,)) -> np.ndarray:
    return np.resize(np.arange(256, dtype=np.uint8).view(dtype), shape)


SILU = """
func @f(x: int8[2, 128]):
  d = dequantise(x, float32[](0.05), int8[](3))
  s = sigmoid(d)
  q = quantise(s, float32[](0.00390625), int8[](-128))
  e = dequantise(q, float32[](0.00390625), int8[](-128))
  m = multiply(d, e)
  y = quantise(m, float32[](0.03), int8[](-90))
  return y
"""


@pytest.mark.parametrize("run", [Interpreter(), exact_runner()])
def test_a_chain_is_one_table(run: Runner) -> None:
    before, after = tabulated(SILU, run)
    assert operators(after) == ["lookup"]
    x = every_byte("int8", (2, 128))
    same_values(evaluate(before, [x]), evaluate(after, [x]))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Cheaper than a look-up.
        ("y = clip(x, min=-3, max=7)", ["clip"]),
        ("y = relu(x)", ["relu"]),
        # Constants of several elements; of another shape; another tensor beside it.
        (
            "d = dequantise(x, float32[2](0.1, 0.2), int8[2](1, 2), axis=0)\n  s = exp(d)\n"
            "  y = quantise(s, float32[](0.1), int8[](0))",
            ["dequantise", "exp", "quantise"],
        ),
        (
            "d = dequantise(x, float32[](0.1), int8[](1))\n  s = add(d, float32[1, 1, 1](2.0))\n"
            "  t = exp(s)\n  y = quantise(t, float32[](0.1), int8[](0))",
            ["dequantise", "add", "exp", "quantise"],
        ),
        (
            "d = dequantise(x, float32[](0.1), int8[](1))\n  s = multiply(d, z)\n  t = exp(s)\n"
            "  y = quantise(t, float32[](0.1), int8[](0))",
            ["dequantise", "multiply", "exp", "quantise"],
        ),
        # No bytes at one of the ends.
        ("d = dequantise(x, float32[](0.1), int8[](1))\n  y = tanh(d)", ["dequantise", "tanh"]),
        ("t = tanh(z)\n  y = quantise(t, float32[](0.1), int8[](0))", ["tanh", "quantise"]),
        # Elements change their places within.
        (
            "d = dequantise(x, float32[](0.1), int8[](1))\n  t = transpose(d)\n  s = exp(t)\n"
            "  y = quantise(s, float32[](0.1), int8[](0))",
            ["dequantise", "transpose", "exp", "quantise"],
        ),
    ],
)
def test_all_else_stays(body: str, expected: list[str]) -> None:
    before, after = tabulated(f"func @f(x: int8[2, 3], z: float32[2, 3]):\n  {body}\n  return y")
    assert operators(after) == expected
    assert after == before


def test_the_least_length_is_the_targets() -> None:
    program = "func @f(x: int8[4]):\n  y = clip(x, min=-3, max=7)\n  return y"
    assert operators(tabulated(program, least=2)[1]) == ["lookup"]
    assert operators(tabulated(program, least=3)[1]) == ["clip"]


def test_what_others_use_stays() -> None:
    """Bytes with several uses begin chains; real numbers are computed for their other users."""
    before, after = tabulated("""
func @f(x: int8[256]):
  d = dequantise(x, float32[](0.05), int8[](3))
  t = tanh(d)
  a = quantise(t, float32[](0.01), int8[](0))
  b = dequantise(a, float32[](0.01), int8[](0))
  e = exp(b)
  c = quantise(e, float32[](0.02), uint8[](0), to=uint8)
  o = (a, c, d)
  return o
""")
    assert operators(after) == ["dequantise", "lookup", "lookup", "if"]
    same_values(evaluate(before, [every_byte("int8")]), evaluate(after, [every_byte("int8")]))
    looked_up = [let.value.args[0] for let in after.body.lets[1:3] if isinstance(let.value, Call)]
    assert looked_up == [Var("x"), Var("a")]


def test_inside_a_branch() -> None:
    before, after = tabulated("""
func @f(x: int8[256], c: bool[]):
  d = dequantise(x, float32[](0.05), int8[](3))
  r = if c:
    t = tanh(d)
    a = quantise(t, float32[](0.01), int8[](0))
    yield a
  else:
    yield x
  return r
""")
    assert operators(after) == ["if", "lookup"]
    for truth in (True, False):
        given_ = [every_byte("int8"), np.array(truth)]
        same_values(evaluate(before, given_), evaluate(after, given_))


def test_reports_name_the_operators_of_the_chain() -> None:
    """And have their reasons, in kernels too."""
    reasons = tuple(Reason(name, f"no {name} there") for name in ("sigmoid", "quantise"))
    head = "@f(z: int8[128, 2]):\n  x = transpose(z)"
    before = graph(SILU.replace("@f(x: int8[2, 128]):", head))
    lets = list(before.body.lets)
    lets[2] = replace(lets[2], reasons=reasons[:1])
    lets[-1] = replace(lets[-1], reasons=reasons[1:])
    before = replace(before, body=replace(before.body, lets=tuple(lets)))
    names = ["dequantise", "sigmoid", "quantise", "dequantise", "multiply", "quantise"]
    for passes, own in (([], []), ([Fuse()], ["transpose"])):
        after = transform(before, [Tabulate(Interpreter(), LEAST), *passes])
        assert after.body.lets[-1].replaced == (*own, *names)
        assert after.body.lets[-1].reasons == reasons


def test_kernels_stay() -> None:
    program = """
kernel @k(p: int8[4]):
  d = dequantise(p, float32[](0.05), int8[](3))
  t = tanh(d)
  a = quantise(t, float32[](0.01), int8[](0))
  return a

func @f(x: int8[4]):
  y = @k(x)
  return y
"""
    before, after = tabulated(program)
    assert after == before


UNARY = [
    "sigmoid",
    "tanh",
    "hard_swish",
    "gelu",
    "exp",
    "softplus",
    "erf",
    "elu",
    "mish",
    "sqrt",
    "reciprocal",
]


@given(data=st.data())
@examples(10, 100)
def test_no_bit_changes(data: st.DataObject) -> None:
    """Of any chain of functions, in native code: the table's and that of the chain itself."""
    dtype, to = (data.draw(st.sampled_from(["int8", "uint8"])) for _ in range(2))
    scales = st.sampled_from([0.001, 0.02, 0.0625, 0.3])
    low = 0 if dtype == "uint8" else -128
    lines = [
        f"v0 = dequantise(x, float32[]({data.draw(scales)!r}), "
        f"{dtype}[]({data.draw(st.integers(low, low + 255))}))"
    ]
    for number in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from([*UNARY, "multiply", "add", "constant"]))
        reads = [f"v{data.draw(st.integers(0, number))}" for _ in range(2)]
        call = {
            "multiply": f"multiply({', '.join(reads)})",
            "add": f"add({', '.join(reads)})",
            "constant": f"multiply({reads[0]}, float32[1](1.7))",
        }.get(kind, f"{kind}({reads[0]})")
        lines.append(f"v{number + 1} = {call}")
    low = 0 if to == "uint8" else -128
    zero = data.draw(st.integers(low, low + 255))
    scale = data.draw(scales)
    lines.append(f"y = quantise(v{len(lines) - 1}, float32[]({scale!r}), {to}[]({zero}), to={to})")
    text = f"func @f(x: {dtype}[256]):\n  " + "\n  ".join(lines) + "\n  return y"
    run = exact_runner()
    before, after = tabulated(text, run, least=0)
    assert operators(after) == ["lookup"]
    kernel = graph(text.replace("func", "kernel"))
    x = every_byte(dtype)
    same_values(evaluate(kernel, [x], run), evaluate(after, [x], run))
    assert before != after
