"""Programs all of whose functions are called by name: their texts."""

from __future__ import annotations

from tandem.compiler.graph.passes.named_functions import by_name, entered
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tests.support.compiler.graph.graphs import agree, graph

VALUES = """\
func @inner(x: float32[2]):
  y = relu(x)
  return y

kernel @k(x: float32[2]):
  y = exp(x)
  return y

func @outer(x: float32[2]):
  y = @inner(x)
  z = @k(y)
  return z

func @main(x: float32[2], c: bool[]):
  a = @outer(x)
  b = if c:
    i = @inner(a)
    yield i
  else:
    yield a
  return b
"""


def test_values_become_definitions() -> None:
    start = graph(VALUES)
    found = by_name(start)
    verify(found)
    agree(start, found)
    assert [each.name for each in found.definitions] == ["inner", "outer"]
    # Kernels stay values, and results are declared.
    wanted = VALUES
    for name in ("inner", "outer"):
        head = f"func @{name}(x: float32[2])"
        wanted = wanted.replace(head, f"{head} -> float32[2]")
    assert text(found) == wanted


def test_programs_without_such_calls_stay() -> None:
    plain = graph("func @f(x: float32[2]):\n  y = relu(x)\n  return y")
    assert by_name(plain) is plain
    assert entered(plain) is plain
    assert by_name(by_name(graph(VALUES))) == by_name(graph(VALUES))


LOOP = """\
func @other(result: int64[]) -> int64[]:
  r = @main(result)
  return r

func @main(result: int64[]) -> int64[]:
  more = greater(result, int64[](0))
  r = if more:
    m = subtract(result, int64[](1))
    t = @other(m)
    yield t
  else:
    yield result
  return r
"""


def test_a_program_that_is_called() -> None:
    start = graph(LOOP)
    found = entered(start)
    verify(found)
    agree(start, found)
    assert found.name == "main_1"
    assert [each.name for each in found.definitions] == ["other", "main"]
    assert text(found).endswith("""
func @main_1(result: int64[]) -> int64[]:
  result_1 = @main(result)
  return result_1
""")
    assert entered(found) is found
