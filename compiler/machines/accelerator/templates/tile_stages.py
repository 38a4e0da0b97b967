"""The tables of a convolution's pipeline: what the stages of its tiles take.

`tile_pipeline` is one program for estimates and for lower bounds, of which these say how long each
stage is. Estimates (`conv2d_cycles`) are of whole tiles. Lower bounds (`conv2d_bound`) are `fine`:
blocks of channels are stages of their own, with the least that the timing rules allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.plan.space import Choices, Ints

AXES = ("oc", "y", "x")


class StageCosts(NamedTuple):
    """What the stages of all tiles take, in cycles.

    Attributes
    ----------
    load
        Of a LOAD, beside its data.
    store
        Of a STORE of a block, beside its data.
    behind_products
        From the last micro-op of products to the load that waits for it.
    behind_results
        From the last micro-op of a tile to its STORE.
    acknowledged
        From the end of a STORE to the products that wait for it.
    last
        From the last micro-op, or from the last STORE's acknowledgement less this, to the end.
    fine
        Whether stages are those of blocks of channels, of parts of the image without padding.
    longest
        Maximum number of simulated steps; a longer program is extrapolated at the same rate.
    """

    load: int
    store: int
    behind_products: int
    behind_results: int
    acknowledged: int
    last: int
    fine: int
    longest: int


@dataclass(frozen=True, slots=True)
class TileCosts:
    """What stages take that do not depend on a tile's place, in cycles, for each of n choices.

    Attributes
    ----------
    begin
        Start cycles of compute and of load, [n].
    operands
        Operands of passes that the load unit loads, [n, 2, 2, 2]. Index 1 is a whole tile along an
        axis, 0 the remainder at the end of the axis.
    before
        What compute does before a tile's products, and after its resets' wait, likewise.
    passes
        Passes between products and STORE, likewise.
    after
        Passes that the STORE need not wait for, likewise.
    image_loads
        Whether each block of channels of a tile's image is a LOAD of its own.
    whole_tile
        Whether requantised products of a tile are certainly one instruction.
    fits
        Whether the loops over a tile fit the fields of both of an instruction's loops.
    """

    begin: tuple[Ints, Ints]
    passes: Ints
    operands: Ints | int = 0
    before: Ints | int = 0
    after: Ints | int = 0
    image_loads: Ints | int = 1
    whole_tile: Ints | int = 0
    fits: Ints | int = 0


def ends(workload: Conv2dWorkload, choices: Choices) -> tuple[Ints, Ints, Ints]:
    """The sizes of tiles along three axes, [n, 2, 2, 2] each: index 0 is the remainder at the end
    of an axis, and 1 a whole tile."""
    found = []
    for axis, at in zip(AXES, np.ix_([0, 1], [0, 1], [0, 1]), strict=True):
        size, extent = choices[axis], workload.extents[axis]
        both = np.stack([extent - (-(-extent // size) - 1) * size, size], axis=1)
        found.append(np.broadcast_to(both[:, at], (len(choices), 2, 2, 2)))
    oc, y, x = found
    return oc, y, x
