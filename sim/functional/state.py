"""The state of a run that compiled code changes, besides the memories."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hw.isa import TokenQueue, Unit
from sim.functional.plan import NOWHERE

__all__ = ["State", "make_state"]

State = npt.NDArray[np.int64]
"""Indexed by the constants below."""

FINGERPRINT = 0
"""The fingerprint of the source that the code was compiled from."""
DISPATCHED = 1
"""Instructions that reached a queue."""
ISSUED = 2
"""By unit: instructions that reached its queue."""
STARTED = ISSUED + len(Unit)
"""By unit: instructions that left its queue."""
TOKENS = STARTED + len(Unit)
"""By token queue: tokens in it."""
ACTIVE = TOKENS + len(TokenQueue) + 1
"""The instruction under way, or -1."""
POSITION = ACTIVE + 1
"""Micro-ops of the instruction under way that are done."""
MICRO_OPS = POSITION + 1
"""Micro-ops done in the whole run."""
FINISHED = MICRO_OPS + 1
"""Whether FINISH has been executed."""
EXECUTED = FINISHED + 1
"""Instructions that were started: entries in the log."""
FAULTY = EXECUTED + 1
"""The instruction at fault."""
_LENGTH = FAULTY + 1


def make_state() -> State:
    """The state at launch."""
    state = np.zeros(_LENGTH, dtype=np.int64)
    state[TOKENS + NOWHERE] = 1
    state[ACTIVE] = -1
    return state
