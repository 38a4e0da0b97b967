"""Kernels: which operators share one, and what they look like."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from tandem.compiler.graph import Call, Function, FunctionKind
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes import Fuse, InferTypes
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.visit import all_lets, functions
from tests.support.compiler.graph.graphs import becomes, graph, graphs, inputs, keeps_meaning

HEAD = "func @f(x: float32[2, 4, 3, 3], w: float32[4, 4, 1, 1], b: float32[4, 1, 1]):\n"


def kernels(body: str) -> list[list[str]]:
    """The operators of each kernel that is called, in order."""
    function = Fuse().apply(graph(HEAD + body))
    called = [let.value for let in all_lets(function.body) if isinstance(let.value, Call)]
    return [
        [repr(let.value.callee) for let in call.callee.body.lets if isinstance(let.value, Call)]
        for call in called
        if isinstance(call.callee, Function)
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Element by element, whatever comes together again.
        (
            "  a = relu(x)\n  b1 = exp(a)\n  c = tanh(a)\n  d = add(b1, c)\n  return d",
            [["relu", "exp", "tanh", "add"]],
        ),
        # After a convolution; not before it.
        (
            "  a = relu(x)\n  c = conv2d(a, w)\n  d = add(c, b)\n  e = relu(d)\n  return e",
            [["relu"], ["conv2d", "add", "relu"]],
        ),
        # A border is made where the data is packed, if nothing else reads it.
        (
            "  a = exp(x)\n  p = pad(a, pads=[0, 0, 1, 1, 0, 0, 1, 1])\n  c = conv2d(p, w)\n"
            "  e = relu(c)\n  return e",
            [["exp", "pad", "conv2d", "relu"]],
        ),
        (
            "  p = pad(x, pads=[0, 0, 1, 1, 0, 0, 1, 1])\n  c = conv2d(p, w)\n  e = exp(p)\n"
            "  s = add(c, e)\n  return s",
            [["pad"], ["conv2d", "exp", "add"]],
        ),
        # What is broadcast is no epilogue of its own.
        (
            "  c = conv2d(x, w)\n  g = global_max_pool(c)\n  m = multiply(c, g)\n  return m",
            [["conv2d"], ["global_max_pool"], ["multiply"]],
        ),
        # One convolution a kernel; the first takes the sum.
        (
            "  c = conv2d(x, w)\n  d = conv2d(x, w)\n  e = add(c, d)\n  return e",
            [["conv2d"], ["conv2d", "add"]],
        ),
        # A residual block: the shortcut is read twice.
        (
            "  r = relu(x)\n  c = conv2d(r, w)\n  s = add(c, r)\n  t = relu(s)\n  return t",
            [["relu"], ["conv2d", "add", "relu"]],
        ),
        # Into a reduction, and nothing after it.
        (
            "  a = exp(x)\n  s = reduce_sum(a)\n  l = log(s)\n  return l",
            [["exp", "reduce_sum"], ["log"]],
        ),
        # What moves elements goes into what reads them, but does not hold up an epilogue.
        (
            "  c = conv2d(x, w)\n  r = relu(c)\n  t = transpose(r)\n  u = flatten(t)\n"
            "  v = exp(u)\n  return v",
            [["conv2d", "relu"], ["transpose", "flatten", "exp"]],
        ),
        # A sum that has joined what moves elements is no epilogue any more.
        (
            "  a = relu(x)\n  c = conv2d(x, w)\n  d = add(c, a)\n  e = concat(d, a, axis=1)\n"
            "  return e",
            [["conv2d"], ["relu", "add", "concat"]],
        ),
        # Used elsewhere: kept.
        (
            "  a = relu(x)\n  c = exp(a)\n  t = (a, c)\n  return t",
            [["relu"], ["exp"]],
        ),
        (
            "  a = exp(x)\n  c = cumulative_sum(a, axis=1)\n  l = log(c)\n  return l",
            [["exp"], ["cumulative_sum"], ["log"]],
        ),
        # A view is read in place by all kernels that use it element by element.
        (
            "  v = slice(x, starts=[0], ends=[1])\n  m = reduce_sum(v, axes=[1, 2, 3])\n"
            "  e = exp(v)\n  s = reduce_sum(e, axes=[1, 2, 3])\n  t = (m, s)\n  return t",
            [["slice"], ["reduce_sum"], ["exp", "reduce_sum"]],
        ),
        (
            "  r = relu(x)\n  q = reduce_sum(r, axes=[3], keepdims=True)\n"
            "  v = slice(q, starts=[0], ends=[1], axes=[1])\n"
            "  u = slice(v, starts=[1], ends=[2])\n  a = exp(u)\n  b1 = tanh(u)\n"
            "  t = (a, b1)\n  return t",
            [["relu", "reduce_sum"], ["slice", "slice", "exp"], ["slice", "slice", "tanh"]],
        ),
        # Convolutions read whole tensors.
        (
            "  c = conv2d(x, w)\n  d = concat(x, x, axis=0)\n"
            "  v = slice(d, starts=[1], ends=[3])\n  s = add(c, v)\n  return s",
            [["concat", "slice"], ["conv2d", "add"]],
        ),
        # Every second one is no view.
        (
            "  v = slice(x, starts=[0], ends=[4], axes=[1], steps=[2])\n  a = exp(v)\n"
            "  b1 = tanh(v)\n  t = (a, b1)\n  return t",
            [["slice"], ["exp"], ["tanh"]],
        ),
        # A normalisation takes what it reads, which it stores, and what reads an element each.
        (
            "  t = transpose(x)\n  a = exp(t)\n  s = softmax(a)\n  l = log(s)\n"
            "  u = transpose(l)\n  return u",
            [["transpose", "exp", "softmax", "log", "transpose"]],
        ),
        # What is also read after it is not its own.
        (
            "  a = exp(x)\n  s = softmax(a)\n  d = add(a, s)\n  return d",
            [["exp"], ["softmax", "add"]],
        ),
        # One normalisation a kernel, and no reduction or convolution of its result.
        (
            "  s = softmax(x)\n  t = softmax(s)\n  d = add(s, t)\n  return d",
            [["softmax"], ["softmax", "add"]],
        ),
        (
            "  s = softmax(x)\n  l = log(s)\n  m = reduce_sum(l)\n  return m",
            [["softmax"], ["log", "reduce_sum"]],
        ),
        (
            "  s = softmax(x)\n  l = log(s)\n  c = conv2d(l, w)\n  return c",
            [["softmax", "log"], ["conv2d"]],
        ),
        (
            "  c = conv2d(x, w)\n  d = add(c, b)\n  s = softmax(d)\n  return s",
            [["conv2d", "add"], ["softmax"]],
        ),
    ],
)
def test_rules(body: str, expected: list[list[str]]) -> None:
    assert kernels(body) == expected


def test_a_row_whose_number_is_computed_is_read_in_place() -> None:
    program = """
