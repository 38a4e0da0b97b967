"""Products by tiles: the loops of each stage, by hand, and results, against the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.gpu.intrinsics import DOT_PRODUCTS
from tandem.compiler.machines.gpu.schedules.products import Product
from tandem.compiler.machines.gpu.schedules.tile import Tile
from tandem.compiler.machines.gpu.schedules.tiles import tiled
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS
from tandem.compiler.te import (
    Tensor,
    cast,
    compute,
    maximum,
    placeholder,
    reduce_axis,
    select,
    sum,
)
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction
from tandem.compiler.te.tree import allocated
from tests.support.compiler.te.nests import nest, stages_of
from tests.support.compiler.te.schedules import random_inputs

TILE = Tile(8, 8, 4, 2, 4)
"""Of 4 x 2 threads."""
OWN = "thread_m:4t thread_n:2t own_m:2u own_n:4u"
SUMS = "thread_m:4t thread_n:2t k:4 m:2u n:4u"
BLOCKS = "block_m:2b block_n:2b"


def operands(dtype: DType = INT32, batch: int = 1, by_columns: bool = False) -> list[Tensor]:
    """Copies of two stacks of 16 x 16 matrices, the right ones by rows or by columns."""
    a = placeholder((batch, 16, 16), dtype, "A")
    b = placeholder((batch, 16, 16), dtype, "B")

    def right(n: Expr, i: Expr, j: Expr) -> Expr:
        return b[n, j, i] if by_columns else b[n, i, j]

    return [
        compute((batch, 16, 16), lambda n, i, j: a[n, i, j], "l", ("b", "m", "k")),
        compute((batch, 16, 16), right, "r", ("b", "k", "n")),
    ]


def product_of(left: Tensor, right: Tensor) -> tuple[Tensor, Product]:
    """The products of two stacks, and what is said of them."""
    batch, rows, terms = left.shape
    columns, kind = right.shape[2], FLOAT32 if left.dtype == FLOAT32 else INT32
    k = reduce_axis(terms, "k")

    def element(b: Expr, m: Expr, n: Expr) -> Reduction:
        return sum(cast(left[b, m, k], kind) * cast(right[b, k, n], kind), axis=k)

    types = left.dtype, right.dtype
    found = Product("p", "l", "r", batch, rows, columns, terms)
    found = replace(found, dot=DOT_PRODUCTS.get(types), together=WARP_PRODUCTS.get(types))
    return compute((batch, rows, columns), element, "p", ("b", "m", "n")), found


def same(one: Schedule, other: Tensor) -> None:
    """Assert that a schedule has the results of the plain one, in every bit."""
    plain = Schedule.of(other).program
    arrays = random_inputs(plain)
    given = dict(zip([each.name for each in plain.inputs], arrays, strict=True))
    (wanted,) = interpreter.run(plain, arrays)
    (found,) = interpreter.run(one.program, [given[each.name] for each in one.program.inputs])
    np.testing.assert_array_equal(found, wanted)


def activation(p: Tensor) -> Tensor:
    return compute(p.shape[1:], lambda i, j: maximum(p[0, i, j], 0), "z", ("i", "j"))


def test_a_reader_of_elements_is_computed_with_the_tile() -> None:
    p, found = product_of(*operands(FLOAT32))
    schedule = tiled(Schedule.of(activation(p)), found, replace(TILE, slots=1))
    around = f"{BLOCKS} b:1"
    assert nest(schedule, "p") == f"{around} tile_k:4 {SUMS}"
    assert nest(schedule, "p_init") == f"{around} thread_m:4t thread_n:2t m:2u n:4u"
    assert nest(schedule, "z") == f"{BLOCKS} {OWN}"
    # Eight threads load four of 32 elements each, which are neighbours.
    for operand in "lr":
        assert nest(schedule, operand) == f"{around} tile_k:4 b:1 thread:8t step:1 vector:4v"
    held = allocated(schedule.program.body)
    scopes = {name: (each.scope.value, each.slots) for name, each in held.items()}
    assert scopes == {"p": ("local", 1), "l": ("shared", 1), "r": ("shared", 1)}
    same(schedule, activation(p))


def test_slots() -> None:
    p, found = product_of(*operands())
    for slots in (1, 2, 3):
        schedule = tiled(Schedule.of(activation(p)), found, replace(TILE, slots=slots))
        held = allocated(schedule.program.body)
        assert [held[name].slots for name in "lrp"] == [slots, slots, 1]


READERS: dict[str, tuple[Callable[[Tensor], Tensor], int]] = {
    "none": (lambda p: p, 1),
    "sums": (lambda p: summed(p), 1),
    "two places": (lambda p: compute((16, 16), lambda i, j: p[0, i, j] + p[0, j, i], "z"), 1),
    "a column": (lambda p: compute((16,), lambda i: p[0, i, 0], "z"), 1),
    "several times": (lambda p: compute((16, 16, 2), lambda i, j, k: p[0, i, j], "z"), 1),
    "every other row": (lambda p: compute((8, 16), lambda i, j: p[0, i * 2, j], "z"), 1),
    "rows twice": (lambda p: compute((32, 16), lambda i, j: p[0, i // 2, j], "z"), 1),
    "fewer columns": (lambda p: compute((16, 4), lambda i, j: p[0, i, j], "z"), 0),
}
"""What reads a product, and how many of its stages are in global memory."""


def summed(p: Tensor) -> Tensor:
    k = reduce_axis(16, "k")
    return compute((16,), lambda i: sum(p[0, i, k], axis=k), "z")


@pytest.mark.parametrize("name", READERS)
def test_other_readers_read_global_memory(name: str) -> None:
    make, alone = READERS[name]
    p, found = product_of(*operands())
    schedule = tiled(Schedule.of(make(p)), found, TILE)
    if alone:
        assert nest(schedule, "p") == f"b:1b {BLOCKS} {OWN}"
        assert nest(schedule, "p_near") == f"b:1b {BLOCKS} b:1 tile_k:4 {SUMS}"
    else:
        assert nest(schedule, "z") == f"block_m:2b block_n:1b {OWN}"
        assert "p_near" not in stages_of(schedule)
    same(schedule, make(p))


def test_two_readers_read_global_memory() -> None:
    p, found = product_of(*operands())
    others = [compute((16, 16), lambda i, j: p[0, i, j] * 2, name) for name in "yz"]
    schedule = tiled(Schedule.of(*others), found, TILE)
    assert nest(schedule, "p") == f"b:1b {BLOCKS} {OWN}"
    assert nest(schedule, "z").count(":16") == 2


def test_axes_of_a_reader_are_rows_columns_and_batches() -> None:
    """Those of each in one loop, whatever their order; axes of one element are outermost."""
    p, found = product_of(*operands(batch=4))
    z = compute(
        (4, 2, 1, 16, 2, 4),
        lambda h, s, u, o, t, v: p[s * 2 + t, h * 4 + v, o] + 1,
        "z",
        ("h", "s", "u", "o", "t", "v"),
    )
    schedule = tiled(Schedule.of(z), found, TILE)
    assert nest(schedule, "z") == f"u:1b batch:4b {BLOCKS} {OWN}"
    assert nest(schedule, "p") == f"u:1b batch:4b {BLOCKS} b:1 tile_k:4 {SUMS}"


def test_dot_products_have_terms_of_columns_as_neighbours() -> None:
    p, found = product_of(*operands(INT8))
    schedule = tiled(Schedule.of(activation(p)), found, replace(TILE, depth=8))
    assert nest(schedule, "p").endswith("tile_k:2 thread_m:4t thread_n:2t k:2 m:2u n:4u")
    assert nest(schedule, "l").endswith("thread:8t step:1 vector:8v")
    # The right operand is neighbours by rows in memory, and not in the tile.
    assert nest(schedule, "r").endswith("thread:8t step:8")
    same(schedule, activation(p))
    by_columns = operands(INT8, by_columns=True)
    p, _ = product_of(*by_columns)
    schedule = tiled(Schedule.of(activation(p)), found, replace(TILE, depth=8))
    assert nest(schedule, "r").endswith("thread:8t step:1 vector:8v")
    same(schedule, activation(p))
    # Terms in fours, or one by one.
    odd = tiled(Schedule.of(activation(p)), found, replace(TILE, depth=2))
    assert nest(odd, "p").endswith("tile_k:8 thread_m:4t thread_n:2t k:2 m:2u n:4u")


def test_products_of_warps() -> None:
    """Loops over warps and over their threads; a product has two rows and columns of each."""
    a, b = placeholder((1, 32, 64), INT8, "A"), placeholder((1, 16, 64), INT8, "B")
    left = compute((1, 32, 64), lambda n, i, j: a[n, i, j], "l", ("b", "m", "k"))
    right = compute((1, 64, 16), lambda n, i, j: b[n, j, i], "r", ("b", "k", "n"))
    p, found = product_of(left, right)
    tile = Tile(32, 16, 32, 4, 2, warps=True)
    schedule = tiled(Schedule.of(activation(p)), found, tile)
    threads = "warp_m:1t warp_n:2t thread_m:8t thread_n:4t"
    around = "block_m:1b block_n:1b"
    assert nest(schedule, "z") == f"{around} {threads} own_m:4u own_n:2u"
    assert nest(schedule, "p") == f"{around} b:1 tile_k:2 {threads} k:1u m:2u n:1u"
    assert nest(schedule, "p_init") == f"{around} b:1 {threads} m:2u n:1u own_m:2u own_n:2u"
    assert nest(schedule, "l") == f"{around} b:1 tile_k:2 b:1 thread:64t step:1 vector:16v"
    # 512 elements, of which each of 64 threads loads eight.
    assert nest(schedule, "r") == f"{around} b:1 tile_k:2 b:1 thread:64t step:1 vector:8v"
    # Threads that have no whole products do not multiply together.
    alone = tiled(Schedule.of(activation(p)), found, replace(tile, warps=False))
    assert nest(alone, "p").endswith("tile_k:2 thread_m:8t thread_n:8t k:8 m:4u n:2u")


@pytest.mark.parametrize(
    ("dtype", "tile", "left"),
    [
        (INT32, Tile(8, 8, 2, 1, 1), "thread:16t step:1"),
        (INT32, Tile(8, 8, 8, 2, 4), "thread:8t step:2 vector:4v"),
        (INT32, Tile(8, 8, 8, 8, 8), "thread:1t step:16 vector:4v"),
        (INT8, Tile(8, 8, 2, 8, 8), "thread:1t step:8 vector:2v"),
        (INT8, Tile(16, 16, 16, 8, 8), "thread:4t step:4 vector:16v"),
    ],
)
def test_loads_of_threads(dtype: DType, tile: Tile, left: str) -> None:
    """16 bytes at once at most, and a part of a row that each thread has."""
    p, found = product_of(*operands(dtype))
    assert nest(tiled(Schedule.of(activation(p)), found, tile), "l").endswith(left)


def edged(extent: int, axis: str, other: int = 0) -> Tensor:
    """A left operand of which `extent` rows (m) or terms (k) are there, and others beyond."""
    a = placeholder((1, 16, 16), INT8, "A")

    def element(b: Expr, m: Expr, k: Expr) -> Expr:
        # A remainder that is the term itself.
        return select((m if axis == "m" else k) < extent, a[b, m, k % 16], other)

    return compute((1, 16, 16), element, "l", ("b", "m", "k"))


@pytest.mark.parametrize(
    ("left", "vector"),
    [
        (edged(9, "m"), 16),
        (edged(12, "k"), 4),
        (edged(8, "k"), 8),
        (edged(9, "k"), 1),
        (edged(9, "m", other=3), 16),
    ],
)
def test_loads_of_matrices_that_end_in_a_tile(left: Tensor, vector: int) -> None:
    p, found = product_of(left, operands(INT8)[1])
    schedule = tiled(Schedule.of(activation(p)), found, Tile(16, 16, 16, 8, 8))
    loops = f"step:{64 // vector}" + (f" vector:{vector}v" if vector > 1 else "")
    assert nest(schedule, "l").endswith(f"thread:4t {loops}")
    if vector in (1, 4):
        same(schedule, activation(p))


def test_loads_of_other_operands() -> None:
    """Neither neighbours nor copies."""
    a = placeholder((1, 16, 16), INT32, "A")
    values: list[Callable[[Expr, Expr, Expr], Expr]] = [
        lambda b, m, k: a[b, k, m],
        lambda b, m, k: a[b, m, k] + 1,
        lambda b, m, k: select(a[b, m, k] < 3, a[b, m, k], 0),
        lambda b, m, k: select(m < 3, a[b, m, k], a[b, m, 0]),
        lambda b, m, k: select(m <= 3, a[b, m, k], 0),
    ]
    for value in values:
        left = compute((1, 16, 16), value, "l", ("b", "m", "k"))
        p, found = product_of(left, operands()[1])
        assert nest(tiled(Schedule.of(activation(p)), found, TILE), "l").endswith(
            "thread:8t step:4"
        )


def test_what_operands_alone_read_is_inlined() -> None:
    """But for reductions, and what others read."""
    a = placeholder((1, 16, 16), INT32, "A")
    k = reduce_axis(16, "t")
    sums = compute((16,), lambda i: sum(a[0, i, k], axis=k), "a_sums")
    padded = compute((1, 16, 16), lambda b, i, j: a[b, i, j] + 3, "padded")
    shared = compute((1, 16, 16), lambda b, i, j: a[b, i, j] * 2, "shared")
    left = compute(
        (1, 16, 16),
        lambda b, m, k: padded[b, m, k] + sums[m] + shared[b, m, k],
        "l",
        ("b", "m", "k"),
    )
    p, found = product_of(left, operands()[1])
    z = compute((16, 16), lambda i, j: p[0, i, j] + shared[0, i, j], "z")
    schedule = tiled(Schedule.of(z), found, TILE)
    stages = set(stages_of(schedule))
    assert stages == {"a_sums", "shared", "l", "r", "p", "p_init", "z"}
    same(schedule, z)
