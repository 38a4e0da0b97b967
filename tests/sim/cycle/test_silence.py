"""`sim.cycle.silence`: when something can happen next."""

from __future__ import annotations

from tandem.sim.cycle.silence import AR, R, after_silence, beats_before, make_silence
from tandem.sim.engine import Channel, Silence

ON_R = make_silence(Silence(Channel.R | Channel.W, 10, 5))


def test_a_silent_channel_waits_for_the_end() -> None:
    assert [after_silence(ON_R, R, cycle) for cycle in (9, 10, 14, 15)] == [9, 15, 15, 15]
    assert after_silence(ON_R, AR, 12) == 12
    assert after_silence(make_silence(None), R, 12) == 12


def test_beats_before_a_silence() -> None:
    assert [beats_before(ON_R, first, 8, 1) for first in (1, 2, 5, 9, 10, 15)] == [8, 8, 5, 1, 8, 8]
    # At 4, 7, 10: the third is in the silence.
    assert beats_before(ON_R, 4, 8, 3) == 2
    assert beats_before(make_silence(None), 4, 8, 3) == 8
    assert beats_before(make_silence(Silence(Channel.AR, 5, 9)), 4, 8, 1) == 8
