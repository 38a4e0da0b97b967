"""Buffers shrink to the box that is used: before and after, results, what stays whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Alloc, PrimFunc
from tandem.compiler.ir.visit import statements
from tandem.compiler.lower.compact_buffers import CompactBuffers
from tandem.compiler.lower.lower_blocks import LowerBlocks
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import blur


def compacted(program: PrimFunc) -> PrimFunc:
    return CompactBuffers().apply(LowerBlocks().apply(program))


def shapes(program: PrimFunc) -> dict[str, tuple[int, ...]]:
    inside = (each for each in statements(program.body) if isinstance(each, Alloc))
    return {each.buffer.name: each.buffer.shape for each in inside}


def test_golden(golden: Callable[[str, str], None]) -> None:
    start = Schedule.of(blur())
    tiled = start.tile("blury", ("y", "x"), (4, 6), ("y", "x", "yi", "xi"))
    golden("lower/compact.txt", text(compacted(tiled.compute_at("blurx", "blury", "x").program)))


@pytest.mark.parametrize(
    ("axis", "shape"), [("y", (6, 12)), ("x", (6, 6)), ("yi", (3, 6)), ("xi", (3, 1))]
)
def test_as_small_as_one_turn_needs(axis: str, shape: tuple[int, int]) -> None:
    start = Schedule.of(blur())
    tiled = start.tile("blury", ("y", "x"), (4, 6), ("y", "x", "yi", "xi"))
    assert shapes(compacted(tiled.compute_at("blurx", "blury", axis).program)) == {"blurx": shape}


def test_what_is_used_in_whole_stays() -> None:
    program = Schedule.of(blur()).program
    assert compacted(program) == LowerBlocks().apply(program)


WINDOW = """\
func last(a: int32[9]) -> (c: int32[3]):
  for c.i in 3:
    alloc b: int32[9]
    for b.i in 3:
      b[c.i * 3 + b.i] = a[c.i * 3 + b.i] * 2
    c[c.i] = b[c.i * 3 + 2]
"""
LOOKED_UP = """\
func picked(a: int32[9], at: int64[3]) -> (c: int32[3]):
  for c.i in 3:
    alloc b: int32[9]
    for b.i in 9:
      b[b.i] = a[b.i] * 2
    c[c.i] = b[at[c.i]]
"""


def test_by_hand() -> None:
    program = parse(WINDOW)
    small = CompactBuffers().apply(program)
    assert shapes(small) == {"b": (3,)}
    array = np.arange(9, dtype=np.int32)
    (found,) = interpreter.run(small, [array])
    np.testing.assert_array_equal(found, [4, 10, 16])


def test_an_index_from_data_may_be_any() -> None:
    assert CompactBuffers().apply(parse(LOOKED_UP)) == parse(LOOKED_UP)


NESTED = """\
func both(a: int32[12], at: int64[12]) -> (c: int32[4]):
  for c.i in 4:
    alloc b: int64[12]
    for b.i in 3:
      b[c.i * 3 + b.i] = at[c.i * 3 + b.i]
    for c.j in 1:
      alloc d: int32[12]
      for d.i in 2:
        d[c.i * 3 + d.i] = a[b[c.i * 3 + d.i]]
      c[c.i] = d[c.i * 3] + d[c.i * 3 + 1]
"""


def test_one_inside_the_other_and_at_its_indices() -> None:
    small = CompactBuffers().apply(parse(NESTED))
    assert shapes(small) == {"b": (3,), "d": (2,)}
    arrays: list[NDArray[Any]] = [
        np.arange(12, dtype=np.int32) * 10,
        np.arange(11, -1, -1, dtype=np.int64),
    ]
    for program in (parse(NESTED), small):
        (found,) = interpreter.run(program, arrays)
        np.testing.assert_array_equal(found, [210, 150, 90, 30])


MOVED = """\
func looked(a: int32[8]) -> (c: int32[8]):
  for c.i in 2:
    alloc at: int64[8]
    alloc b: int32[8]
    for at.i in 4:
      at[c.i * 4 + at.i] = c.i * 4 + 3 - at.i
    for b.i in 4:
      b[c.i * 4 + b.i] = a[c.i * 4 + b.i]
    for c.j in 4:
      c[c.i * 4 + c.j] = b[at[c.i * 4 + c.j]]
"""


def test_a_buffer_shrinks_where_it_tells_the_place_in_another() -> None:
    small = CompactBuffers().apply(parse(MOVED))
    assert shapes(small) == {"at": (4,), "b": (8,)}
    (found,) = interpreter.run(small, [np.arange(8, dtype=np.int32)])
    np.testing.assert_array_equal(found, [3, 2, 1, 0, 7, 6, 5, 4])
