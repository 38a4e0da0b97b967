"""Comparisons in lanes, and the sides of conditions: masks, branches, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llvmlite import ir

from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT32,
    INDEX,
    INT32,
)
from tandem.compiler.ir.expr import Binary, Expr
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import cast, const, index, select
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tests.support.compiler.machines.cpu.emitted import (
    AVX2,
    AVX512,
    opcodes,
)
from tests.support.compiler.machines.cpu.emitted_values import (
    FIRST,
    FLOATS,
    INTEGERS,
    KNOWN,
    LANE,
    LANES,
    SECOND,
    a,
    found,
    n,
    opened,
    result,
)


@pytest.mark.parametrize(
    ("expr", "holds"),
    [
        (LANE < 2, lambda lane, i: lane < 2),
        (LANE <= 2, lambda lane, i: lane <= 2),
        (FIRST <= LANE, lambda lane, i: i <= lane),
        (LANE < FIRST, lambda lane, i: lane < i),
        (LANE * 3 <= FIRST * 2 + 1, lambda lane, i: lane * 3 <= i * 2 + 1),
        (index(7) - LANE * 2 < FIRST, lambda lane, i: 7 - lane * 2 < i),
        (LANE * ((1 << 28) - 1) < FIRST, lambda lane, i: lane * ((1 << 28) - 1) < i),
    ],
)
def test_lanes_are_compared_by_one_subtraction(expr: Any, holds: Any) -> None:
    for i in (-(1 << 40), 0, 1, 3, 1 << 28, 1 << 40):
        frame = opened(lanes=LANES)
        value = evaluate(frame, expr)
        assert value.operands[0].type == ir.VectorType(ir.IntType(32), LANES)
        assert result(frame, value, BOOL, i) == [holds(lane, i) for lane in range(LANES)]


def test_lanes_of_a_base_are_compared_so_too() -> None:
    frame = opened(lanes=LANES, base="j")
    value = evaluate(frame, LANE < 50)
    words = ["llvm.smin.i64", "llvm.smax.i64", "trunc", "insertelement", "shufflevector", "icmp"]
    assert [each for each in opcodes(frame) if each not in ("mul", "add", "sub")] == words
    assert result(frame, value, BOOL, j=48) == [True, True, False, False]
    # Without a number to add there is no addition.
    for expr, adds in ((LANE < FIRST, 0), (LANE <= FIRST, 1), (LANE < FIRST - 2, 1)):
        frame = opened(lanes=LANES)
        evaluate(frame, expr)
        assert opcodes(frame).count("add") == adds


def test_other_comparisons_are_of_each_lane() -> None:
    wide = ir.VectorType(ir.IntType(64), LANES)
    for expr in (
        Binary(BinaryOp.EQ, LANE, index(2)),
        LANE * (1 << 28) < FIRST,
        LANE // 2 < FIRST,
        LANE + cast(n(LANE), INDEX) < FIRST,
    ):
        frame = opened(lanes=LANES)
        assert evaluate(frame, expr).operands[0].type == wide
    frame = opened(lanes=LANES)
    # Nothing differs between lanes, or there are none.
    assert evaluate(frame, FIRST < SECOND).type == ir.IntType(1)
    assert evaluate(opened(), FIRST < SECOND).type == ir.IntType(1)
    assert found(opened(lanes=LANES), n(LANE) < 5) == (INTEGERS[:LANES] < 5).tolist()


def test_decided_conditions() -> None:
    for condition, side in ((KNOWN < 4, 1), (KNOWN < 3, 2)):
        frame = opened()
        assert (
            str(evaluate(frame, select(condition, const(1, INT32), const(2, INT32))))
            == f"i32 {side}"
        )
    assert opcodes(frame) == []


def test_what_is_in_bounds_is_selected_without_a_branch() -> None:
    expr = select(FIRST < SECOND, a(FIRST), a(SECOND))
    frame = opened()
    value = evaluate(frame, expr)
    assert value.opname == "select"
    assert result(frame, value, FLOAT32, 3, 5) == [FLOATS[3]]
    # A scalar beside a vector is broadcast.
    frame = opened(lanes=LANES)
    value = evaluate(frame, select(FIRST < SECOND, a(LANE), a(SECOND)))
    assert value.opname == "select"
    assert value.operands[0].type == ir.IntType(1)
    assert result(frame, value, FLOAT32, 5, 3) == [FLOATS[3]] * LANES


@pytest.mark.parametrize("lanes", [None, LANES])
@pytest.mark.parametrize("first", [True, False])
def test_only_the_chosen_side_of_a_branch_is_read(first: bool, lanes: int | None) -> None:
    """A scalar on one side becomes a vector where the other is one."""
    near = a(LANE) if lanes else a(FIRST)
    far = a(FIRST * (1 << 40))
    sides = (near, far) if first else (far, near)
    frame = opened(lanes=lanes)
    value = evaluate(frame, select(FIRST < 2 if first else index(1) < FIRST, *sides))
    assert value.opname == "phi"
    assert [each.name for each in frame.builder.function.blocks][2:] == [
        "then",
        "otherwise",
        "chosen",
    ]
    i = 1
    assert (
        result(frame, value, FLOAT32, i) == FLOATS[: lanes or 2][-1 if not lanes else 0 :].tolist()
    )


def test_what_a_branch_computes_is_not_kept() -> None:
    frame = opened()
    shared = FIRST * 64 + SECOND
    value = evaluate(frame, select(FIRST < 1, a(shared), a(shared + 1)))
    assert result(frame, value, FLOAT32, 0, 9) == [FLOATS[9]]
    assert opcodes(frame).count("mul") == 2


def test_lanes_are_masked() -> None:
    """Each side reads in its own lanes alone."""
    expr = select(LANE < SECOND, a(LANE), a(LANE + (1 << 40)) + a(LANE))
    frame = opened(lanes=LANES)
    value = evaluate(frame, expr)
    assert value.opname == "select"
    assert result(frame, value, FLOAT32, j=4) == FLOATS[:LANES].tolist()
    opposite = select(LANE < SECOND, a(LANE - (1 << 40)), a(LANE) + const(1, FLOAT32))
    assert found(opened(lanes=LANES), opposite, j=0) == (FLOATS[:LANES] + 1).tolist()
    # A scalar side is one of all lanes.
    scalar = select(LANE < SECOND, a(FIRST), const(5, FLOAT32))
    assert found(opened(lanes=LANES), scalar, 3, 2) == [FLOATS[3]] * 2 + [5.0] * 2


def test_lanes_that_are_known_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truths of lanes pass to both sides, where they say which places are read."""
    frame = opened(lanes=LANES)
    seen: list[Sequence[int] | None] = []
    plain = frame.masked

    def masked(condition: Any, truths: Sequence[int] | None) -> Any:
        seen.append(truths)
        return plain(condition, truths)

    monkeypatch.setattr(frame, "masked", masked)
    evaluate(frame, select(LANE < 1, a(LANE), a(LANE)))
    assert seen == [(1, 0, 0, 0), [0, 1, 1, 1]]
    seen.clear()
    evaluate(frame, select(LANE < SECOND, a(LANE), a(LANE)))
    assert seen == [None, None]


