"""The search for conflicts: what compiled code does of a check. Importing it imports Numba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.hazards.accesses import find_conflicts
from hw.hazards.dram import Rectangles
from hw.hazards.explain import Conflict
from hw.hazards.order import order_of
from hw.hazards.pieces import pieces_of
from hw.hazards.report import Doubt
from hw.hazards.touches import touches_of
from hw.isa.columns import Columns, Ints
from hw.topology import MemoryId

__all__ = ["Findings", "search"]


@dataclass(frozen=True, slots=True)
class Findings:
    """The first conflicts and how many there are, the instructions of which it is not known what
    they touch on the chip, by the reason, and those that never start. Instructions ascend."""

    conflicts: Sequence[Conflict]
    count: int
    doubts: Mapping[Doubt, Ints]
    never: Ints


def search(
    config: HardwareConfig,
    columns: Columns,
    modules: npt.NDArray[np.int8],
    rectangles: Rectangles,
    bases: Sequence[int],
    image: npt.NDArray[np.uint8] | None,
    keep: int,
) -> Findings:
    """Search a legal program for conflicts, and keep `keep` of them; see `check_hazards`."""
    order = order_of(columns, modules)
    pieces = pieces_of(rectangles)
    touches = touches_of(config, columns, order.sequence, pieces, bases[MemoryId.UOP], image)
    conflicts, count = find_conflicts(config, order, touches, pieces.cuts, keep)
    waits = np.ones(len(modules), dtype=np.bool_)
    waits[order.sequence] = False
    return Findings(conflicts, count, touches.doubts, np.flatnonzero(waits))
