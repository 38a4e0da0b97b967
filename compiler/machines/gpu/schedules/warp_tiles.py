"""Tiles of products that the threads of a warp compute together: whose elements a thread has, and
how what is loaded lies in shared memory.

A warp has 8 x 4 threads, and a thread its own rows and columns as in any tile. A product of the
warp takes two rows and two columns of each of its threads. In shared memory the bytes that it loads
at once are neighbours: 16 of terms of each of eight rows or columns, which are in all 32 banks.
"""

from __future__ import annotations

from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.gpu.schedules.products import Product
from tandem.compiler.machines.gpu.schedules.tile import Tile
from tandem.compiler.machines.gpu.warps import LANE_COLUMNS, LANE_ROWS, OWN, terms_of
from tandem.compiler.te.schedule import Schedule

THREADS = ("warp_m", "warp_n", "thread_m", "thread_n")
"""The loops over threads, of which the inner two are a warp."""


def warp_product(product: Product, tile: Tile) -> PrimFunc | None:
    """The intrinsic that computes a product in warps; None if the tile has none, or is no whole
    products of whole warps."""
    found = product.together
    if not tile.warps or found is None:
        return None
    lanes = tile.rows // tile.thread_rows, tile.columns // tile.thread_columns
    whole = (
        tile.thread_rows % OWN == 0
        and tile.thread_columns % OWN == 0
        and lanes[0] % LANE_ROWS == 0
        and lanes[1] % LANE_COLUMNS == 0
        and tile.depth % terms_of(found) == 0
    )
    return found if whole else None


def in_warps(schedule: Schedule, stage: str) -> Schedule:
    """The schedule with a stage's loops over threads split into those over warps, and over the
    threads of each."""
    schedule = schedule.split(stage, "thread_m", LANE_ROWS, ("warp_m", "thread_m"))
    return schedule.split(stage, "thread_n", LANE_COLUMNS, ("warp_n", "thread_n"))


def by_products(schedule: Schedule, near: str, intrinsic: PrimFunc) -> tuple[Schedule, list[str]]:
    """The schedule with the loops of a thread's sums split into those of one product, and the names
    of all of them from the terms of a tile on."""
    part = terms_of(intrinsic) // OWN
    schedule = schedule.split(near, "m", OWN, ("m", "own_m"))
    schedule = schedule.split(near, "n", OWN, ("n", "own_n"))
    schedule = schedule.split(near, "k", terms_of(intrinsic), ("k", "parts"))
    schedule = schedule.split(near, "parts", part, ("part", "term"))
    return schedule, ["k", "m", "n", "own_m", "own_n", "part", "term"]


def laid_out(schedule: Schedule, product: Product, tile: Tile, intrinsic: PrimFunc) -> Schedule:
    """The schedule with the operands of each product of a warp as neighbours in shared memory."""
    part = terms_of(intrinsic) // OWN
    rows, columns = tile.thread_rows, tile.thread_columns // OWN
    # By parts of terms: a row of each thread, for each of its rows.
    left = ("0", f"2/{part}", f"1%{rows}", f"1/{rows}", f"2%{part}")
    schedule = schedule.set_layout(product.left, left)
    # By parts of terms: two columns of each thread, for each of its pairs of columns.
    pairs = ("0", f"1/{part}", f"2/{OWN}", f"2%{OWN}", f"1%{part}")
    right = ("0", "1", f"2%{columns}", f"2/{columns}", "3", "4")
    return schedule.set_layout(product.right, pairs).set_layout(product.right, right)
