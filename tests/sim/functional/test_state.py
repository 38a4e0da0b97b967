"""Each number of the scheduler's state has a place of its own."""

from __future__ import annotations

from tandem.hw.topology import TokenQueue, Unit
from tandem.sim.functional import state
from tandem.sim.functional.plan import NOWHERE
from tandem.sim.functional.state import make_state

LENGTHS = {
    **{"DISPATCHED": 1, "ISSUED": len(Unit), "STARTED": len(Unit), "TOKENS": len(TokenQueue) + 1},
    **dict.fromkeys(("ACTIVE", "POSITION", "MICRO_OPS", "FINISHED", "EXECUTED", "FAULTY"), 1),
}


def test_fields_lie_one_behind_the_other() -> None:
    taken: list[int] = []
    for name, length in LENGTHS.items():
        first = getattr(state, name)
        taken += range(first, first + length)
    assert taken == list(range(len(make_state())))


def test_at_launch_nothing_is_active_and_flags_that_are_not_set_find_a_token() -> None:
    made = make_state()
    assert made[state.ACTIVE] == -1
    assert made[state.TOKENS + NOWHERE] == 1
    made[[state.ACTIVE, state.TOKENS + NOWHERE]] = 0
    assert not made.any()