func @f(x: float32[5, 2, 4], i: int64[], h: float32[2, 4], w: float32[4, 4]):
  r = gather(x, {index}, axis=0)
  d = dense(h, w)
  s = add(d, r)
  y = tanh(r)
  t = (s, y)
  return t
"""
    names = []
    for index in ("i", "int64[](3)"):
        function = Fuse().apply(graph(program.format(index=index)))
        called = [let.value for let in all_lets(function.body) if isinstance(let.value, Call)]
        names.append([each.callee.name for each in called])
    assert names == [["gather_dense_add", "gather_tanh"], ["gather", "dense_add", "tanh"]]


def test_layers_widen_their_weights_themselves() -> None:
    program = """
func @f(x: int8[5, 3], y: int8[5, 2], c: uint2[2, 3]):
  w = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), table=[0, 1, -2, -1])
  d = dense(x, w)
  e = dense(x, w)
  v = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), table=[0, 1, -2, -1])
  g = dense(x, v)
  h = add(v, v)
  u = widen(c, table=[0, 1, -2, -1])
  i = dense(x, u)
  t = (d, e, g, h, i)
  return t
"""
    function = Fuse().apply(graph(program))
    called = [let.value for let in all_lets(function.body) if isinstance(let.value, Call)]
    names = [each.callee.name for each in called]
    assert names == ["widen_dense", "widen_dense", "widen", "dense", "add", "widen", "dense"]


def test_layers_of_the_same_shape_share_a_kernel() -> None:
    becomes(
        Fuse(),
        """
func @f(x: float32[N, 4], w: float32[4, 4], v: float32[4, 4]):
  a = dense(x, w)
  b = add(a, float32[](1.0))
  c = dense(b, v)
  d = add(c, float32[](1.0))
  e = dense(d, w)
  g = add(e, float32[](2.0))
  return g
""",
        """
kernel @dense_add(p0: float32[N, 4], p1: float32[4, 4]) -> float32[N, 4]:
  dense: float32[N, 4] = dense(p0, p1)
  add: float32[N, 4] = add(dense, float32[](1.0))
  return add

kernel @dense_add_1(p0: float32[N, 4], p1: float32[4, 4]) -> float32[N, 4]:
  dense: float32[N, 4] = dense(p0, p1)
  add: float32[N, 4] = add(dense, float32[](2.0))
  return add

func @f(x: float32[N, 4], w: float32[4, 4], v: float32[4, 4]):
  b = @dense_add(x, w)
  d = @dense_add(b, v)
  g = @dense_add_1(d, w)
  return g
""",
    )


def test_bodies_tuples_and_constants() -> None:
    becomes(
        Fuse(),
        """
