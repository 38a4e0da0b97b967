from __future__ import annotations

from textwrap import indent

import pytest

from compiler.ir.parser import parse
from compiler.ir.stmt import Alloc, Invoke, Stmt, Store
from compiler.ir.visit import statements
from compiler.lower.accelerator.instruction_nests import (
    flat,
    is_instruction,
    is_load,
    leaf,
    written_whole,
)


def body(text: str) -> Stmt:
    declared = "func f(S: int8[4, 6, 4], P: int32[4, 4]) -> (D: int8[4, 6, 4]):\n"
    return parse(declared + indent(text, "  ")).body


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("D[0, 0, 0] = 1\n", True),
        ("for i in 4:\n  if i < 3:\n    for j in i:\n      D[i, j, 0] = 1\n", True),
        ("for i in 4 unrolled:\n  D[i, 0, 0] = 1\n", False),
        ("for i in 4:\n  for j in 2 unrolled:\n    D[i, j, 0] = 1\n", False),
        ("for i in 4:\n  D[i, 0, 0] = 1\n  D[i, 1, 0] = 1\n", False),
        ("alloc A: int8[4, 4] @ inp\nA[0, 0] = 1\n", False),
    ],
)
def test_what_is_one_instruction(text: str, whole: bool) -> None:
    stmt = body(text)
    assert is_instruction(stmt) is whole
    if whole:
        inner = leaf(stmt)
        assert not isinstance(inner, Invoke)
        assert inner.buffer.name == "D"


@pytest.mark.parametrize(
    ("kind", "loads"),
    [("int8[1] @ inp", True), ("int8[1] @ wgt", True), ("int8[1] @ acc", False)],
)
def test_which_are_the_load_modules(kind: str, loads: bool) -> None:
    stmt = body(f"alloc A: {kind}\nfor i in 1:\n  A[i] = S[0, 0, 0]\n")
    assert isinstance(stmt, Alloc)
    assert is_load(stmt.body) is loads


def test_a_sequence_made_flat() -> None:
    stmt = body("""\
alloc A: int8[1] @ inp
A[0] = 1
alloc B: int8[1] @ inp
B[0] = 2
for i in 4:
  D[i, 0, 0] = 3
  D[i, 0, 1] = 4
D[0, 0, 0] = A[0]
""")
    buffers, parts = flat(stmt)
    assert [each.name for each in buffers] == ["A", "B"]
    assert [type(each).__name__ for each in parts] == ["Store", "Store", "For", "Store"]


WHOLE = """\
{outside}alloc A: int8[{shape}, 4, 6, 4] @ inp
{between}for i in 4:
{room}  for j in 6:
{room}    for l in 4:
{room}      A[{index}] = S[i, j, l]
{room}{more}D[0, 0, 0] = A[0, 0, 0, 0]
"""


def whole(between: str = "", index: str = "0, i, j, l", more: str = "", shape: int = 2) -> bool:
    """Whether A is written whole by the copy into it, with other statements around."""
    room = "  " * between.count("\n")
    text = WHOLE.format(
        outside="",
        between="".join("  " * at + line + "\n" for at, line in enumerate(between.splitlines())),
        room=room,
        index=index,
        more=more,
        shape=shape,
    )
    first = text.index("for i in 4")
    lines = text[:first] + room + text[first:]
    stmt = body(lines)
    assert isinstance(stmt, Alloc)
    assert any(isinstance(each, Store) for each in statements(stmt))
    return written_whole(stmt.buffer, stmt.body)


def test_a_buffer_is_written_whole_by_the_only_copy_into_it() -> None:
    assert whole()
    assert not whole(more="A[1, 0, 0, 0] = 1\n")


def test_threads_have_a_slice_each() -> None:
    assert whole("for t in 2 unrolled:\n", "t, i, j, l")
    assert whole("for t in 2 unrolled:\nif t < 1:\n", "t, i, j, l")


def test_a_loop_between_writes_a_part_at_a_time() -> None:
    assert not whole("for k in 2:\n", "k, i, j, l")
    assert not whole("for t in 2 unrolled:\n", "0, i, j, l")


def test_slices_that_do_not_lie_together_are_parts() -> None:
    """Zeros between one's rows would be the other's elements."""
    assert not whole("for t in 2 unrolled:\n", "i - i, t, j, l")
