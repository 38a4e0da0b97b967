"""The scheduler's state during a run, as an array for compiled code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.isa import TokenQueue, Unit
from tandem.sim.functional.plan import NOWHERE

State = npt.NDArray[np.int64]
"""The scheduler's state, indexed by the constants below."""

DISPATCHED = 0
"""Number of dispatched instructions."""
ISSUED = 1
"""An entry for each unit: number of instructions put in the unit's queue."""
STARTED = ISSUED + len(Unit)
"""An entry for each unit: number of instructions taken from the unit's queue."""
TOKENS = STARTED + len(Unit)
"""An entry for each token queue: number of tokens in the queue."""
ACTIVE = TOKENS + len(TokenQueue) + 1
"""Index of the instruction in execution, or -1."""
POSITION = ACTIVE + 1
"""Micro-ops that the instruction in execution has completed."""
MICRO_OPS = POSITION + 1
"""Micro-ops completed in the whole run."""
FINISHED = MICRO_OPS + 1
"""Whether FINISH has been executed."""
EXECUTED = FINISHED + 1
"""Number of started instructions, which are the entries in the log."""
FAULTY = EXECUTED + 1
"""Index of the instruction at fault."""
_LENGTH = FAULTY + 1


def make_state() -> State:
    """The state at launch."""
    state = np.zeros(_LENGTH, dtype=np.int64)
    state[TOKENS + NOWHERE] = 1
    state[ACTIVE] = -1
    return state
