"""The tiles of a kernel's products as a schedule template, for tasks and records of tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final, NoReturn

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.nodes import Function
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.machines.gpu.schedules.products import Product, as_products
from tandem.compiler.machines.gpu.schedules.tile import Tile, tile_of
from tandem.compiler.machines.gpu.schedules.why_alone import Multiplication, multiplication
from tandem.compiler.machines.gpu.warps import LANE_COLUMNS, LANE_ROWS, OWN, terms_of
from tandem.compiler.plan.pattern import Apply
from tandem.compiler.plan.schedule_template import KernelMatch, ScheduleTemplate
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.te.knobs import Choice, Setting
from tandem.compiler.te.schedule import Schedule

_SIDES = (16, 32, 64, 128)
_OWN = (1, 2, 4, 8)
_DEPTHS = (8, 16, 32)
_SLOTS = (1, 2)
_WARP = 32
_BUSY = 64
"""Blocks that keep a GPU busy."""


class TileTemplate(ScheduleTemplate[Function, GpuMachine]):
    """Schedules a kernel with products of matrices: the tile of a block, that of a thread, the
    terms that are loaded at once, and the slots of what is loaded.

    No pattern leads to it: the workload is the kernel itself, and all of its products have the same
    tile.
    """

    name: ClassVar[str] = "gpu_tiles"
    patterns: ClassVar[tuple[Apply, ...]] = ()

    def bind(self, found: KernelMatch, machine: GpuMachine) -> NoReturn:
        raise Refusal("tiles match no pattern: they schedule whole kernels")

    def space(self, workload: Function, machine: GpuMachine) -> Space:
        knobs: dict[str, tuple[Setting, ...]] = {
            "rows": _SIDES,
            "columns": _SIDES,
            "depth": _DEPTHS,
            "thread_rows": _OWN,
            "thread_columns": _OWN,
            "slots": _SLOTS,
        }
        if machine.warp_products:
            knobs |= {"depth": (*_DEPTHS, 2 * _DEPTHS[-1]), "warps": (0, 1)}
        return Space(knobs)

    def fits(self, workload: Function, choices: Choices, machine: GpuMachine) -> Bools:
        """Threads and memory that the machine has, no tile larger than a product, and warps that
        multiply together where they can."""
        threads = _threads(choices)
        loaded = (choices["rows"] + choices["columns"]) * choices["depth"] * choices["slots"]
        fitting: Bools = (threads <= machine.threads) & (threads >= min(_WARP, machine.threads))
        alone = _alone(choices)
        for product in products_of(workload):
            fitting &= alone | _in_warps(choices, product)
            loaded_bytes = loaded * np.where(alone, product.bytes, product.stored_bytes)
            fitting &= loaded_bytes <= machine.shared_bytes
            for knob, extent in (
                ("rows", product.rows),
                ("columns", product.columns),
                ("depth", product.terms),
            ):
                fitting &= choices[knob] <= extent
        return fitting

    def estimate(self, workload: Function, choices: Choices, machine: GpuMachine) -> Floats:
        """Elements that are loaded, and products in tiles, with those beyond the matrices, by the
        part of the GPU that has blocks: an order in which to try, and no time."""
        costs = np.zeros(len(choices))
        for product in products_of(workload):
            rows = -(-product.rows // choices["rows"])
            columns = -(-product.columns // choices["columns"])
            blocks = product.batch * rows * columns
            inside = choices["rows"] * choices["columns"] * product.terms
            loaded = (choices["rows"] + choices["columns"]) * product.terms
            costs += (inside + 8 * loaded) * np.maximum(blocks, _BUSY)
        return costs

    def schedule(self, workload: Function, choice: Choice, machine: GpuMachine) -> Schedule:
        """The schedule of a kernel with a choice; with none the compiler's own tile."""
        inputs = placeholders(workload)
        return gpu_schedule(
            *tensors(workload, inputs),
            machine=machine,
            inputs=inputs,
            name=workload.name,
            tile=tile_from(choice),
        )


TILES: Final = TileTemplate()
"""The one template of tiles."""


@lru_cache(maxsize=256)
def products_of(kernel: Function) -> tuple[Product, ...]:
    """The products of matrices in a kernel."""
    return as_products(tensors(kernel, placeholders(kernel)))[1]


def default_choice(products: Sequence[Product], machine: GpuMachine) -> Choice:
    """The compiler's own tile for the first of a kernel's products."""
    tile = tile_of(products[0], machine)
    choice: Choice = {
        "rows": tile.rows,
        "columns": tile.columns,
        "depth": tile.depth,
        "thread_rows": tile.thread_rows,
        "thread_columns": tile.thread_columns,
        "slots": tile.slots,
    }
    return {**choice, "warps": int(tile.warps)} if machine.warp_products else choice


def multiplications(
    kernel: Function, machine: GpuMachine, choice: Choice | None = None
) -> tuple[Multiplication, ...]:
    """How a kernel's products are computed with a choice; with none each has the compiler's own
    tile."""
    return tuple(
        multiplication(product, tile_from(choice) if choice else tile_of(product, machine), machine)
        for product in products_of(kernel)
    )


def tile_from(choice: Mapping[str, int | str]) -> Tile:
    """The tile of a choice."""
    settings = {name: int(setting) for name, setting in choice.items()}
    warps = bool(settings.pop("warps", 0))
    return Tile(**settings, warps=warps)


def _alone(choices: Choices) -> Bools:
    """Where each thread multiplies by itself."""
    return (
        ~choices.equals("warps", 1) if "warps" in choices.columns else np.ones(len(choices), bool)
    )


def _in_warps(choices: Choices, product: Product) -> Bools:
    """Where tiles are whole products of whole warps, by `warp_tiles.warp_product`."""
    found = product.together
    if found is None:
        return np.zeros(len(choices), bool)
    rows, columns = choices["thread_rows"], choices["thread_columns"]
    return (
        (rows % OWN == 0)
        & (columns % OWN == 0)
        & (choices["rows"] // rows % LANE_ROWS == 0)
        & (choices["columns"] // columns % LANE_COLUMNS == 0)
        & (choices["depth"] % terms_of(found) == 0)
    )


def _threads(choices: Choices) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The threads of a block; more than any machine has where a thread's tile does not divide the
    block's."""
    rows, columns = choices["rows"], choices["columns"]
    own = choices["thread_rows"], choices["thread_columns"]
    whole = (rows % own[0] == 0) & (columns % own[1] == 0)
    return np.where(whole, rows // own[0] * (columns // own[1]), np.iinfo(np.int64).max)