FAR = a(LANE + FIRST * 60)
"""Neighbours, of which some may be out of bounds."""


def added(count: int) -> Expr:
    """A sum of that many loads such as FAR."""
    total = FAR
    for number in range(1, count):
        total = total + a(LANE + FIRST * 60 + number)
    return total


@pytest.mark.parametrize(
    ("target", "expr", "way"),
    [
        (AVX512, FAR, "masks"),
        (AVX2, FAR, "branch"),
        (AVX512, a(LANE * FIRST), "branch"),
        (AVX512, a(LANE + SECOND), "both"),
        (AVX512, FAR + a(LANE), "masks"),
        (AVX2, FAR + a(LANE), "branch"),
        (AVX512, FAR + a(LANE * FIRST), "branch"),
        (AVX512, added(8), "masks"),
        (AVX512, added(9), "branch"),
    ],
)
def test_conditions_of_all_lanes_are_masks(target: CpuTarget, expr: Expr, way: str) -> None:
    """Where few loads could be out of bounds, and masks are free; else there is a branch, or both
    sides are computed."""
    for sides in ((expr, const(0, FLOAT32)), (const(0, FLOAT32), expr)):
        frame = opened(target, LANES)
        value = evaluate(frame, select(FIRST < SECOND, *sides))
        words = opcodes(frame)
        assert any(each.startswith("llvm.masked.load") for each in words) is (way == "masks")
        assert ("phi" in words) is (way == "branch")
        assert value.type.count == LANES
