"""Records of the pipeline: when one iteration is like the last, and what repeating it leaves."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.custom_operations import MOST_STAGES
from tandem.sim.cycle import pipeline_state as at
from tandem.sim.cycle.pipeline_state import (
    FIELDS,
    ISSUED,
    LENGTH,
    LONG_AGO,
    NEAR,
    RECORD,
    RESULT,
    SAVED,
    STALL,
    STALLED,
    STALLS,
    STAY,
    Ints,
    forget,
    make_pipeline,
    remember,
    repeat,
    repeats,
)

NOW = 1000
RECORDS = [SAVED, SAVED + RECORD]


def test_fields_lie_one_behind_the_other() -> None:
    # A micro-op waits for those less than three slots ahead, or as many more as a custom operation
    # has stages more.
    assert NEAR == 2 + MOST_STAGES - 1
    assert [ISSUED, RESULT, STAY, STALL] == [0, 1, 1 + NEAR, 1 + 2 * NEAR]
    assert [LENGTH, STALLED] == [STALL + STALLS, STALL + 2 * STALLS]
    assert SAVED == STALLED + 1
    inside = [at.STALL_IN_RECORD, at.LENGTH_IN_RECORD, at.TIME_IN_RECORD, at.STALLED_IN_RECORD]
    assert inside == [2 * NEAR, 2 * NEAR + 3, 2 * NEAR + 6, 2 * NEAR + 7]
    assert RECORD == 2 * NEAR + 8
    assert FIELDS == SAVED + 2 * RECORD


def test_at_launch_nothing_is_in_the_pipeline() -> None:
    state = make_pipeline()
    assert state[ISSUED] == LONG_AGO
    assert set(state[RESULT:STAY].tolist()) == {-1}
    assert set(state[STAY:LENGTH].tolist()) == {LONG_AGO}
    assert not state[LENGTH:].any()
    # No micro-op writes, or uses, what an empty slot or a missing operand does.
    assert (at.NOWHERE, at.NOTHING) == (-1, -2)


def pipeline(now: int, offset: int) -> Ints:
    """Two results, one of which stays, and three stalls: over, ending now, and in time."""
    state = make_pipeline()
    state[RESULT : RESULT + 2] = offset + 4, offset + 3
    state[STAY : STAY + 2] = now + 2, now - 1
    state[STALL : STALL + 3] = now - 1, now - 3, now - 9
    state[LENGTH : LENGTH + 3] = 2, 3, 5
    state[STALLED] = 10
    return state


def kept(state: Ints, record: int) -> Ints:
    """The pipeline's state with a record of it."""
    forget(state, record)
    assert not repeats(state, 2, record, NOW, 70)
    assert repeats(state, 2, record, NOW, 70)
    return state


@pytest.mark.parametrize("record", RECORDS)
def test_what_a_record_holds(record: int) -> None:
    state = kept(pipeline(NOW, 70), record)
    assert state[record : record + 2].tolist() == [4, 3]
    assert state[record + NEAR : record + NEAR + 2].tolist() == [2, 0]
    stalls = record + at.STALL_IN_RECORD
    assert state[stalls : stalls + 6].tolist() == [-1, 0, 0, 2, 0, 0]
    other = RECORDS[1 - RECORDS.index(record)]
    assert not state[other : other + RECORD].any()


@pytest.mark.parametrize("record", RECORDS)
def test_an_iteration_is_alike_but_for_time_and_offset(record: int) -> None:
    state = kept(pipeline(NOW, 70), record)
    state[:SAVED] = pipeline(NOW + 50, 90)[:SAVED]
    assert repeats(state, 2, record, NOW + 50, 90)
    # Of what is over it does not count since when.
    state[STAY + 1] -= 7
    state[STALL + 1] -= 7
    state[LENGTH + 2] = 0
    # Nor does a result that no micro-op of this machine waits for.
    state[RESULT + 2], state[STAY + 2] = 5, NOW + 60
    assert repeats(state, 2, record, NOW + 50, 90)
    if NEAR > 2:
        assert not repeats(state, 3, record, NOW + 50, 90)


@pytest.mark.parametrize(
    ("place", "by"),
    [
        *((RESULT, 1), (RESULT + 1, 1), (STAY, 1), (STAY + 1, 2), (STALL, 1), (LENGTH, 1)),
        *((LENGTH + 1, 1), (STALL + 1, 1), (STALL + 2, 5), (LENGTH + 2, 5)),
    ],
)
def test_what_makes_a_difference(place: int, by: int) -> None:
    state = kept(pipeline(NOW, 70), SAVED)
    state[place] += by
    assert not repeats(state, 2, SAVED, NOW, 70)
    # The record is now of what has been seen.
    assert repeats(state, 2, SAVED, NOW, 70)
    state[place] -= by
    assert not repeats(state, 2, SAVED, NOW, 70)


def test_an_iteration_is_repeated() -> None:
    state = kept(pipeline(NOW, 70), SAVED)
    remember(state, SAVED, NOW - 20)
    state[STALLED] += 6
    state[ISSUED] = NOW - 1
    before = state.copy()
    # Three times 20 cycles, 6 of them stalled, and 5 accumulators on.
    assert repeat(state, 2, SAVED, NOW, 3, 5) == NOW + 60
    expected = before.copy()
    expected[ISSUED] += 60
    expected[RESULT : RESULT + 2] += 15
    expected[STAY : STAY + 2] += 60
    expected[STALL : STALL + 3] += 60
    expected[STALLED] += 18
    np.testing.assert_array_equal(state, expected)
    assert before[SAVED + at.STALLED_IN_RECORD] == 10
