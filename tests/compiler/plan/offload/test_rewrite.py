"""Matches as kernels between tensors in blocks: the operators inside and those on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tandem.compiler.graph import Body, Call, Function, Let, Var
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import PackWindows
from tandem.compiler.graph.printer import text
from tandem.compiler.layouts.layout import Layout, image_blocks
from tandem.compiler.plan.offload.rewrite import Rewrite, rewrite, shape_of
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.schedule_template import RESULT, HostPacking, Shapes
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.tune.tuning import EvenNumbers

B4 = image_blocks(1, 4)
BLOCKS = "{0, 1/4, 2, 3, _, 1%4}"
SHAPE = "shape=[1, 8, 2, 2]"
FUNCTION = graph("""
func @f(x: int8[1, 8, 2, 2], y: int8[1, 8, 2, 2]):
  c = relu(x)
  d = add(c, y)
  return d
""")
LETS = (replace(FUNCTION.body.lets[0], origin="C"), FUNCTION.body.lets[1])


@dataclass(frozen=True)
class InBlocks(EvenNumbers):
    """A template whose operands and results are in layouts, by name."""

    layouts: dict[str, Layout] = field(default_factory=dict)

    def layout(self, match: Match, name: str, shapes: Shapes, machine: Any) -> Layout | None:
        if name != RESULT:
            assert shapes(match.variable(name)) == (1, 8, 2, 2)
        return self.layouts.get(name)


def lines(lets: Sequence[Let]) -> list[str]:
    written = text(Function("f", (), Body(tuple(lets), Var("d")))).splitlines()
    return [each.strip() for each in written if each.startswith("  ") and " = " in each]


def rewritten(packing: HostPacking | None = None, **layouts: Layout) -> Rewrite:
    match = Match(LETS, {"data": Var("x"), "skip": Var("y")})
    taken = {"x", "y", "c", "d", "x_plain"}
    return rewrite(InBlocks(layouts=layouts), match, None, infer(FUNCTION), taken, packing)


def test_without_layouts() -> None:
    found = rewritten()
    assert (found.operands, found.result) == ((), ())
    # The last value has the match's name.
    assert lines(found.kernel) == ["c_inside = relu(x)", "d = add(c_inside, y)"]
    assert [let.origin for let in found.kernel] == ["C", "d"]


def test_operands_and_result_in_blocks() -> None:
    found = rewritten(data=B4, skip=B4, out=B4)
    assert lines(found.operands) == [
        f"x_blocks = convert(x, {SHAPE}, target={BLOCKS})",
        f"y_blocks = convert(y, {SHAPE}, target={BLOCKS})",
    ]
    assert lines(found.kernel) == [
        f"x_plain_1 = convert(x_blocks, {SHAPE}, source={BLOCKS})",
        f"y_plain = convert(y_blocks, {SHAPE}, source={BLOCKS})",
        "c_inside = relu(x_plain_1)",
        "d_inside = add(c_inside, y_plain)",
        f"d_blocks = convert(d_inside, {SHAPE}, target={BLOCKS})",
    ]
    assert lines(found.result) == [f"d = convert(d_blocks, {SHAPE}, source={BLOCKS})"]
    # What the host makes of operands computes nothing of the user's network.
    assert [let.origin for let in found.operands] == [None, None]
    assert [let.origin for let in found.kernel] == ["d", "d", "C", "d", "d"]
    assert [let.origin for let in found.result] == ["d"]


def test_one_of_them() -> None:
    found = rewritten(skip=B4)
    assert len(found.operands) == 1
    assert lines(found.kernel)[-1] == "d = add(c_inside, y_plain)"
    out = rewritten(out=B4)
    assert lines(out.kernel)[0] == "c_inside = relu(x)"
    assert len(out.result) == 1


def test_packing_by_the_host() -> None:
    given = PackWindows((1, 1), 1, 4)
    replaced = Let("d", Call(OPERATORS["add"], (Var("x"), Var("y"))), origin="D")
    found = rewritten(HostPacking("windows", "pack_windows", given, (replaced,)))
    assert lines(found.operands) == ["x_windows = pack_windows(x, kernel=[1, 1], batch=1, block=4)"]
    # Without what the operators in its place do not read.
    assert lines(found.kernel) == [
        f"x_plain_1 = convert(x_windows, {SHAPE}, source={BLOCKS})",
        "d = add(x_plain_1, y)",
    ]
    assert [let.origin for let in found.kernel] == ["d", "D"]


def test_shapes() -> None:
    assert shape_of(infer(FUNCTION), "c") == (1, 8, 2, 2)
    with pytest.raises(KeyError):
        shape_of(infer(FUNCTION), "z")
