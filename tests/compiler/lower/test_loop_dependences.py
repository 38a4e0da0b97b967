from __future__ import annotations

import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import For, Seq
from tandem.compiler.lower.loop_dependences import independent, independent_across_iterations
from tandem.compiler.lower.ranges import all_ranges

_APART = """
func f() -> (C: int32[64]):
  for v in 4:
    {first}
    {second}
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("C[v] = 1", "C[v] = 2", True),
        ("C[v] = 1", "C[v + 1] = 2", False),
        ("C[v * 2] = 1", "C[v * 2 + 1] = 2", True),
        ("C[v * 2] = 1", "C[v * 2 + 2] = 2", False),
        ("C[0] = 1", "C[0] = 2", False),
        ("C[v] = 1", "C[v * 2] = 2", False),
        ("C[v] = C[v + 1]", "C[v] = 2", False),
        ("C[v % 2] = 1", "C[v % 2] = 2", False),
    ],
)
def test_turns_apart(first: str, second: str, expected: bool) -> None:
    loop = parse(_APART.format(first=first, second=second)).body
    assert isinstance(loop, For)
    assert isinstance(loop.body, Seq)
    one, other = loop.body.body
    assert independent_across_iterations(loop, one, other, all_ranges(loop)) is expected


def test_a_tile_is_as_wide_as_its_loops() -> None:
    loop = parse("""
func f() -> (C: int32[64]):
  for v in 4:
    for i in 8:
      C[v * 8 + i] = 1
    for j in 9:
      C[v * 8 + j] = 2
""").body
    assert isinstance(loop, For)
    assert isinstance(loop.body, Seq)
    first, second = loop.body.body
    ranges = all_ranges(loop)
    assert independent_across_iterations(loop, first, first, ranges)
    assert not independent_across_iterations(loop, first, second, ranges)


def test_independent_statements_touch_no_buffer_that_the_other_writes() -> None:
    body = parse("""
func f(A: int32[1]) -> (C: int32[1], D: int32[1], E: int32[1]):
  C[0] = A[0]
  D[0] = A[0]
  E[0] = C[0]
""").body
    assert isinstance(body, Seq)
    c, d, e = body.body
    assert independent(c, d)
    assert independent(d, e)
    assert not independent(c, e)
    assert not independent(e, c)
