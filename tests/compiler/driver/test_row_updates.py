"""Which rows are written in place: those of a parameter that no path needs afterwards."""

from __future__ import annotations

import pytest

from tandem.compiler.driver.row_updates import row_updates
from tandem.compiler.graph.passes import Fuse
from tests.support.compiler.graph.graphs import graph

HEAD = "func @f(x: float32[4, 2], row: float32[2], i: int64[], go: bool[]):\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("  y = put_row(x, row, i)\n  return y", {"y"}),
        ("  y = put_row(x, row, i)\n  z = exp(y)\n  t = (y, z)\n  return t", {"y"}),
        # Read before, or on another path.
        ("  z = exp(x)\n  y = put_row(x, row, i)\n  t = (y, z)\n  return t", {"y"}),
        (
            "  r = if go:\n    y = put_row(x, row, i)\n    yield y\n  else:\n    yield x\n"
            "  return r",
            {"y"},
        ),
        # Read afterwards: itself, as part of a tuple, behind a branch, by the next row.
        ("  y = put_row(x, row, i)\n  z = exp(x)\n  t = (y, z)\n  return t", set()),
        ("  y = put_row(x, row, i)\n  t = (x, y)\n  return t", set()),
        ("  t = (x, row)\n  y = put_row(x, row, i)\n  u = (t, y)\n  return u", set()),
        (
            "  t = (x, row)\n  v = t[0]\n  y = put_row(x, row, i)\n  z = add(v, y)\n  return z",
            set(),
        ),
        (
            "  r = if go:\n    y = put_row(x, row, i)\n    yield y\n  else:\n    yield x\n"
            "  z = add(r, x)\n  return z",
            set(),
        ),
        (
            "  y = put_row(x, row, i)\n  z = put_row(x, row, int64[](1))\n  s = add(y, z)\n"
            "  return s",
            set(),
        ),
        # No parameter, or another operator.
        ("  a = exp(x)\n  y = put_row(a, row, i)\n  return y", set()),
        ("  y = add(x, row)\n  return y", set()),
    ],
)
def test_what_is_written_in_place(body: str, found: set[str]) -> None:
    assert row_updates(Fuse().apply(graph(HEAD + body))) == found
