"""OUT, PAR and the mode, of a machine that requantises its results.

They are apart from `Chip` so that a machine without them runs the code that it would run if there
were none: compiled code gets None instead, and has no branches for a requantiser.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.isa.columns import FIELDS, InstructionFields
from tandem.hw.topology import MemoryId
from tandem.sim.semantics.chip import Chip

PARAMETER_ROWS = 3
"""Rows of an element of PAR: addends, multipliers, shifts."""


class Requantiser(NamedTuple):
    """Flat arrays. Compared with its DRAM form, an element is

    * OUT: `batch` rows of `row_out` bytes, as in `Chip.acc`;
    * PAR: `PARAMETER_ROWS` rows of `row_out` int32.
    """

    out: npt.NDArray[np.uint8]
    par: npt.NDArray[np.int32]
    mode: InstructionFields
    """The last REQUANTISE of the run; zeros, so not active, before the first."""

    par_depth: int
    block_out: int
    row_out: int
    """Entries of a row of `out` and `par`."""


def make_requantiser(config: HardwareConfig, chip: Chip) -> Requantiser | None:
    """The requantiser of a machine with the memories `chip`, filled with zeros; None if it has
    none."""
    if Feature.REQUANTISE not in config.features:
        return None
    depth = config.depth(MemoryId.PAR)
    return Requantiser(
        out=np.zeros(len(chip.acc), dtype=np.uint8),
        par=np.zeros(depth * PARAMETER_ROWS * chip.row_out, dtype=np.int32),
        mode=np.zeros(FIELDS, dtype=np.int64),
        par_depth=depth,
        block_out=chip.block_out,
        row_out=chip.row_out,
    )