func @relu(x: int8[4], c: bool[]):
  a = relu(x)
  b = add(a, int8[4](1, 2, 3, 4))
  s = split(b, sizes=[1, 3])
  t = s[1]
  d = if c:
    e = negative(t)
    g = absolute(e)
    yield g
  else:
    yield t
  return d
""",
        """
kernel @relu_add_split(p0: int8[4], p1: int8[4]) -> (int8[1], int8[3]):
  relu: int8[4] = relu(p0)
  add: int8[4] = add(relu, p1)
  split: (int8[1], int8[3]) = split(add, sizes=[1, 3])
  return split

kernel @negative_absolute(p0: int8[3]) -> int8[3]:
  negative: int8[3] = negative(p0)
  absolute: int8[3] = absolute(negative)
  return absolute

func @relu(x: int8[4], c: bool[]):
  s = @relu_add_split(x, int8[4](1, 2, 3, 4))
  t = s[1]
  d = if c:
    g = @negative_absolute(t)
    yield g
  else:
    yield t
  return d
""",
    )


def test_kernels_have_names_that_nothing_has() -> None:
    function = Fuse().apply(graph("func @relu(x: int8[4]):\n  a = relu(x)\n  return a"))
    assert [each.name for each in functions(function)] == ["relu_1", "relu"]
    chain = "".join(f"  v{n + 1} = absolute(v{n})\n" for n in range(6))
    program = graph(f"func @f(v0: int8[4]):\n{chain}  return v6")
    assert functions(Fuse().apply(program))[0].name == "_".join(["absolute"] * 4 + ["and_2_more"])
    assert len(functions(Fuse(limit=2).apply(program))) == 2
    assert len(Fuse(limit=2).apply(program).body.lets) == 3


def test_expressions_stay_short() -> None:
    """Inlined, n products of a value by itself read it in 2**n places."""
    chain = "".join(f"  v{n + 1} = multiply(v{n}, v{n})\n" for n in range(40))
    program = graph(f"func @f(v0: float32[4]):\n{chain}  return v40")
    sizes = [len(each.body.lets) for each in functions(Fuse().apply(program))[:-1]]
    assert 2 <= max(sizes) <= 7
    assert len(functions(Fuse(longest=1 << 41).apply(program))[0].body.lets) > 20


def test_a_result_of_a_convolution_is_not_computed_again() -> None:
    """Its readers read memory: only what is inlined is counted more than once."""
    body = "  c = conv2d(x, w)\n  a = add(c, c)\n  d = add(a, a)\n  e = add(d, d)\n  return e"
    assert kernels(body) == [["conv2d", "add", "add", "add"]]


def test_what_widens_for_a_sum_goes_with_it() -> None:
    """Narrow elements are stored between the two; what does not widen stays with its producer."""
    text = "func @f(x: int8[2, 4, 3, 3], w: int8[4, 4, 1, 1]):\n"
    conv = "  c = conv2d(x, w)\n  n = cast(c, to=int8)\n"
    wider = f"{conv}  i = cast(n, to=int32)\n  s = reduce_sum(i, axes=[2, 3])\n  return s"
    same = f"{conv}  i = relu(n)\n  s = reduce_sum(i, axes=[2, 3])\n  return s"
    for body, last in ((wider, ["cast", "reduce_sum"]), (same, ["reduce_sum"])):
        function = Fuse().apply(graph(text + body))
        called = [let.value for let in all_lets(function.body) if isinstance(let.value, Call)]
        names = [
            [
                let.value.callee.name
                for let in call.callee.body.lets
                if isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
            ]
            for call in called
            if isinstance(call.callee, Function)
        ]
        assert names[-1] == last
        assert names[0][:2] == ["conv2d", "cast"]


def test_reasons_and_origins_are_carried_into_calls() -> None:
    function = graph(
        f"{HEAD}  c = conv2d(x, w)\n  a = add(c, b)\n  r = relu(a)\n  s = softmax(r)\n  return s\n"
    )
    large = Reason("", "too large")
    reasons = {"c": (large,), "a": (), "r": (Reason("relu", "not done"),), "s": (large,)}
    lets = tuple(
        replace(let, reasons=reasons[let.name], origin=f"the user's {let.name}")
        for let in function.body.lets
    )
    found = Fuse().apply(replace(function, body=replace(function.body, lets=lets))).body.lets
    assert [(let.name, let.reason, let.origin) for let in found] == [
        ("r", "too large; relu: not done", "the user's r"),
        ("s", "too large", "the user's s"),
    ]
    assert [let.reason for let in Fuse().apply(function).body.lets] == [None, None]


@settings(max_examples=25)
@given(graphs())
def test_everything_is_in_kernels_and_the_results_are_the_same(function: Function) -> None:
    found = keeps_meaning(Fuse(), function, inputs(function))
    for let in all_lets(found.body):
        assert not (isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec))
    assert all(each.kind is FunctionKind.KERNEL for each in functions(found)[:-1])
    assert Fuse().apply(found) == found
    InferTypes().apply(found)
