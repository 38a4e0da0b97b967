from __future__ import annotations

import pytest

from tandem.compiler.graph import Call
from tandem.compiler.graph.passes.expression_size import expression_size
from tandem.compiler.graph.verify import verify
from tests.support.compiler.graph.graphs import graph


@pytest.mark.parametrize(
    ("operator", "reads"),
    [
        ("relu(x)", {"x": 1}),
        ("multiply(x, x)", {"x": 2}),
        ("add(x, y)", {"x": 1, "y": 1}),
        ("gelu(x)", {"x": 2}),
        ("where(c, x, x)", {"c": 1, "x": 2}),
    ],
)
@pytest.mark.parametrize("extent", ["4", "n"])
def test_reads(operator: str, reads: dict[str, int], extent: str) -> None:
    """With a symbolic extent only the operands are counted."""
    type_ = f"float32[{extent}]"
    function = graph(
        f"func @f(x: {type_}, y: {type_}, c: bool[{extent}]):\n  r = {operator}\n  return r"
    )
    call = function.body.lets[0].value
    assert isinstance(call, Call)
    found = expression_size(call, verify(function))
    if extent == "n":
        assert found.length == 1
        reads = dict(reads) if "gelu" not in operator else {"x": 1}
    else:
        assert found.length > sum(reads.values())
    assert found.reads == reads
