"""Schedules of a GPU: tiles in shared memory, with elements of integers and few threads."""

from __future__ import annotations

from typing import NamedTuple

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import INT32, DType
from tandem.compiler.machines.gpu.launch import SHARED
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule


class Tile(NamedTuple):
    """Of a product: the elements of a block, the terms that are loaded at once, the elements of a
    thread, and the slots of what is loaded."""

    rows: int = 8
    columns: int = 8
    depth: int = 4
    thread_rows: int = 2
    thread_columns: int = 2
    slots: int = 1


def product(
    m: int = 16,
    n: int = 24,
    k: int = 8,
    tile: Tile = Tile(),  # noqa: B008
    dtype: DType = INT32,
    fetched: Scope = SHARED,
    summed: Scope = Scope.LOCAL,
) -> Schedule:
    """C = A B: threads load tiles of A and B together, and each sums up a tile of its own."""
    a, b = placeholder((m, k), dtype, "A"), placeholder((k, n), dtype, "B")
    r = reduce_axis(k, "k")
    c = compute((m, n), lambda i, j: sum(a[i, r] * b[r, j], axis=r), "C", ("i", "j"))
    near, threads = "C_near", tile.rows // tile.thread_rows * (tile.columns // tile.thread_columns)
    schedule = Schedule.of(c).cache_write("C", summed, near)
    schedule = schedule.tile("C", ("i", "j"), (tile.rows, tile.columns), ("bi", "bj", "i", "j"))
    schedule = schedule.compute_at(near, "C", "bj")
    inner = ("ti", "tj", "i", "j")
    schedule = schedule.tile("C", ("i", "j"), (tile.thread_rows, tile.thread_columns), inner)
    schedule = schedule.split(near, "i", tile.thread_rows, ("ti", "i"))
    schedule = schedule.split(near, "j", tile.thread_columns, ("tj", "j"))
    schedule = schedule.split(near, "k", tile.depth, ("ko", "k"))
    schedule = schedule.reorder(near, "ko", "ti", "tj", "k", "i", "j")
    for operand in "AB":
        copy = f"{operand}_tile"
        schedule = schedule.cache_read(operand, (near,), fetched, copy)
        schedule = schedule.compute_at(copy, near, "ko").fuse(copy, "d0", "d1", "f")
        schedule = schedule.split(copy, "f", threads, ("o", "t")).bind(copy, "t", "threads")
        if tile.slots > 1:
            schedule = schedule.multi_buffer(copy, tile.slots)
    schedule = schedule.decompose_reduction(near, "ko")
    schedule = schedule.bind("C", "bi", "blocks").bind("C", "bj", "blocks")
    for stage in (f"{near}_init", near, "C"):
        schedule = schedule.bind(stage, "ti", "threads").bind(stage, "tj", "threads")
    return schedule


def window(size: int = 30, reach: int = 3, threads: int = 8) -> Schedule:
    """Sums of neighbours: threads load what all of a block need, borders included."""
    a = placeholder((size + reach - 1,), INT32, "A")
    r = reduce_axis(reach, "r")
    c = compute((size,), lambda i: sum(a[i + r], axis=r), "C", ("i",))
    schedule = Schedule.of(c).split("C", "i", threads, ("b", "t"))
    schedule = schedule.cache_read("A", ("C",), SHARED, "A_near").compute_at("A_near", "C", "b")
    schedule = schedule.split("A_near", "d0", threads, ("o", "t"))
    schedule = schedule.bind("C", "b", "blocks").bind("C", "t", "threads")
    return schedule.bind("A_near", "t", "threads")


def transposed(rows: int = 16, columns: int = 12, side: int = 4) -> Schedule:
    """A matrix transposed by tiles, which are read by rows and written by rows."""
    a = placeholder((rows, columns), INT32, "A")
    c = compute((columns, rows), lambda i, j: a[j, i] + 1, "C", ("i", "j"))
    schedule = Schedule.of(c).tile("C", ("i", "j"), (side, side), ("bi", "bj", "i", "j"))
    schedule = schedule.cache_read("A", ("C",), SHARED, "A_near").compute_at("A_near", "C", "bj")
    for stage, loops in (("C", ("bi", "bj")),):
        for axis in loops:
            schedule = schedule.bind(stage, axis, "blocks")
    for stage, loops in (("A_near", ("d0", "d1")), ("C", ("i", "j"))):
        for axis in loops:
            schedule = schedule.bind(stage, axis, "threads")
    return schedule
