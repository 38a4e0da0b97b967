"""Memory that stops answering for a while (`Launch.silence`), for compiled code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import inlined
from tandem.sim.engine import Channel, Silence

Ints = npt.NDArray[np.int64]

AR, R, AW = int(Channel.AR), int(Channel.R), int(Channel.AW)
W, B = int(Channel.W), int(Channel.B)


def make_silence(silence: Silence | None) -> Ints:
    """The channels, the first cycle, and the cycle after the last."""
    if silence is None:
        return np.zeros(3, np.int64)
    end = silence.begin + silence.cycles
    return np.array([silence.channels, silence.begin, end], np.int64)


@inlined
def after_silence(silence: Ints, channel: int, cycle: int) -> int:
    """The first cycle from `cycle` on in which something can happen on a channel."""
    if silence[0] & channel and silence[1] <= cycle < silence[2]:
        cycle = silence[2]
    return cycle


@inlined
def beats_before(silence: Ints, first: int, beats: int, interval: int) -> int:
    """How many beats, `interval` cycles apart from `first` on, arrive before a silence on R."""
    if not silence[0] & R or first >= silence[1]:
        return beats
    return min(beats, (silence[1] - first + interval - 1) // interval)
