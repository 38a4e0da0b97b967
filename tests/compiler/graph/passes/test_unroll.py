"""Loops whose end is known become what they do."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.graph.evaluate import Interpreter
from tandem.compiler.graph.passes import EliminateDead, Unroll, transform
from tandem.compiler.graph.printer import text
from tests.support.compiler.graph.graphs import agree, graph
from tests.support.compiler.graph.recursion import COUNT, EVEN, SUM

HEAD = "func @main(n: int64[], x: float32[N]) -> (float32[N], int64[]):\n"


def unrolled(program: str, **limits: Any) -> str:
    start = graph(program)
    found = transform(start, [Unroll(Interpreter(), **limits), EliminateDead()])
    agree(start, found)
    return text(found)


def counted(times: str) -> str:
    return COUNT.replace(HEAD, "func @main(x: float32[2]):\n").replace("@loop(n, x)", times)


def test_iterations() -> None:
    assert unrolled(counted("@loop(int64[](2), x)")) == text(
        graph(
            "func @main(x: float32[2]):\n  y = add(x, float32[](1.0))\n"
            "  y_1 = add(y, float32[](1.0))\n  u_2 = (y_1, int64[](0))\n  return u_2\n"
        )
    )
    assert unrolled(counted("@loop(int64[](0), x)")) == text(
        graph("func @main(x: float32[2]):\n  u = (x, int64[](0))\n  return u\n")
    )


def test_functions_that_call_each_other() -> None:
    program = EVEN.replace("@main(n: int64[])", "@main()").replace("@even(n)", "@even(int64[](5))")
    assert unrolled(program) == text(graph("func @main() -> bool[]:\n  return bool[](False)\n"))


@pytest.mark.parametrize(
    ("program", "limits"),
    [
        (counted("@loop(int64[](3), x)"), {"iterations": 3}),
        (counted("@loop(int64[](3), x)"), {"values": 2}),
        (COUNT, {}),
        (SUM, {}),
    ],
)
def test_what_stays(program: str, limits: dict[str, Any]) -> None:
    start = graph(program)
    found = transform(start, [Unroll(Interpreter(), **limits)])
    assert [each.name for each in found.definitions] == [each.name for each in start.definitions]
    assert "@loop(" in text(found) or "@sum(" in text(found)
