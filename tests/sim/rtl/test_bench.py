"""The environment of a launch, and probabilities as steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.sim.engine import Channel, Launch, Silence, Stalls
from tandem.sim.errors import EngineError
from tandem.sim.rtl.bench import BenchSetup, stall_threshold


def test_the_environment_is_that_of_the_launch() -> None:
    memory, silence = np.zeros(4, np.uint8), Silence(Channel.W, 3, 4)
    how = Launch(
        address=0,
        bus_errors=((1, 2),),
        stalls=Stalls(0.25, 7),
        events=True,
        waveform=Path("a.fst"),
        silence=silence,
    )
    setup = BenchSetup.of(memory, how)
    assert setup.memory is memory
    assert (setup.refused, setup.stalls) == (((1, 2),), Stalls(0.25, 7))
    assert (setup.events, setup.waveform, setup.silence) == (True, Path("a.fst"), silence)
    plain = BenchSetup.of(memory, Launch(address=0))
    assert (plain.refused, plain.stalls, plain.events) == ((), None, False)


def test_probabilities_in_steps() -> None:
    assert stall_threshold(None) == 0
    assert stall_threshold(Stalls(0)) == 0
    # 4096 steps, of which the last is never reached.
    assert stall_threshold(Stalls(0.5)) == 2048
    assert stall_threshold(Stalls(0.999999)) == 4095
    assert stall_threshold(Stalls(0.0001)) == 0
    assert stall_threshold(Stalls(0.5, (1 << 64) - 1)) == 2048


@pytest.mark.parametrize("probability", [-0.1, 1, 1.5])
def test_probabilities_that_are_none(probability: float) -> None:
    with pytest.raises(EngineError) as caught:
        stall_threshold(Stalls(probability))
    assert str(caught.value) == f"stall probability {probability}: it must be in 0..1, below 1"


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_seeds_of_more_than_64_bits(seed: int) -> None:
    with pytest.raises(EngineError, match=rf"^stall seed {seed}: it must be in 0\.\.2\^64-1$"):
        stall_threshold(Stalls(0.5, seed))
