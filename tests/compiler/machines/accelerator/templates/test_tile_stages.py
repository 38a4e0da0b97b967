"""The sizes of tiles: a whole one along each axis, and what is left at its end."""

from __future__ import annotations

from itertools import product

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.tile_stages import AXES, ends
from tandem.compiler.plan.space import Choices

LAYER = Conv2dWorkload(
    (1, 3, 8, 6, 1, 16), (5, 3, 3, 3, 16, 16), (1, 1), (1, 1, 1, 1), (1, 1), 1, ()
)
"""5 blocks of channels, 8 rows, 6 columns."""


def test_tiles_cover_the_result() -> None:
    sizes = [*product((1, 2, 5), (1, 3, 8), (4, 6))]
    choices = Choices.of([dict(zip(AXES, size, strict=True)) for size in sizes])
    found = ends(LAYER, choices)
    for number, size in enumerate(sizes):
        for axis, (extent, whole) in enumerate(zip((5, 8, 6), size, strict=True)):
            of_axis = np.moveaxis(found[axis][number], axis, 0)
            assert (of_axis[1] == whole).all()
            assert (of_axis[0] == extent - whole * (-(-extent // whole) - 1)).all()
            assert (of_axis[0] > 0).all()
