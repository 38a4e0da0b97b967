"""What is computed per channel is computed before parts are interleaved."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.quantise.interleaved_parts import ComputeOnParts
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning

PARTS = ", ".join(f"{name}: float32[1, 2, 2, 3]" for name in "pqrs")


def network(*lines: str, crd: str = "", result: str = "[1, 2, 4, 6]") -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return (
        f"func @f({PARTS}, t: float32{result}) -> float32{result}:\n"
        "  c = concat(p, q, r, s, axis=1)\n"
        f"  d = depth_to_space(c, block=2{crd})\n"
        f"{body}"
        "  return y\n"
    )


def moved(program: str) -> list[str]:
    """The operators, in order, of the function after the pass, which keeps its meaning."""
    function = graph(program)
    keeps_meaning(ComputeOnParts(), function, inputs(function))
    found = text(transform(function, (ComputeOnParts(), EliminateDead())))
    return [line.split(" = ")[1].split("(")[0] for line in found.splitlines() if " = " in line]


NORM = "batch_norm(d, " + ", ".join(["float32[2](1.0, 2.0)"] * 4) + ")"


@pytest.mark.parametrize(
    "value", ["relu(d)", "add(d, float32[2, 1, 1](1.0, 2.0))", "clip(d, min=0.0)", NORM]
)
def test_parts_are_computed(value: str) -> None:
    operator = value.split("(")[0]
    assert moved(network(f"y = {value}")) == [operator] * 4 + ["concat", "depth_to_space"]


def test_a_chain_beyond_a_slice() -> None:
    found = moved(
        network(
            "e = slice(d, starts=[0, 0], ends=[3, 5], axes=[2, 3])",
            "b = add(e, float32[](1.0))",
            "y = relu(b)",
            result="[1, 2, 3, 5]",
        )
    )
    assert sorted(found[:8]) == ["add"] * 4 + ["relu"] * 4
    assert found[8:] == ["concat", "depth_to_space", "slice"]


@pytest.mark.parametrize(
    ("lines", "crd"),
    [
        (("y = relu(d)",), ", column_row_depth=True"),
        (("y = add(d, t)",), ""),
        (("y = add(d, float32[1, 6](1.0, 2.0, 3.0, 4.0, 5.0, 6.0))",), ""),
        (("e = relu(d)", "y = add(e, d)"), ""),
        (("y = tanh(d)",), ""),
    ],
)
def test_what_stays(lines: tuple[str, ...], crd: str) -> None:
    found = moved(network(*lines, crd=crd))
    assert found[:2] == ["concat", "depth_to_space"]
