"""Random programs that keep both directions of the memory bus busy."""

from __future__ import annotations

from itertools import count

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Store
from tests.support.sim.programs import RandomProgram, random_program

FEWEST_ROWS = 5
FEWEST_ELEMENTS = 20
STEP = 1000


def busy_program(config: HardwareConfig, seed: int, size: int) -> RandomProgram:
    """Of about `size` instructions, with a handful of rows to store; the same every time.

    All programs load a lot; many store next to nothing.
    """
    drawn = (random_program(config, number, size) for number in count(seed, STEP))
    return next(one for one in drawn if _stores_enough(one))


def _stores_enough(drawn: RandomProgram) -> bool:
    stores = [one for one in drawn.program if isinstance(one, Store) and one.x_size]
    rows = sum(store.y_size for store in stores)
    elements = sum(store.y_size * store.x_size for store in stores)
    return rows >= FEWEST_ROWS and elements >= FEWEST_ELEMENTS
