"""Nearest resizing by whole factors: a tile is loaded once, and stored at each of its places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.graph.operators.shapes import Upsample
from tandem.compiler.ir.dtypes import INT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.alu_tiles import TiledOnAlu
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue, in_accumulators
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.tiling import resident_operands, tile_output
from tandem.compiler.machines.accelerator.templates.work_counts import (
    Output,
    WorkCounts,
    tile_shapes,
    transfers_of,
)
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.plan.pattern import Apply, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Choices, Floats, Ints
from tandem.compiler.te import Schedule, compute, placeholder
from tandem.compiler.te.knobs import OpenTrace
from tandem.compiler.te.schedule import Sketch
from tandem.hw.topology import MemoryId

MOST_COPIES = 64
"""The most places at which a pixel is stored."""
_STORE_GAP = 2
"""Cycles between the last beat of a STORE and the first beat of the next STORE."""


@dataclass(frozen=True, slots=True)
class UpsampleWorkload:
    """Images whose rows and columns are repeated.

    Attributes
    ----------
    data
        Shape: [N, C, H, W, B, L], in blocks of output channels.
    factors
        How often rows and columns are repeated.
    """

    data: tuple[int, ...]
    factors: tuple[int, int]

    @property
    def dtype(self) -> DType:
        """The images' type."""
        return INT8

    @property
    def from_inp(self) -> bool:
        """False: LOADs into ACC write OUT, too."""
        return False

    @property
    def epilogue(self) -> Epilogue:
        """An empty epilogue."""
        return Epilogue()

    @property
    def extents(self) -> dict[str, int]:
        """Blocks of channels, rows and columns of the images that are read."""
        return dict(zip(("oc", "y", "x"), self.data[1:4], strict=True))

    def input_tile(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """The extents of the input tile, which are those of the tile that is stored."""
        return y, x

    def loaded_elements(self, y: Ints, x: Ints) -> Ints:
        """All elements of the image: each is loaded once."""
        return np.full_like(y, self.data[2] * self.data[3])


class UpsampleByStores(TiledOnAlu[UpsampleWorkload]):
    """::

    for n, tiles of oc, y, x:
      for virtual threads:
        load the tile into ACC
        for each place of a pixel in the rectangle that it becomes: store the tile, with strides

    Nothing is computed: what a LOAD writes into ACC is in OUT, too. A STORE writes a row of the
    tile, into every second column if the factor is 2. Bursts of one element keep the bus as busy as
    longer ones, since many may be outstanding.
    """

    name = "upsample"
    patterns = (Apply("upsample", (Operand("data", INT8, (4,)),)),)

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[UpsampleWorkload, Arguments]:
        rows, columns = factors = found.match.attributes("upsample", Upsample).factors
        if prod(factors) > MOST_COPIES:
            raise Refusal(
                f"each pixel would be stored {rows} x {columns} times, and {MOST_COPIES} times are "
                "the most: two resizes by smaller factors would do"
            )
        return UpsampleWorkload(found.shape("data"), factors), Arguments()

    def tile_output(self) -> Sketch:
        """Splits the output's loops into tiles that threads share; the loops over the rows and the
        columns of rectangles store a tile several times::

        for n, oc, y, row, x, column, b, bo: ...   ->   for n, oc_o, y_o, x_o:
                                                          for thread:
                                                            for row, column:
                                                              for oc_i, y_i, x_i, b, bo: ...
        """
        axes, inner = ("oc", "y", "x"), ("oc_i", "y_i", "x_i", "b", "bo")
        order = ("n", "oc_o", "y_o", "x_o", "thread", "row", "column", *inner)
        return tile_output(axes, axes, order)

    def work_counts(self, workload: UpsampleWorkload, choices: Choices) -> WorkCounts:
        counts, whole = super().work_counts(workload, choices), workload.data[:4]
        images, channels, height, width = whole
        rows, columns = workload.factors
        oc, y, x = (choices[axis] for axis in workload.extents)
        one = np.ones_like(oc)
        # Rows at edges are padded on their way to ACC, so that no gaps split a LOAD.
        loads = transfers_of(MemoryId.ACC_8BIT, tile_shapes(whole, (one, oc, y, x)), whole)
        # Tiles of one row and one column of the rectangles.
        stored = Output(
            (images, channels, height, rows, width, columns), (one, oc, y, one, x, one)
        ).copies(workload.epilogue, resident_operands(choices))
        return replace(counts, copies=(loads, *stored), kernel=np.zeros_like(oc))

    def estimate(self, workload: UpsampleWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Estimated cycles: tiles are loaded while others are stored, if threads share them."""
        counts, extents = self.work_counts(workload, choices), workload.extents
        loads, stores = counts.copies
        sizes = choices.at_most(extents)
        first = cost.load(loads.memory, sizes["oc"] * sizes["y"] * sizes["x"])
        load = cost.overhead * loads.instructions + cost.beats(loads.memory, loads.elements)
        beats = cost.beats(stores.memory, np.ones_like(first))
        store = stores.elements * beats + _STORE_GAP * stores.instructions
        # A thread loads its next tile once the last STORE is acknowledged.
        one_by_one = load + store + cost.memory.latency * counts.tiles
        found = one_by_one
        for axis, extent in extents.items():
            tiles = -(-extent // choices[axis])
            # The number of threads at work, on average.
            threads = tiles / -(-tiles // choices["threads"])
            shared = first + np.maximum(np.maximum(load, store), one_by_one / threads)
            found = np.where(choices.equals("along", axis) & (threads > 1), shared, found)
        return found

    def start(self, workload: UpsampleWorkload, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: `out_data`, the image in ACC; `out`, in which the rectangles have
        axes of their own."""
        data = placeholder(workload.data, INT8, "data")
        loaded = in_accumulators(data, "out_data", DATA_AXES)

        def element(*at: Expr) -> Expr:
            n, oc, y, _, x, _, b, bo = at
            return te.cast(loaded[n, oc, y, x, b, bo], INT8)

        images, channels, height, width, *block = workload.data
        rows, columns = workload.factors
        shape = (images, channels, height, rows, width, columns, *block)
        axes = ("n", "oc", "y", "row", "x", "column", "b", "bo")
        return Schedule.of(compute(shape, element, "out", axes), inputs=(data,))

    def sketch(self, workload: UpsampleWorkload, machine: AcceleratorTarget) -> OpenTrace:
        steps = self.tile_output().set_scope("out_data", OnChip.ACC)
        return steps.compute_at("out_data", "out", "thread").trace
