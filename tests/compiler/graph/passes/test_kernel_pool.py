"""Kernels of groups of operators: their names, their text, and which are shared."""

from __future__ import annotations

from dataclasses import replace

from tandem.compiler.graph import Call, Function, Let
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.passes.kernel_pool import KernelPool
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.reasons import Reason
from tests.support.compiler.graph.graphs import graph

PROGRAM = """
func @f(x: float32[2], y: float32[2]):
  a = add(x, y)
  b = multiply(a, float32[](2.0))
  c = add(b, x)
  d = add(y, x)
  e = multiply(d, float32[](2.0))
  g = add(e, y)
  h = add(x, x)
  w = add(x, float32[2](1.0, 2.0))
  m = multiply(a, float32[](3.0))
  return g
"""
FUNCTION = graph(PROGRAM)
LETS = {let.name: let for let in FUNCTION.body.lets}


def fused(pool: KernelPool, names: str, template: str = "") -> Let:
    return pool.fused([LETS[name] for name in names], infer(FUNCTION), template)


def kernel(let: Let) -> Function:
    assert isinstance(let.value, Call)
    assert isinstance(let.value.callee, Function)
    return let.value.callee


def args(let: Let) -> list[str]:
    assert isinstance(let.value, Call)
    return [each.name if hasattr(each, "name") else "constant" for each in let.value.args]


def test_the_text() -> None:
    found = fused(KernelPool(["f"]), "abc")
    assert found.name == "c"
    assert args(found) == ["x", "y"]
    assert (
        text(kernel(found))
        == """\
kernel @add_multiply_add(p0: float32[2], p1: float32[2]) -> float32[2]:
  add: float32[2] = add(p0, p1)
  multiply: float32[2] = multiply(add, float32[](2.0))
  add_1: float32[2] = add(multiply, p0)
  return add_1
"""
    )


def test_equal_groups_share_a_kernel() -> None:
    pool = KernelPool(["add"])
    one, other = fused(pool, "abc"), fused(pool, "deg")
    assert kernel(one) is kernel(other)
    assert args(other) == ["y", "x"]
    # One operand twice, another constant, another template: kernels of their own.
    first, twice, known = (kernel(fused(pool, name)) for name in "ahw")
    assert [each.name for each in (first, twice, known)] == ["add_1", "add_2", "add_1"]
    assert known is first
    assert args(fused(pool, "w")) == ["x", "constant"]
    assert kernel(fused(pool, "b")).name == "multiply"
    assert kernel(fused(pool, "m")).name == "multiply_1"
    own = kernel(fused(KernelPool([], "vta"), "a", "on_alu"))
    assert (own.target, own.template, own.name) == ("vta", "on_alu", "add")
    assert kernel(fused(pool, "a", "on_alu")).name == "add_3"


def test_names_list_four_operators() -> None:
    lets = ["a", "b", "c", "d"]
    assert kernel(fused(KernelPool([]), "".join(lets))).name == "add_multiply_add_add"
    assert kernel(fused(KernelPool([]), "abcde")).name == "add_multiply_add_add_and_1_more"
    assert kernel(fused(KernelPool([]), "abcdeg")).name == "add_multiply_add_add_and_2_more"


def test_conversions_are_not_named() -> None:
    function = graph("""
func @f(x: int8[1, 4, 1, 1]):
  a = convert(x, shape=[1, 4, 1, 1], target={0, 1/4, 2, 3, 1%4})
  b = convert(a, shape=[1, 4, 1, 1], source={0, 1/4, 2, 3, 1%4})
  c = relu(b)
  return c
""")
    lets, types = function.body.lets, infer(function)
    assert kernel(KernelPool([]).fused(lets, types)).name == "relu"
    assert kernel(KernelPool([]).fused(lets[:2], types)).name == "convert_convert"


def test_copies_are_apart() -> None:
    pool = KernelPool([], "vta")
    one = kernel(fused(pool, "a"))
    copy = pool.copy()
    assert kernel(fused(copy, "a")) is one
    assert kernel(fused(copy, "h")).name == "add_1"
    assert kernel(fused(copy, "h")).target == "vta"
    # What the copy has the first has not.
    assert kernel(fused(pool, "h")).name == "add_1"
    assert kernel(fused(pool, "m")).name == "multiply"
    assert kernel(fused(copy, "b")).name == "multiply"


def test_what_is_said_of_values_stays() -> None:
    why, other = Reason("one", "because"), Reason("two", "so")
    types = infer(FUNCTION)
    a = replace(LETS["a"], reasons=(why, other))
    b = replace(LETS["b"], reasons=(other,), origin="B")
    found = KernelPool([]).fused([a, b], types)
    assert found.reasons == (why, other)
    assert (found.name, found.origin, found.replaced) == ("b", "B", ())
    table = replace(b, replaced=("exp", "relu"))
    assert KernelPool([]).fused([a, table], types).replaced == ("add", "exp", "relu")
